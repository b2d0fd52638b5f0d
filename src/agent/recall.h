/*
 * Reads a conversation back: turns the lines of a transcript into the state that an agent resumes.
 *
 * The wire view is made here: boundaries and other system lines dropped, recorded replacements
 * applied again, calls without results and thinking without an answer left out, roles in turn
 * (history_check() holds). Nothing of this changes the file.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/agent.h"
#include "agent/ledger.h"
#include "base/buf.h"
#include "base/vec.h"

struct cancel;
struct err;
struct load;
struct message;

/* Sent in place of user text when an interrupted turn is resumed. */
#define RECALL_GO_ON "Continue from where you left off."

/* How the last turn ended. Both interrupted kinds mean: there is a prompt to resume with. */
enum recall_state {
    RECALL_COMPLETE,
    RECALL_INTERRUPTED_PROMPT, /* a prompt without an answer */
    RECALL_INTERRUPTED_TURN,   /* results that were not sent yet */
};

/* A file that the model was shown, or changed. */
struct recall_file {
    char *path;      /* absolute, as it was named; NULL: it is found further on */
    int64_t time_ms; /* of the line that records it */
};

struct recall {
    VEC(struct message *) messages; /* blocks have their entry */
    VEC(struct agent_input) queued; /* waited for their turn */
    enum recall_state state;
    struct buf context;       /* all reminders that the model has seen, as they were */
    struct buf todos;         /* JSON array; empty: none */
    struct message *deferred; /* the last answer, whose one call a hook has put off: it is not in
                                 messages; NULL: none */
    struct buf extra;         /* announced extra tools: extra_recall() */
    struct buf lost; /* calls that were running when it ended, for the model; empty: none */
    struct ledger ledger;
    VEC(struct recall_file) files; /* in the order of the last looks */
    /* The last exact size of the conversation, and the message it applies to. */
    int64_t tokens;
    size_t tokens_at;
    size_t unused; /* lines of the chain that could not be read as messages */
};

#define RECALL_INIT                                                                                \
    {                                                                                              \
        .context = BUF_INIT((size_t)64 << 20), .todos = BUF_INIT((size_t)4 << 20),                 \
        .extra = BUF_INIT((size_t)64 << 20), .lost = BUF_INIT(1 << 16)                             \
    }
void recall_release(struct recall *r);

/* ERR_IO, ERR_CANCELLED. A line that is no message is left out and counted. */
int recall_read(struct load *load, struct cancel *cancel, struct recall *ret, struct err *err);
