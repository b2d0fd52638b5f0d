/*
 * What a session's model is told besides user input: surroundings and instruction files at the
 * start, changes since then when it is resumed, and changes during the session.
 *
 * Notes (instruction files that cannot be used, and why) go to the front end. Created on the thread
 * that builds the agent; belongs to the agent's thread afterwards.
 */
#pragma once

#include "base/buf.h"
#include "context/context.h"
#include "host/host.h"

struct agent_loaded;
struct permit;
struct recall;
struct sandbox;
struct surroundings;
struct workspace;

/* What the context of a session depends on. */
struct briefing_parts {
    struct workspace *workspace;
    struct permit *permit;   /* its deny rules hide files from the model; may be NULL */
    struct sandbox *sandbox; /* described to the model; NULL = none, or lifted */
};

/* parts must stay where they are as long as the spec is used; permit and sandbox may be set later.
 */
struct context_spec briefing_spec(const struct conf *conf, const struct args *args,
                                  struct briefing_parts *parts);

struct briefing {
    struct briefing_parts parts;
    struct context_spec where;
    void (*notice)(void *arg, struct str text);
    void *notice_arg;
    struct context context;
    struct buf changed; /* changes since the session was left, for the next input */
    /* Numbers of files reported to hooks: of the context, and nested ones. */
    size_t told, told_nested;
    bool is_compacted; /* the reason for reporting the first list again */
    char *read_file;   /* the file whose reading loaded the nested ones; or NULL */
    /* Other lists for the model (host_set_listing()); may be NULL. */
    host_listing_fn *listing;
    void *listing_arg;
    struct strv lines; /* attachments not written yet */
};

#define BRIEFING_INIT                                                                              \
    {                                                                                              \
        .changed = BUF_INIT(BUF_NO_LIMIT)                                                          \
    }
void briefing_release(struct briefing *b);

/* Starts slow work (git) in the background; NULL if there is nothing to do. Pass it to
 * briefing_gather() or surroundings_free(). */
struct surroundings *briefing_start(const struct briefing *b, const struct recall *past);
/* past: the resumed conversation, or NULL. ERR_CANCELLED. */
int briefing_gather(struct briefing *b, const struct recall *past, struct surroundings *around,
                    struct cancel *cancel, struct err *err);
/* The conversation was replaced (rewound): facts that the model does not know any more are sent
 * before the next input. Agent thread. */
void briefing_restart(struct briefing *b, const struct recall *past, struct cancel *cancel);
struct str briefing_text(const struct briefing *b); /* text before the first input */

/* Callbacks of agent_spec; arg is the briefing. */
void briefing_news(void *arg, struct cancel *cancel, struct buf *ret);
void briefing_near(void *arg, const char *path, struct cancel *cancel, struct buf *ret);
void briefing_again(void *arg, struct cancel *cancel, struct buf *ret);
bool briefing_loaded(void *arg, struct agent_loaded *ret);
/* The next line to attach after the input; false if there is none. */
bool briefing_attachment(void *arg, struct buf *ret);
