/*
 * The line at the bottom: model · context · cost · mode · goal, or what a command of the user says.
 * Below the latter mode, goal and background tasks have a row that no command can take away.
 *
 * Both rows of tenax are pure functions of a struct status. A statusLine command (settings) is run
 * by a separate thread: JSON on its standard input, 300 ms after the last reason to run it, one at
 * a time (a newer one ends the older), 5 s at most; a failure keeps the old text, empty output
 * clears it. Before its first result its row is kept free. UI thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"
#include "sync/mailbox.h"
#include "tui/dialog/panel.h"
#include "tui/screen/line.h"

struct buf;
struct conf;
struct host;
struct statusline;
struct workspace;

struct status {
    struct str model;
    int context_percent; /* -1: not known yet */
    double usd;          /* NAN: unknown */
    const char *mode;    /* "default", "acceptEdits", "plan", … */
    const char *vim;     /* NULL */
    struct str goal;     /* the pill; empty: none */
    struct str branch;
    size_t tasks;     /* in the background */
    bool coordinates; /* coordinator mode is on */
    struct str team;  /* "team crew 1/3"; empty: none */
    struct str hint;  /* in the place of model, context, cost and branch; empty: none */
};
void status_draw(const struct status *s, const struct view *v, struct lines *ret);
/* Mode, goal and tasks alone. */
void status_draw_state(const struct status *s, const struct view *v, struct lines *ret);

/* What only the front end knows. */
struct statusline_seen {
    char vim[16]; /* "": no vim */
    double usd;   /* NAN: unknown */
};

#define STATUSLINE_DEBOUNCE_MS 300
#define STATUSLINE_TIMEOUT_MS 5000
#define STATUSLINE_MAX_OUTPUT ((size_t)64 << 10)

enum status_reason {
    STATUS_MESSAGE,  /* a new message of the assistant */
    STATUS_CHANGED,  /* mode, model, vim, remaining context */
    STATUS_SETTINGS, /* at once when the command is another one */
};

struct statusline_spec {
    struct host *host;  /* outlives it */
    struct mailbox *to; /* statusline_mail_kind: there is a new text; counted */
};
extern const struct mail_kind statusline_mail_kind;
/* A command that is set already runs at once. */
struct statusline *statusline_new(const struct statusline_spec *spec);
void statusline_free(struct statusline *s); /* ends what runs; NULL is fine */
/* On each of these events; this also detects a command that was set or changed since, because
 * settings are checked with every call. */
void statusline_happened(struct statusline *s, enum status_reason why, const struct status *now);
/* Whether a command is set (its rows take the built-in line's place), and its rows. */
bool statusline_is_on(const struct statusline *s);
bool statusline_has_text(struct statusline *s); /* it has answered once */
void statusline_draw(struct statusline *s, const struct view *v, struct lines *ret);

/* What it needs of a session; statusline_new() takes it from the host. */
struct statusline_place {
    const struct conf *conf;
    struct workspace *workspace;
    /* Both on the status line's thread: what the command reads (statusline_input.h), and a look at
     * whether settings files have changed. */
    void (*write)(void *arg, const struct statusline_seen *seen, struct buf *ret);
    void (*reload)(void *arg); /* NULL: not watched */
    void *arg;
    int64_t timeout_ms; /* 0: STATUSLINE_TIMEOUT_MS */
};
struct statusline *statusline_new_at(const struct statusline_place *place, struct mailbox *to);
