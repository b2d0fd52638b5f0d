/*
 * The terminal UI: an interactive session.
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
    bool is_demo; /* this run is the demo itself, which announces its end */
    /* Plays the offline demo in the terminal, which it owns until it returns; NULL: there is none.
     * On its own thread. */
    int (*demo)(void *arg, struct err *err);
    void *demo_arg;
    /* The endpoint for other programs, opened for each session once it is in front of the user and
     * closed before it is freed; listen() returns what unlisten() takes. Both on the chores'
     * thread. NULL: no endpoint. */
    void *(*listen)(struct host *h, struct slash *slash);
    void (*unlisten)(void *ear);
};

/* How it ended. */
struct tui_end {
    int code;                      /* the exit code */
    char session[ID_UUID_LEN + 1]; /* that can be resumed; empty: it has no messages */
    struct err failed;             /* the first session could not be made: why */
};

void tui_run(const struct tui_spec *spec, struct tui_end *ret);
