/*
 * The list of completions under the editor: which word is being completed, which entry is chosen,
 * and the resulting text. UI thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/str.h"

struct completer;
struct editor_text;
struct lines;
struct view;

#define EDITOR_LIST_ROWS 8

struct editor_list {
    struct completer *completer; /* NULL: nothing is completed */
    bool is_open;
    char kind;       /* '@' or '/' */
    size_t from;     /* of the word, its sign included */
    size_t chosen;   /* place in the completer's list */
    bool was_moved;  /* chosen by the person, not merely the best */
    size_t top;      /* first row shown */
    bool was_closed; /* by Esc: not opened again before another word is begun */
    size_t closed_from;
};

/* The text or the cursor has changed. */
void editor_list_look(struct editor_list *l, const struct editor_text *t);
/* Esc: false when there was none. */
bool editor_list_close(struct editor_list *l);
/* The text is gone, or another one: what Esc closed may open again. */
void editor_list_reset(struct editor_list *l);
/* Whether there is something to choose from. */
bool editor_list_shows(const struct editor_list *l);
void editor_list_move(struct editor_list *l, int by);
/* Where a folder is chosen that stands there already: the first name in it. */
void editor_list_enter(struct editor_list *l, const struct editor_text *t);
/* Inserts the chosen entry. True: it is a whole command, which Enter may send, because the user
 * moved to it or typed its beginning. One that merely contains the letters may not be meant. */
bool editor_list_take(struct editor_list *l, struct editor_text *t);
/* Whether the chosen entry is typed in full already, by this or another name. */
bool editor_list_is_typed(const struct editor_list *l, const struct editor_text *t);
/* Something came in. True: draw again. */
bool editor_list_news(struct editor_list *l);

size_t editor_list_rows(const struct editor_list *l); /* that it would like */
void editor_list_draw(struct editor_list *l, const struct view *v, size_t rows, struct lines *ret);
