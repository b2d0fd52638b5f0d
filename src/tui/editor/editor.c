/*
 * The editor: dispatches keys. A list of completions comes first, then a search, vim's modes, the
 * table of keys, and everything else is text. UI thread.
 */
#include "tui/editor/editor.h"

#include <stdlib.h>

#include "base/mem.h"
#include "tui/editor/editor_move.h"
#include "tui/editor/editor_state.h"
#include "tui/screen/keypress.h"

#define FIRST_WIDTH 77 /* of rows, before it was drawn */

struct editor *editor_new(const struct editor_spec *spec)
{
    struct editor *e = mem_zalloc(sizeof(*e));

    e->spec = *spec;
    e->width = FIRST_WIDTH;
    e->goal_col = -1;
    e->list.completer = spec->completer;
    editor_text_init(&e->text);
    editor_past_init(&e->past, spec);
    editor_vim_init(&e->vim, spec->vim);
    buf_init(&e->stash, EDITOR_MAX_TEXT + EDITOR_MAX_FOLDED);
    buf_init(&e->name, BUF_NO_LIMIT);
    return e;
}

void editor_free(struct editor *e)
{
    if (!e)
        return;
    editor_text_release(&e->text);
    editor_kills_release(&e->kills);
    editor_past_release(&e->past);
    editor_search_release(&e->search);
    editor_vim_release(&e->vim);
    buf_release(&e->stash);
    buf_release(&e->name);
    free(e);
}

/* --- keys ------------------------------------------------------------------------------------ */

void editor_step(struct editor *e)
{
    if (!editor_vim_inserts(&e->vim))
        editor_text_step(&e->text);
}

void editor_type(struct editor *e, struct str text)
{
    struct editor_text *t = &e->text;
    bool begins_word = t->cursor && editor_move_class(t, t->cursor - 1) == CLASS_SPACE &&
                       text.len && text.ptr[0] != ' ';

    if (e->did != DID_TYPE || begins_word)
        editor_step(e); /* undone word by word */
    e->does = DID_TYPE;
    editor_text_insert(t, text);
}

/* The list takes a few keys while it is shown; *ret is then what they did. */
static bool list_key(struct editor *e, const struct keypress *k, enum editor_act *ret)
{
    struct editor_list *l = &e->list;
    bool is_enter = keypress_is(k, "enter");

    if (!editor_list_shows(l))
        return false;
    *ret = EDITOR_NOTHING;
    if (keypress_is(k, "up") || keypress_is(k, "ctrl+p")) {
        editor_list_move(l, -1);
    } else if (keypress_is(k, "down") || keypress_is(k, "ctrl+n")) {
        editor_list_move(l, 1);
    } else if (keypress_is(k, "esc")) {
        editor_list_close(l);
    } else if (is_enter && editor_list_is_typed(l, &e->text)) {
        editor_list_close(l);
        *ret = EDITOR_SEND;
    } else if (is_enter || keypress_is(k, "tab")) {
        bool is_whole;

        editor_step(e);
        if (!is_enter)
            editor_list_enter(l, &e->text);
        is_whole = editor_list_take(l, &e->text);
        editor_step(e);
        if (is_enter && is_whole)
            *ret = EDITOR_SEND;
    } else {
        return false;
    }
    return true;
}

/* The name under which a key stands in the table; what it types has none. */
static void name_key(struct editor *e, const struct keypress *k)
{
    buf_clear(&e->name);
    if (e->is_prefixed)
        buf_adds(&e->name, "ctrl+x ");
    e->is_prefixed = false;
    if (k->code != KEY_TEXT && k->code != KEY_PASTE)
        keypress_name(k, &e->name);
}

enum editor_act editor_plain_key(struct editor *e, const struct keypress *k)
{
    enum editor_act act;

    name_key(e, k);
    switch (k->code) {
    case KEY_TEXT:
        editor_type(e, k->text);
        return EDITOR_NOTHING;
    case KEY_PASTE:
        editor_step(e);
        editor_text_paste(&e->text, k->text);
        editor_step(e);
        return EDITOR_NOTHING;
    default:
        return editor_keys_run(e, &act) ? act : EDITOR_UNUSED;
    }
}

/* Whether the text was changed in between. */
static bool log_differs(const struct editor_log *a, const struct editor_log *b)
{
    return a->done != b->done || a->changes.len != b->changes.len || a->text.len != b->text.len;
}

enum editor_act editor_key(struct editor *e, const struct keypress *k, int64_t now_ms)
{
    struct editor_log was = e->text.log;
    enum editor_act act;

    (void)now_ms;
    if (k->code == KEY_REPLY || k->code == KEY_FOCUS_IN || k->code == KEY_FOCUS_OUT)
        return EDITOR_UNUSED;
    e->does = DID_OTHER;
    e->text.was_full = false;
    e->note = NULL;
    if (e->search.is_open) {
        act = editor_search_key(e, k);
        editor_vim_settle(e);
    } else if (list_key(e, k, &act)) {
        e->did = DID_OTHER;
        return act;
    } else {
        act = editor_vim_key(e, k);
    }
    e->did = e->does;
    if (e->text.was_full)
        e->note = "too long: not put in";
    else if (k->was_cut)
        e->note = "a paste of more than 10 MB: the rest is missing";
    if (act == EDITOR_NOTHING && !e->search.is_open && e->did != DID_GO_PAST &&
        (e->list.is_open || log_differs(&was, &e->text.log)))
        editor_list_look(&e->list, &e->text); /* moving over a word does not open it */
    else
        e->list.is_open = false;
    return act;
}

/* --- search ---------------------------------------------------------------------------------- */

/* The match becomes the text. */
static void search_take(struct editor *e)
{
    if (e->search.place != SIZE_MAX)
        (void)editor_recall(e, e->search.place);
    editor_search_release(&e->search);
}

enum editor_act editor_search_key(struct editor *e, const struct keypress *k)
{
    struct editor_search *s = &e->search;

    if (k->code == KEY_TEXT || k->code == KEY_PASTE) {
        struct str line = str_first(k->text, str_chr(k->text, '\n'));

        buf_add(&s->query, line);
        editor_search_find(s, &e->past, s->place == SIZE_MAX ? 0 : s->place);
    } else if (keypress_is(k, "backspace") || keypress_is(k, "ctrl+h")) {
        if (s->query.len)
            s->query.len = str_clip(buf_str(&s->query), s->query.len - 1).len;
        editor_search_find(s, &e->past, 0);
    } else if (keypress_is(k, "ctrl+u") || keypress_is(k, "ctrl+w")) {
        buf_clear(&s->query);
        editor_search_find(s, &e->past, 0);
    } else if (keypress_is(k, "ctrl+r") || keypress_is(k, "up") || keypress_is(k, "ctrl+p")) {
        editor_search_find(s, &e->past, s->place == SIZE_MAX ? 0 : s->place + 1);
    } else if (keypress_is(k, "ctrl+s") || keypress_is(k, "down") || keypress_is(k, "ctrl+n")) {
        editor_search_back(s, &e->past);
    } else if (keypress_is(k, "esc") || keypress_is(k, "ctrl+c") || keypress_is(k, "ctrl+g")) {
        editor_search_release(s);
    } else if (keypress_is(k, "enter") || keypress_is(k, "tab")) {
        search_take(e);
    } else {
        search_take(e); /* any other key is for the text that was found */
        return editor_vim_key(e, k);
    }
    return EDITOR_NOTHING;
}

/* --- the text as a whole --------------------------------------------------------------------- */

void editor_text(const struct editor *e, struct buf *ret)
{
    editor_text_whole(&e->text, ret);
}

void editor_shown(const struct editor *e, struct buf *ret)
{
    editor_text_shown(&e->text, ret);
}

void editor_image(struct editor *e, const char *path)
{
    CLEANUP(buf_release) struct buf mention = BUF_INIT(64 << 10);

    buf_addf(&mention, "@\"%s\"", path);
    editor_step(e);
    editor_text_paste(&e->text, buf_str(&mention));
    editor_text_insert(&e->text, STR(" "));
    editor_step(e);
}

void editor_take(struct editor *e, struct buf *ret)
{
    CLEANUP(buf_release) struct buf whole = BUF_INIT(BUF_NO_LIMIT);
    editor_fold_vec folds = {0};

    editor_text_whole(&e->text, &whole);
    editor_text_folds(&e->text, &folds);
    editor_past_add(&e->past, buf_str(&whole), &folds);
    vec_release(&folds);
    buf_add(ret, buf_str(&whole));
    editor_kills_unfold(&e->kills, &e->text);
    editor_text_clear(&e->text);
    buf_clear(&e->past.draft);
    e->past.place = 0;
    e->top = 0;
    editor_list_reset(&e->list);
    e->did = DID_OTHER;
    editor_search_release(&e->search);
    editor_vim_sent(&e->vim);
}

void editor_set_whole(struct editor *e, struct str text)
{
    editor_text_step(&e->text);
    editor_text_replace(&e->text, 0, e->text.bytes.len, STR(""));
    editor_text_insert(&e->text, text);
    editor_text_step(&e->text);
}

bool editor_recall(struct editor *e, size_t i)
{
    const editor_fold_vec *folds;
    struct str text;
    size_t at = 0;

    if (!editor_past_get(&e->past, i, &text))
        return false;
    folds = editor_past_folds(&e->past, i);
    editor_text_step(&e->text);
    editor_text_replace(&e->text, 0, e->text.bytes.len, STR(""));
    for (size_t n = 0; folds && n < folds->len; n++) {
        struct editor_fold f = folds->ptr[n];

        editor_text_insert(&e->text, str_first(str_from(text, at), f.at - at));
        editor_text_paste(&e->text, str_first(str_from(text, f.at), f.len));
        at = f.at + f.len;
    }
    editor_text_insert(&e->text, str_from(text, at));
    editor_text_step(&e->text);
    return true;
}

void editor_set(struct editor *e, struct str text)
{
    editor_set_whole(e, text);
    e->past.place = 0;
    e->did = DID_OTHER;
    editor_list_reset(&e->list);
    editor_vim_settle(e);
}

void editor_insert(struct editor *e, struct str text)
{
    editor_text_step(&e->text);
    editor_text_insert(&e->text, text);
    editor_text_step(&e->text);
    e->did = DID_OTHER;
}

void editor_older(struct editor *e)
{
    editor_go_past(e, 1);
    e->did = e->does;
    e->list.is_open = false;
    editor_vim_settle(e);
}

bool editor_is_empty(const struct editor *e)
{
    return !e->text.bytes.len;
}

enum editor_mode editor_mode(const struct editor *e)
{
    switch (editor_is_empty(e) ? 0 : e->text.bytes.ptr[0]) {
    case '/':
        return EDITOR_COMMAND;
    case '!':
        return EDITOR_SHELL;
    case '#':
        return EDITOR_MEMORY;
    default:
        return EDITOR_PROMPT;
    }
}

void editor_set_vim(struct editor *e, bool vim)
{
    editor_vim_release(&e->vim);
    editor_vim_init(&e->vim, vim);
}

const char *editor_vim_mode(const struct editor *e)
{
    return editor_vim_name(&e->vim);
}

bool editor_wants_escape(const struct editor *e)
{
    return e->search.is_open || editor_list_shows(&e->list) || editor_vim_wants_escape(&e->vim);
}

bool editor_commands_changed(struct editor *e)
{
    if (!e->list.is_open || e->list.kind != '/' || e->list.was_moved)
        return false;
    editor_list_look(&e->list, &e->text);
    return true;
}

bool editor_news(struct editor *e)
{
    return e->list.completer && editor_list_news(&e->list);
}
