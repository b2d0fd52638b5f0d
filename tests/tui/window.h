/*
 * A terminal window with tenax in it, for tests: a real pty, libvterm in the place of the screen, a
 * folder and a home that are removed at the end.
 *
 * Nothing sleeps: window_until() reads until the wanted text is visible, and after a long while
 * fails with the screen. The window takes frames between marks and checks whole ones only: half of
 * one may still show lines below that have moved above.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/str.h"

struct vt;

struct window_spec {
    const char *build;       /* the build folder */
    int cols, rows;          /* 0: 80 x 24 */
    const char *scenario;    /* what the model says (docs/scenarios.md); NULL: no model at all */
    const char *settings;    /* of the user, JSON; NULL: none */
    const char *const *args; /* NULL-terminated; NULL: none */
    const char *const *env;  /* "NAME=value", NULL-terminated; NULL: none */
    const char *term;        /* NULL: xterm-256color */
    bool untrusted;          /* the folder has no answer about trust yet */
    bool shell;              /* a shell; "$TENAX" in it is the command */
    bool sandbox;            /* commands are confined, where that works */
    const char *home;        /* of an earlier window: its sessions are there; NULL: a new one */
};

struct window {
    char top[64]; /* "…/home", "…/work" */
    bool owns_top;
    pid_t pid;
    int fd; /* the terminal's side */
    int cols, rows;
    struct vt *vt;
    struct buf raw;              /* all bytes that came */
    bool is_drawn;               /* the end of a frame is still to come */
    bool is_over;                /* nothing more comes */
    bool is_blind;               /* what comes is kept, and not drawn any more */
    size_t counted_from, frames; /* window_frames_until() */
};

void window_open(struct window *w, const struct window_spec *spec);
void window_close(struct window *w); /* hangs up and waits; once it has ended, only frees */

void window_type(struct window *w, const char *bytes);
void window_send(struct window *w,
                 struct str bytes); /* reads along: neither side waits for the other */
void window_resize(struct window *w, int cols, int rows);

/* Reads until the text stands on the screen or in the scrollback (lines joined by \n, blanks at
 * their ends taken off). Ends the test when it does not come. */
void window_until(struct window *w, const char *text);
/* The same on the screen alone: what only the live region says, and a resize may have pushed into
 * the scrollback. */
void window_until_shown(struct window *w, const char *text);
void window_until_gone(struct window *w, const char *text); /* from the screen */
void window_until_raw(struct window *w, const char *bytes, size_t from);
/* The same as window_until_shown() after typing: the number of the first frame with it, among those
 * that began since. Unread output in between is older than the keys. */
size_t window_type_counted(struct window *w, const char *bytes, const char *text);
void window_until_file(struct window *w, const char *name); /* below top */
/* What comes within that time is read; false: nothing did. */
bool window_wait(struct window *w, int ms);
/* Until nothing more comes for so long. */
void window_settle(struct window *w, int ms);
/* Until it has ended: its exit code, or 128 + signal. */
int window_end(struct window *w);

/* The visible text: the scrollback and the screen, or the screen alone. Yours until the next
 * call. */
const char *window_text(struct window *w);
const char *window_screen(struct window *w);
size_t window_count(struct window *w, const char *text); /* in both */
