/*
 * One model call and what it says; for src/agent only.
 *
 * Drives llm_call from the agent's mailbox, turns its events into the agent's, and hands completed
 * tool_use blocks to the batch as they arrive. A broken attempt voids both. Agent thread.
 */
#pragma once

#include <stdbool.h>

#include "agent/batch.h"
#include "agent/spending.h"
#include "base/buf.h"
#include "base/id.h"
#include "base/vec.h"
#include "llm/llm_call.h"
#include "llm/message.h"

struct agent;
struct conf;
struct err;
struct model;
struct turn;

/* The uuid a block was shown under; its line in the transcript has the same. */
struct step_entry {
    size_t index;
    char uuid[ID_UUID_LEN + 1];
};

/* A question beside the conversation: the prefix of any step, other words at its end. */
struct step_aside {
    struct message *const *messages;
    size_t count;
    uint64_t epoch; /* of the request */
    enum tool_choice choice;
};

struct step {
    struct agent *agent;
    struct turn *turn;
    const struct step_aside *aside; /* NULL: the history goes out */
    struct batch batch;
    struct spending_call paid;
    int64_t start_ms;      /* when it was asked */
    bool open;             /* STEP_STARTED was emitted, but neither DONE, VOID nor CUT */
    bool is_cut;           /* by an interrupt */
    enum block_kind block; /* being said */
    struct buf held;       /* the end of its text so far that may become a key: not emitted yet */
    char message_id[80];
    struct buf refusal;     /* why it refused, where the provider says */
    struct buf system;      /* the system prompt, where it is not the agent's own bytes */
    int api_status;         /* of the failure */
    bool is_overloaded;     /* then: the server had too much to do */
    int broken;             /* answers in a row that broke off before their end */
    int64_t asked_ms;       /* then: how long the server asked to wait, or -1 */
    bool blames_media;      /* the provider would not take an image or a file */
    struct llm_usage heard; /* figures of the answer that is being given */
    struct llm_call *call;  /* while it runs */
    struct llm_call_result reply;
    VEC(struct step_entry) entries; /* of the blocks that are complete */
};

void step_init(struct step *s, struct agent *a, struct turn *t);
void step_release(struct step *s);

/* The history goes out; reply holds what came back. -1: it failed, and reply has no message; or it
 * was interrupted, and its message is what could be read by then: texts, at least one. Then
 * step_keep_cut() or step_drop() has the last word. */
int step_call(struct step *s, struct err *err);
/* Sends these messages instead. The answer is not shown, and no call is run; the costs count. */
int step_ask(struct step *s, const struct step_aside *aside, struct err *err);
/* Tokens the next request will have, about: what the last one really had and four bytes a token
 * since. */
int64_t step_estimate(const struct agent *a);
/* How long the provider is asked to keep what it is sent. */
enum cache_ttl step_cache(const struct conf *conf, const struct model *model);
/* Every block of the reply gets its entry. */
void step_name_blocks(struct step *s);
/* The reply counts: STEP_DONE. */
void step_keep(struct step *s);
/* What could be read of an interrupted one does: STEP_CUT. */
void step_keep_cut(struct step *s);
/* It does not: STEP_VOID, if it was shown, and its calls are void. */
void step_drop(struct step *s, struct str why);
