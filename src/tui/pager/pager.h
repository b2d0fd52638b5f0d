/*
 * Long text on the whole window, to be scrolled and searched.
 *
 * The text comes in parts from a source, each known by a place that grows from part to part. Only
 * parts that are seen are drawn, and a few of those are kept, so it costs the same whether there
 * are ten of them or a million; a search asks the source first which parts are worth drawing, and
 * takes its time in slices, between which keys are heard. UI thread.
 *
 *     arrows j k, PgUp PgDn space b, Ctrl-U Ctrl-D, g G Home End    move
 *     / ? n N                                                        search
 *     Esc q Ctrl-O                                                   close
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/str.h"
#include "tui/dialog/panel.h"
#include "tui/screen/line.h"

struct keypress;

struct pager_source {
    uint64_t (*end)(void *arg); /* after the last part; may grow. 0: there is none */
    /* The part after the one at this place; the last one before it. False: there is none. The first
     * is at 0. */
    bool (*next)(void *arg, uint64_t at, uint64_t *ret);
    bool (*prev)(void *arg, uint64_t at, uint64_t *ret);
    void (*draw)(void *arg, uint64_t at, const struct view *v, struct lines *ret);
    /* False: this word (plain ASCII letters and digits) is surely not in the part. NULL:
     * unknown. */
    bool (*may_have)(void *arg, uint64_t at, struct str word);
};

/* A part as it looks at a width. */
struct pager_part {
    uint64_t at;
    uint64_t used; /* when, for making room */
    struct lines lines;
};

#define PAGER_PARTS 64

struct pager {
    const struct pager_source *source;
    void *arg;
    struct buf title;
    struct view view; /* the last one */
    struct pager_part parts[PAGER_PARTS];
    size_t part_count;
    uint64_t clock;

    uint64_t top; /* the part at the top of the window, and its first row there */
    size_t row;
    bool at_end; /* it stays there when the text grows */
    bool is_placed;

    bool typing; /* the search text */
    bool backward;
    struct buf query;
    uint64_t found; /* the part with the last match, and its row */
    size_t found_row;
    bool has_found;
    bool searching;
    bool search_back;
    bool wrapped;  /* once around */
    uint64_t from; /* where it began */
    uint64_t search_at;
    struct buf message;
    uint64_t searched; /* the end of the source when a search ended */
};

void pager_init(struct pager *p, const struct pager_source *source, void *arg, struct str title);
void pager_release(struct pager *p);

void pager_go(struct pager *p, uint64_t at); /* that part at the top */
void pager_go_end(struct pager *p);

void pager_draw(struct pager *p, const struct view *v, struct lines *ret,
                struct screen_cursor *ret_cursor);
enum panel_state pager_key(struct pager *p, const struct keypress *k);
int64_t pager_due(const struct pager *p); /* 0 while it searches, else -1 */
