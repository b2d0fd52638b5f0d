/*
 * The editor of the prompt.
 *
 * Several lines of text with undo, a kill ring, words, history, folded pastes, completion and, when
 * wanted, vim's modes. It answers to keys and draws itself into lines; what a key means beyond the
 * text (send, interrupt, leave) it says as an act and leaves to the app. UI thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/str.h"
#include "tui/dialog/panel.h"
#include "tui/screen/line.h"

struct completer;
struct editor;
struct keypress;

enum editor_act {
    EDITOR_NOTHING, /* the key was used; draw again */
    EDITOR_UNUSED,  /* not ours: the app's keys (Esc, Ctrl-C, Ctrl-O, Shift-Tab, …) */
    EDITOR_SEND,    /* Enter: editor_take() */
    EDITOR_OPEN,    /* Ctrl-G: the text in $EDITOR, then editor_set() */
    EDITOR_QUEUE,   /* Up while it is empty: edit the queued messages, else editor_older() */
};

/* What the first character makes of the text. */
enum editor_mode {
    EDITOR_PROMPT,
    EDITOR_COMMAND, /* "/" */
    EDITOR_SHELL,   /* "!" */
    EDITOR_MEMORY,  /* "#" */
};

struct editor_spec {
    bool vim;
    bool ascii;
    /* Prompts of earlier runs, newest first, for Up and Ctrl-R: read when first needed. The i-th,
     * or false. Lent until the next call. The editor itself remembers later ones. */
    bool (*past)(void *arg, size_t i, struct str *ret);
    void *past_arg;
    struct completer *completer; /* complete.h; NULL: nothing is completed. Lent */
};

struct editor *editor_new(const struct editor_spec *spec);
void editor_free(struct editor *e);
enum editor_act editor_key(struct editor *e, const struct keypress *k, int64_t now_ms);

/* The whole text, pastes unfolded; then it is empty and in the history. */
void editor_take(struct editor *e, struct buf *ret);
void editor_text(const struct editor *e, struct buf *ret);  /* the same, and it stays */
void editor_shown(const struct editor *e, struct buf *ret); /* as it is seen: pastes folded */
/* A picture in this file, as a mention that is folded to "[Image #1]". */
void editor_image(struct editor *e, const char *path);
void editor_set(struct editor *e, struct str text); /* the cursor at its end; can be undone */
void editor_insert(struct editor *e, struct str text);
void editor_older(struct editor *e); /* the prompt before, as Up has it */
bool editor_is_empty(const struct editor *e);
enum editor_mode editor_mode(const struct editor *e);
void editor_set_vim(struct editor *e, bool vim);
const char *editor_vim_mode(const struct editor *e); /* "NORMAL", "INSERT", …; NULL: no vim */
/* An Esc the editor has a use for itself (closes a list, leaves vim's insert mode, a search). */
bool editor_wants_escape(const struct editor *e);

/* The prompt with its text, the list of completions or the search below it; at most v->rows rows,
 * scrolled so that the cursor is seen. hint: faint, while it is empty. */
void editor_draw(struct editor *e, const struct view *v, struct str hint, struct lines *ret,
                 struct screen_cursor *ret_cursor);
/* How many of the rows drawn last show what the person has written: the first ones. */
size_t editor_text_rows(const struct editor *e);
/* Something came in from the completer (complete.h). True: draw again. */
bool editor_news(struct editor *e);
/* The completer has other commands now. True: draw again. */
bool editor_commands_changed(struct editor *e);
