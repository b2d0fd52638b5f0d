/*
 * Writes a conversation to disk as it happens.
 *
 * The agent calls these functions before it continues and before observers are notified: input is
 * stored before the first byte goes to the provider, an answer before a tool with side effects
 * starts and before it is reported as complete, a result before the next call. A failure (disk
 * full) ends the turn with that error, so that nothing happens that a resumed session would not
 * know.
 *
 * Every block that is written gets the uuid of its line in block.entry; the events that show it
 * have the same uuid. All functions but queue(), before_edit() and after_edit() run on the agent's
 * thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/event.h"
#include "base/str.h"

struct agent_input;
struct block;
struct err;
struct ledger;
struct llm_call_result;

/* The result of a compaction; blocks have their entry. Afterwards the conversation is: summary,
 * attached, kept lines, later messages. */
struct journal_compact {
    struct str trigger;      /* "manual", "auto" */
    struct str instructions; /* what the user asked to keep; or empty */
    struct str boundary;     /* uuid of the boundary's line */
    const struct block *summary;
    const struct block
        *attached; /* state repeated after the summary as reminders; the first one is the context
                      (agent_spec.context as it is now), if there is any */
    size_t attached_count;
    const struct str *kept; /* uuids of lines before the boundary that stay, in order */
    size_t kept_count;
    int64_t pre_tokens, post_tokens, duration_ms;
    size_t summarized; /* messages */
    struct str todos;  /* JSON array: the todo list, so that a later load finds it */
    struct str found;  /* JSON array: names of deferred tools that were found or called */
};

/* A result or user block that was replaced by a stub, which names the file with the original. */
struct journal_replacement {
    struct str entry;       /* uuid of the line */
    struct str tool_use_id; /* of the result; empty = a block of the user */
    size_t block_index;     /* in the line's content */
    struct str stub;        /* the replacement */
    bool is_dropped;        /* because the provider rejects it */
};

struct journal_stop_hooks {
    size_t count;
    struct str infos;  /* JSON array of {command, durationMs} */
    struct str errors; /* JSON array of strings */
    bool prevents;     /* one of them ended the turn */
    struct str reason; /* its reason */
    bool has_output;
};

enum journal_queue {
    QUEUE_ENQUEUE,
    QUEUE_DEQUEUE, /* taken for a turn */
    QUEUE_REMOVE,  /* withdrawn */
    QUEUE_POP_ALL, /* all dropped; input is NULL */
};

struct journal {
    /* Writes one line: input of the user or a client, or of tenax in their place. */
    int (*user)(struct journal *self, const struct block *blocks, size_t count, const char *uuid,
                enum event_user user, struct err *err);
    /* Keeps a reminder and writes it together with the next line; alone it means nothing. */
    void (*remind)(struct journal *self, const struct block *block);
    /* Writes one line per block. */
    int (*reply)(struct journal *self, const struct llm_call_result *reply, struct err *err);
    /* call_entry: uuid of the tool_use's line. is_denied: by the user, a rule or a hook. */
    int (*result)(struct journal *self, const struct block *result, struct str data, bool is_denied,
                  struct str call_entry, struct err *err);
    int (*compacted)(struct journal *self, const struct journal_compact *c, struct err *err);
    int (*replaced)(struct journal *self, const struct journal_replacement *list, size_t count,
                    struct err *err);
    /* Records that these lines were removed from the middle of the conversation. */
    int (*snipped)(struct journal *self, const struct str *entries, size_t count, struct err *err);
    /* Records a change to the queue of waiting input. Any thread. */
    int (*queue)(struct journal *self, enum journal_queue what, const struct agent_input *input,
                 struct err *err);
    /* Writes a warning for readers of the transcript. May be NULL. */
    int (*tell)(struct journal *self, struct str text, struct err *err);
    /* Writes a line that the model never sees: {"type": "goal_status", …}. */
    int (*attach)(struct journal *self, struct str json, struct err *err);
    /* Writes what the Stop hooks of one round did, for readers of the transcript. May be NULL. */
    int (*stop_hooks)(struct journal *self, const struct journal_stop_hooks *s, struct err *err);
    /* Records the end of the turn; it is on disk when this returns. */
    int (*turn_done)(struct journal *self, const struct turn_report *report, struct err *err);
    /* Called before a tool changes this file (absolute path), to save its state. -1 if that failed:
     * the tool must not change the file. Any thread. */
    int (*before_edit)(struct journal *self, const char *path, struct str tool_use_id,
                       struct err *err);
    /* Called when the tool and the hooks after it are done with the file. Any thread. May be NULL.
     */
    void (*after_edit)(struct journal *self, const char *path);
};
