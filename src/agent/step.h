/*
 * One model call; for src/agent only.
 *
 * Drives llm_call from the agent's mailbox, translates its events into the agent's, and passes
 * complete tool_use blocks to the batch as they arrive. A failed attempt discards both. Agent
 * thread.
 */
#pragma once

#include <stdbool.h>

#include "agent/call/batch.h"
#include "base/buf.h"
#include "base/id.h"
#include "base/vec.h"
#include "llm/llm_call.h"
#include "llm/message.h"
#include "llm/spending.h"

struct agent;
struct conf;
struct err;
struct model;
struct turn;

/* The uuid under which a block was shown. Its transcript line gets the same one. */
struct step_entry {
    size_t index;
    char uuid[ID_UUID_LEN + 1];
};

/* A question outside the conversation: it shares the prefix of ordinary steps, so that the prompt
 * cache is used, but ends differently. */
struct step_aside {
    struct message *const *messages;
    size_t count;
    uint64_t epoch; /* of the request */
    enum tool_choice choice;
};

struct step {
    struct agent *agent;
    struct turn *turn;
    const struct step_aside *aside; /* NULL = send the history */
    struct batch batch;
    struct spending_call paid;
    int64_t start_ms;      /* when the request was sent */
    bool open;             /* STEP_STARTED was emitted, but neither DONE, VOID nor CUT */
    bool is_cut;           /* by an interrupt */
    enum block_kind block; /* the block being received */
    struct buf
        held; /* the end of its text, not emitted yet because it may be the start of a secret */
    char message_id[80];
    struct buf refusal;     /* the provider's reason for a refusal */
    struct buf system;      /* the system prompt if it differs from the agent's */
    int api_status;         /* of the failure */
    bool is_overloaded;     /* the failure was an overload of the server */
    int broken;             /* consecutive answers that broke off before their end */
    int64_t asked_ms;       /* how long the failing server asked to wait, or -1 */
    bool blames_media;      /* the provider rejected an image or a file */
    struct llm_usage heard; /* figures of the answer so far */
    struct llm_call *call;  /* set while it runs */
    struct llm_call_result reply;
    VEC(struct step_entry) entries; /* one for each complete block */
};

void step_init(struct step *s, struct agent *a, struct turn *t);
void step_release(struct step *s);

/* Sends the history and receives the answer into reply. -1: if it failed, reply has no message; if
 * it was interrupted, reply has the text received so far, at least one block, and the caller must
 * call step_keep_cut() or step_drop(). */
int step_call(struct step *s, struct err *err);
/* Sends these messages instead. The answer is not shown and calls in it do not run, but it is paid.
 */
int step_ask(struct step *s, const struct step_aside *aside, struct err *err);
/* Estimated size of the next request in tokens: that of the last one, plus one per four bytes added
 * since. */
int64_t step_estimate(const struct agent *a);
/* Gives every block of the reply its entry. */
void step_name_blocks(struct step *s);
/* Accepts the reply: STEP_DONE. */
void step_keep(struct step *s);
/* Accepts the text of an interrupted reply: STEP_CUT. */
void step_keep_cut(struct step *s);
/* Discards the reply and its calls; STEP_VOID if any of it was shown. */
void step_drop(struct step *s, struct str why);
