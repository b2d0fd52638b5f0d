/*
 * Loads a conversation: turns the lines of a transcript into the state that an agent resumes.
 *
 * The messages are made ready to send: boundaries and other system lines are dropped, recorded
 * replacements are applied again, calls without results and thinking without an answer are left
 * out, and roles alternate (history_check() holds). The file is never changed.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/agent.h"
#include "base/buf.h"
#include "base/vec.h"
#include "llm/ledger.h"

struct cancel;
struct err;
struct load;
struct message;

/* Sent in place of user text when an interrupted turn is resumed. */
#define RECALL_GO_ON "Continue from where you left off."

/* How the last turn ended. After both interrupted kinds there is a prompt to resume with. */
enum recall_state {
    RECALL_COMPLETE,
    RECALL_INTERRUPTED_PROMPT, /* a prompt without an answer */
    RECALL_INTERRUPTED_TURN,   /* results that were not sent yet */
};

/* A file that the model has read or changed. */
struct recall_file {
    char *path;      /* absolute, as it was named; NULL = a later entry has the same file */
    int64_t time_ms; /* of the line that records it */
};

struct recall {
    VEC(struct message *) messages; /* blocks have their entry */
    VEC(struct agent_input) queued; /* waiting for their turn */
    enum recall_state state;
    struct buf context;       /* all reminders that the model has seen, unchanged */
    struct buf todos;         /* JSON array; may be empty */
    struct message *deferred; /* the last answer if its only call was deferred by a hook; not in
                                 messages; or NULL */
    struct buf extra;         /* announced deferred tools, for extra_recall() */
    struct buf
        lost; /* calls that were running when the session ended, for the model; may be empty */
    struct ledger ledger;
    VEC(struct recall_file) files; /* in the order of their last use */
    /* The last size reported by the provider, and the index of the message it applies to. */
    int64_t tokens;
    size_t tokens_at;
    size_t unused; /* lines of the chain that are not valid messages */
};

#define RECALL_INIT                                                                                \
    {                                                                                              \
        .context = BUF_INIT((size_t)64 << 20), .todos = BUF_INIT((size_t)4 << 20),                 \
        .extra = BUF_INIT((size_t)64 << 20), .lost = BUF_INIT(1 << 16)                             \
    }
void recall_release(struct recall *r);

/* ERR_IO, ERR_CANCELLED. Invalid lines are skipped and counted. */
int recall_read(struct load *load, struct cancel *cancel, struct recall *ret, struct err *err);
/* The same for a fork of the conversation at this point: as agent_talk(), it keeps the calls of the
 * last answer that have no result yet. */
int recall_read_fork(struct load *load, struct cancel *cancel, struct recall *ret, struct err *err);
