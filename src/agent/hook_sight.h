/*
 * Handlers of hooks as others see them: that one has begun, what it has printed when it takes
 * longer, how it ended.
 *
 * The runner of a handler keeps a sight of it and reports to the watch of the event's input. A
 * sight belongs to the thread that waits for the handler, and may be passed on with it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/hook.h"
#include "base/buf.h"
#include "base/id.h"

#define HOOK_SIGHT_MS 1000 /* between two looks at what one prints */

enum hook_stage {
    HOOK_BEGUN,
    HOOK_GOES_ON, /* out, err: all so far */
    HOOK_ENDED,   /* those, and how */
};

enum hook_end {
    HOOK_SUCCESS,
    HOOK_ERROR,     /* it failed, or said no by its exit code */
    HOOK_CANCELLED, /* by an interrupt, or because it took too long */
};

struct hook_news {
    enum hook_stage stage;
    const char *id; /* of this run of the handler */
    enum hook_event event;
    struct str subject;
    struct str title;       /* what it is: its command, its prompt, its address */
    struct str tool_use_id; /* of the call that it is about; or empty */
    struct str out, err;    /* on standard output: the answer, if it is not a command */
    enum hook_end end;
    bool has_code; /* it is a command that exited */
    int code;
    int64_t duration_ms;
};

/* Observer of handlers. The news is lent. */
struct hook_watch {
    void (*tell)(void *arg, const struct hook_news *news);
    void *arg;
};

struct hook_sight {
    struct hook_watch *watch; /* NULL: no observer, and all calls here do nothing */
    char id[ID_UUID_LEN + 1];
    enum hook_event event;
    struct buf subject, title, tool_use_id;
    int64_t start_ms;
    int64_t shown_ms; /* time of the last report */
    size_t shown;     /* bytes of output then */
};

/* title: of the handler, as in the news. */
void hook_sight_begin(struct hook_sight *s, const struct hook_input *in, struct str title);
/* When to show so many bytes of output; -1: they are known. */
int64_t hook_sight_due_ms(const struct hook_sight *s, size_t bytes);
void hook_sight_show(struct hook_sight *s, struct str out, struct str err); /* if it is due */
/* out, err, end and code of it are read. Only the first time counts. */
void hook_sight_end(struct hook_sight *s, const struct hook_news *how);
void hook_sight_move(struct hook_sight *to, struct hook_sight *from);
void hook_sight_release(struct hook_sight *s); /* untold ends stay untold */
