/*
 * Stores a conversation as it happens.
 *
 * The agent calls these before it continues, and before observers are notified: a user's text
 * before the first byte goes to the provider, an answer before a tool with effects starts and
 * before it is reported as complete, a result before the next call. A failure (disk full) ends the
 * turn with its text: nothing is done that could not be remembered.
 *
 * Every block that is written has the uuid of its line in block.entry; the events that show it to
 * others have the same. All but queue(), before_edit() and after_edit() are the agent thread's.
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

/* What a compaction did; blocks have their entry. The conversation is then: summary, attached, kept
 * lines, later messages. */
struct journal_compact {
    struct str trigger;      /* "manual", "auto" */
    struct str instructions; /* what the user asked to keep; or empty */
    struct str boundary;     /* uuid of the boundary's line */
    const struct block *summary;
    const struct block *attached; /* state repeated after it: reminders; the first one is the
                                     context (agent_spec.context, as it is now), if there is any */
    size_t attached_count;
    const struct str *kept; /* uuids of lines before the boundary that stay, in order */
    size_t kept_count;
    int64_t pre_tokens, post_tokens, duration_ms;
    size_t summarized; /* messages */
    struct str todos;  /* JSON array, as it was; so that a later load finds it */
    struct str found;  /* JSON array: names of extra tools that were found or called */
};

/* A result, or something the user sent, that became a stub; what it was stands in the file. */
struct journal_replacement {
    struct str entry;       /* uuid of the line */
    struct str tool_use_id; /* whose result; empty: it is a block of the user's */
    size_t block_index;     /* in the line's content */
    struct str stub;        /* what stands for it */
    bool is_dropped;        /* because the provider would not take it */
};

struct journal_stop_hooks {
    size_t count;
    struct str infos;  /* JSON array of {command, durationMs} */
    struct str errors; /* JSON array of strings */
    bool prevents;     /* one of them ended the turn, */
    struct str reason; /* and why */
    bool has_output;
};

enum journal_queue {
    QUEUE_ENQUEUE,
    QUEUE_DEQUEUE, /* taken up */
    QUEUE_REMOVE,  /* taken back */
    QUEUE_POP_ALL, /* dropped, all of them; input is NULL */
};

struct journal {
    /* One line: input of the user, a client, or tenax in their place. */
    int (*user)(struct journal *self, const struct block *blocks, size_t count, const char *uuid,
                enum event_user user, struct err *err);
    /* A reminder. It is written with the next line, in the same write: alone it means nothing. */
    void (*remind)(struct journal *self, const struct block *block);
    /* One line per block. */
    int (*reply)(struct journal *self, const struct llm_call_result *reply, struct err *err);
    /* call_entry: the line of the tool_use. is_denied: the user, a rule or a hook denied it. */
    int (*result)(struct journal *self, const struct block *result, struct str data, bool is_denied,
                  struct str call_entry, struct err *err);
    int (*compacted)(struct journal *self, const struct journal_compact *c, struct err *err);
    int (*replaced)(struct journal *self, const struct journal_replacement *list, size_t count,
                    struct err *err);
    /* A middle part of the conversation is gone: these lines. */
    int (*snipped)(struct journal *self, const struct str *entries, size_t count, struct err *err);
    /* Input that waits for its turn. Any thread. */
    int (*queue)(struct journal *self, enum journal_queue what, const struct agent_input *input,
                 struct err *err);
    /* A warning for readers of the session. NULL: there are none. */
    int (*tell)(struct journal *self, struct str text, struct err *err);
    /* A line of the chain that no model sees: {"type": "goal_status", …}. */
    int (*attach)(struct journal *self, struct str json, struct err *err);
    /* What all Stop hooks of a round did; for readers of the session. NULL: there are none. */
    int (*stop_hooks)(struct journal *self, const struct journal_stop_hooks *s, struct err *err);
    /* The turn is over; on disk when this returns. */
    int (*turn_done)(struct journal *self, const struct turn_report *report, struct err *err);
    /* A tool is about to change this file (absolute). -1: it must not, the state before could not
     * be kept. Any thread. */
    int (*before_edit)(struct journal *self, const char *path, struct str tool_use_id,
                       struct err *err);
    /* The tool is done with the file, or the hooks after it are. Any thread. NULL: not needed. */
    void (*after_edit)(struct journal *self, const char *path);
};
