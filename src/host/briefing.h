/*
 * What the model of a session learns apart from user input: the surroundings and instruction files
 * at its start, what has changed when it is resumed, and changes while it works.
 *
 * Notices (instruction files that cannot be used, and why) go to the front end. Made on the thread
 * that builds the agent; afterwards the agent thread's.
 */
#pragma once

#include "base/buf.h"
#include "context/context.h"
#include "host/host.h"

struct agent_loaded;
struct recall;
struct surroundings;

struct briefing {
    struct context_spec where;
    void (*notice)(void *arg, struct str text);
    void *notice_arg;
    struct context context;
    struct buf changed; /* since the session that goes on: told before its next input */
    /* Numbers of files reported to hooks: files of the context, and nested ones. */
    size_t told, told_nested;
    bool is_compacted; /* why the first list is reported */
    char *read_file;   /* what the second was read for; NULL: nothing yet */
    /* What others keep a list of for the model (host_set_listing()); NULL: nothing. */
    host_listing_fn *listing;
    void *listing_arg;
    struct strv lines; /* attachments that belong to what it said, not written yet */
};

#define BRIEFING_INIT                                                                              \
    {                                                                                              \
        .changed = BUF_INIT(BUF_NO_LIMIT)                                                          \
    }
void briefing_release(struct briefing *b);

/* Starts slow work (git) in the background; NULL when there is nothing to ask. Pass it to
 * briefing_gather() or surroundings_free(). */
struct surroundings *briefing_start(const struct briefing *b, const struct recall *past);
/* past: the conversation that goes on; NULL: none. ERR_CANCELLED. */
int briefing_gather(struct briefing *b, const struct recall *past, struct surroundings *around,
                    struct cancel *cancel, struct err *err);
/* The conversation is another one from now on (it was rewound): facts that the model does not know
 * then are sent before the next input. Agent thread. */
void briefing_restart(struct briefing *b, const struct recall *past, struct cancel *cancel);
struct str briefing_text(const struct briefing *b); /* what goes before the first input */

/* For agent_spec; arg is the briefing. */
void briefing_news(void *arg, struct cancel *cancel, struct buf *ret);
void briefing_near(void *arg, const char *path, struct cancel *cancel, struct buf *ret);
void briefing_again(void *arg, struct cancel *cancel, struct buf *ret);
bool briefing_loaded(void *arg, struct agent_loaded *ret);
/* The next line to attach after the input; false: there is none. */
bool briefing_attachment(void *arg, struct buf *ret);
