/*
 * Panels: whatever takes the keys for a while in the place of the editor (dialogs, pickers,
 * sliders), or the whole window (the transcript view).
 *
 * A panel knows nothing of its surroundings: it draws into lines and answers to keys. The app,
 * which opened it, reads its result from the panel's own functions once it is done. One at a time
 * is shown; the app keeps those that wait. UI thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "tui/screen/line.h"
#include "tui/screen/screen.h"

struct keypress;
struct panel;

struct view {
    int cols, rows; /* what it may use */
    int64_t now_ms; /* monotonic */
    bool ascii;     /* no boxes, arrows and dots beyond ASCII */
    bool plain;     /* --plain: words in the place of marks; nothing that moves */
};

enum panel_state {
    PANEL_OPEN,
    PANEL_DONE, /* there is a result */
    PANEL_LEFT, /* Esc */
    /* Open, and the key was typed before the panel could be read: it was meant for whatever had the
     * keys then. */
    PANEL_EARLY,
    PANEL_HELD, /* open; decides about the key at due(), or when PANEL_EARLY is returned for another
                 */
};

struct panel_kind {
    const char *name;
    bool is_full;    /* the alternate screen */
    bool takes_runs; /* text of several keys comes in one piece, which is no answer */
    void (*draw)(struct panel *p, const struct view *v, struct lines *ret,
                 struct screen_cursor *ret_cursor);
    enum panel_state (*key)(struct panel *p, const struct keypress *k);
    int64_t (*due)(struct panel *p); /* when it wants to be drawn again; -1. NULL: never */
    enum panel_state (*wake)(struct panel *p); /* that time has come. NULL: drawing is enough */
    void (*free)(struct panel *p);
};

/* First member of every panel. */
struct panel {
    const struct panel_kind *kind;
};

void panel_free(struct panel *p); /* NULL is fine */

/* On a plain terminal only the last row of the region is shown (screen.h). So what a panel has
 * drawn goes to the scrollback, all but that row; later on what has changed, and all below it. */
struct panel_log {
    struct lines said;
};
#define PANEL_LOG_INIT                                                                             \
    {                                                                                              \
        .said = LINES_INIT                                                                         \
    }
void panel_log_release(struct panel_log *log);
void panel_log_show(struct panel_log *log, const struct lines *drawn, struct screen *s);
void panel_log_forget(
    struct panel_log *log); /* the panel is closed: the next one is printed in full */
