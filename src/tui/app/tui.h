/*
 * The terminal UI: a session with a person in front of it.
 *
 *     keys → keyboard.c → panel, or editor.c → slash_send() → agent
 *     agent → events (feed) → chat.c → lines → screen.c → term.c → one write
 *     asks → dialogs, one at a time
 *
 * One thread, the caller's, is an event loop that never waits for an agent: it polls the terminal,
 * its mailbox (events, asks, completions, the status line's results) and the next time something
 * is due; when nothing moves it sleeps. Rows of this room: width, style, line, key, term, screen
 * know nothing of agents; editor, markdown, diff_view, chat, panels draw into lines; app.c brings
 * them together.
 */
#pragma once

#include <stdbool.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/id.h"
#include "base/str.h"

struct host;
struct host_spec;
struct slash;

struct tui_spec {
    const struct host_spec *host; /* for the first session; those that follow are made like it */
    const char *version;
    struct str prompt; /* said at once; empty: none */
    bool plain;
    bool is_demo; /* the story itself: at its end it says so */
    /* Plays the story of the offline demo in the terminal, which it is given for that long; NULL:
     * there is none. A thread of its own. */
    int (*demo)(void *arg, struct err *err);
    void *demo_arg;
    /* The way in for other programs, opened for each session once it is in front of the person
     * and closed before it is freed; listen() gives what unlisten() takes. Both on the desk's
     * thread. NULL: nobody comes in. */
    void *(*listen)(struct host *h, struct slash *slash);
    void (*unlisten)(void *ear);
};

/* How it ended. */
struct tui_end {
    int code;                      /* the exit code */
    char session[ID_UUID_LEN + 1]; /* that can be gone on with; empty: nothing was said */
    struct err failed;             /* the first session could not be made: why */
};

void tui_run(const struct tui_spec *spec, struct tui_end *ret);
