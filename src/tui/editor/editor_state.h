/*
 * The editor from inside, for editor*.c.
 *
 *     editor.c         a key comes in: list, search, vim, the table of keys, or text
 *     editor_keys.c    what the keys of the table do
 *     editor_vim.c     vim's modes; editor_vim_motion.c where its motions and objects lead
 *     editor_draw.c    the rows that are seen
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tui/editor/editor.h"
#include "tui/editor/editor_kill.h"
#include "tui/editor/editor_list.h"
#include "tui/editor/editor_past.h"
#include "tui/editor/editor_text.h"
#include "tui/editor/editor_vim.h"

/* What the last key did, where that makes a difference for the next. */
enum editor_deed {
    DID_OTHER,
    DID_TYPE,
    DID_DELETE,   /* a character: several in a row are undone together */
    DID_KILL,     /* several in a row are one kill */
    DID_YANK,     /* Alt-Y may follow */
    DID_MOVE_ROW, /* Up and Down keep their column */
    DID_GO_PAST,  /* Up and Down go on through earlier prompts */
};

struct editor {
    struct editor_spec spec;
    struct editor_text text;
    struct editor_kills kills;
    struct editor_past past;
    struct editor_search search;
    struct editor_list list;
    struct editor_vim vim;

    enum editor_deed did; /* by the key before */
    enum editor_deed does;
    bool is_prefixed;   /* Ctrl-X was pressed */
    size_t yanked_from; /* DID_YANK: where it begins */
    int goal_col;       /* of Up and Down; -1: where the cursor is */
    const char *note;   /* what the last key could not do; NULL: nothing */
    struct buf stash;   /* Ctrl-S */
    struct buf name;    /* of the current key */

    int width;   /* cells of a row, when it was last drawn */
    size_t top;  /* the first row seen, by its start */
    size_t rows; /* of text, when it was last drawn */
};

/* Kills [from, to): the cursor stands between, or at one end of it. */
void editor_kill_range(struct editor *e, size_t from, size_t to);
/* One row up or down; false: there is none. */
bool editor_move_row(struct editor *e, int by);
void editor_go_past(struct editor *e, int by);            /* 1: older, -1: newer */
void editor_set_whole(struct editor *e, struct str text); /* from outside; one step of undo */
/* The i-th prompt of before, its pastes folded as they were; false: there is none. */
bool editor_recall(struct editor *e, size_t i);
/* A new step of undo begins, but in vim's insert mode, where all of it is one. */
void editor_step(struct editor *e);

/* The table of keys. False: the key is not in it. */
bool editor_keys_run(struct editor *e, enum editor_act *ret);
/* A key while earlier prompts are searched. */
enum editor_act editor_search_key(struct editor *e, const struct keypress *k);
/* Text that was typed, at the cursor. */
void editor_type(struct editor *e, struct str text);
/* A key as the editor without vim takes it. */
enum editor_act editor_plain_key(struct editor *e, const struct keypress *k);
