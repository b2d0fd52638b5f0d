/*
 * Progress of hook handlers for observers: that a handler has started, what it has printed if it
 * takes long, and how it ended.
 *
 * The runner creates a sight for each handler and reports to the watch in the event's input. A
 * sight belongs to the thread that waits for the handler, and may be passed on with it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/hook.h"
#include "base/buf.h"
#include "base/id.h"

#define HOOK_SIGHT_MS 1000 /* minimum time between two reports of output */

enum hook_stage {
    HOOK_BEGUN,
    HOOK_GOES_ON, /* out, err: all output so far */
    HOOK_ENDED,   /* all output and the result */
};

enum hook_end {
    HOOK_SUCCESS,
    HOOK_ERROR,     /* it failed, or denied by its exit code */
    HOOK_CANCELLED, /* by an interrupt or a timeout */
};

struct hook_news {
    enum hook_stage stage;
    const char *id; /* of this run of the handler */
    enum hook_event event;
    struct str subject;
    struct str title;       /* its command, prompt or URL */
    struct str tool_use_id; /* of the call the event is about; or empty */
    struct str out, err;    /* out has the answer of a handler that is not a command */
    enum hook_end end;
    bool has_code; /* a command that exited */
    int code;
    int64_t duration_ms;
};

/* Observer of handlers. The news is valid during the call. */
struct hook_watch {
    void (*tell)(void *arg, const struct hook_news *news);
    void *arg;
};

struct hook_sight {
    struct hook_watch *watch; /* NULL = no observer; all functions do nothing */
    char id[ID_UUID_LEN + 1];
    enum hook_event event;
    struct buf subject, title, tool_use_id;
    int64_t start_ms;
    int64_t shown_ms; /* time of the last report */
    size_t shown;     /* size of the output at that time */
};

/* title: as in hook_news. */
void hook_sight_begin(struct hook_sight *s, const struct hook_input *in, struct str title);
/* When this many bytes of output may be reported; -1 if they already were. */
int64_t hook_sight_due_ms(const struct hook_sight *s, size_t bytes);
void hook_sight_show(struct hook_sight *s, struct str out, struct str err); /* if it is due */
/* Reports the end; uses out, err, end and code of `how`. Only the first call counts. */
void hook_sight_end(struct hook_sight *s, const struct hook_news *how);
void hook_sight_move(struct hook_sight *to, struct hook_sight *from);
void hook_sight_release(struct hook_sight *s); /* reports nothing */
