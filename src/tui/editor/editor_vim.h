/*
 * Vim's modes for the editor: normal, insert, visual and visual line, with operators, motions, text
 * objects, counts and ".". In insert mode all keys except Esc work as without vim. UI thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/vec.h"
#include "tui/editor/editor.h"
#include "tui/screen/keypress.h"

struct editor_text;

enum vim_mode {
    VIM_INSERT,
    VIM_NORMAL,
    VIM_VISUAL,
    VIM_VISUAL_LINE,
};

#define VIM_MAX_COUNT 9999
#define VIM_MAX_CHAR 32 /* bytes of what f, t and r are given */

/* Keys, to be pressed again; what they type is in one buffer. */
struct vim_key {
    struct keypress key;
    size_t text_at;
};

struct vim_keys {
    VEC(struct vim_key) keys;
    struct buf text;
};

struct editor_vim {
    bool is_on;
    enum vim_mode mode;
    size_t anchor; /* of a selection */
    /* the command so far */
    unsigned count;    /* being typed; 0: none */
    unsigned op_count; /* in front of the operator */
    char op;           /* d c y > < or 0 */
    char wait;         /* f F t T r g i a ": one more character */
    /* the last f, F, t, T */
    char find;
    char find_char[VIM_MAX_CHAR];
    size_t find_len;
    int goal_col; /* of j and k; -1: none */
    /* for "." */
    struct vim_keys recorded; /* the current command */
    struct vim_keys last;     /* the last one that changed something */
    bool is_recording;
    bool has_changed; /* set by the current command */
    bool is_repeating;
};

void editor_vim_init(struct editor_vim *v, bool is_on);
void editor_vim_release(struct editor_vim *v);
enum editor_act editor_vim_key(struct editor *e, const struct keypress *k);
/* In normal mode the cursor stands on a character, never after the last one of a line. */
void editor_vim_settle(struct editor *e);
void editor_vim_sent(struct editor_vim *v); /* the text is gone: insert mode */

bool editor_vim_inserts(const struct editor_vim *v);
bool editor_vim_wants_escape(const struct editor_vim *v);
const char *editor_vim_name(const struct editor_vim *v); /* of the mode; NULL: no vim */
bool editor_vim_selection(const struct editor *e, size_t *ret_from, size_t *ret_to);

/* --- between the files of vim --- */

void vim_insert(struct editor *e); /* insert mode, from any other */
void vim_normal(struct editor *e);

/* --- editor_vim_visual.c --- */

bool vim_is_visual(const struct editor_vim *v);
/* A key on a selection. False: it is no command there. */
bool vim_on_selection(struct editor *e, char key);

/* --- editor_vim_change.c --- */

/* d c y > < on [from, to); with lines, the start of the first and the end of the last. */
void vim_operate(struct editor *e, char op, size_t from, size_t to, bool lines);
void vim_operate_lines(struct editor *e, char op, size_t a, size_t b); /* those of two places */
/* Whole lines are kept with a newline. */
void vim_yank(struct editor *e, size_t from, size_t to, bool lines);
void vim_put(struct editor *e, bool behind, unsigned count);
/* In place of [from, to), which is cut unless the register is to be kept. */
void vim_put_over(struct editor *e, size_t from, size_t to, bool lines, bool keep);
void vim_join(struct editor *e, unsigned count);
enum letter_case {
    CASE_OTHER,
    CASE_LOWER,
    CASE_UPPER,
};
void vim_change_case(struct editor *e, size_t from, size_t to, enum letter_case how);
/* r: every character becomes this one. */
void vim_replace_chars(struct editor *e, size_t from, size_t to, struct str c);

/* --- editor_vim_motion.c --- */

enum vim_reach {
    REACH_NONE, /* there is no such place */
    REACH_TO,   /* up to there */
    REACH_OVER, /* with what stands there */
    REACH_LINES,
};

/* A motion (h l w b e W B E 0 ^ $ G { } % ; ,; gg as 'g'; j k are the caller's): where it leads. */
enum vim_reach vim_motion(struct editor_vim *v, const struct editor_text *t, char key,
                          unsigned count, size_t *ret_to);
/* cw: the last character of the word at the cursor, or of so many. */
size_t vim_word_rest(const struct editor_text *t, unsigned count, bool big);
/* f F t T and a character. */
enum vim_reach vim_find(const struct editor_vim *v, const struct editor_text *t, char key,
                        unsigned count, size_t *ret_to);
/* A text object: i or a, and w W " ' ` ( ) b [ ] { } B < > p; count: so many of them, or so many
 * levels out (quotes have none). False: there is none, or there are not so many. */
bool vim_object(const struct editor_text *t, char kind, char key, unsigned count, size_t *ret_from,
                size_t *ret_to);
