/*
 * The editor's text and its log of changes. A text of a megabyte is still one buffer: moving its
 * end by a byte takes less time than drawing a row. UI thread.
 */
#include "tui/editor/editor_text.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "tui/app/typed.h"
#include "tui/editor/editor_move.h"

#define FOLD_LEAD "\xf4\x8f" /* of U+10F000 to U+10FFFF */
#define FOLD_MAX 4096

void editor_text_init(struct editor_text *t)
{
    *t = (struct editor_text){0};
    buf_init(&t->bytes, EDITOR_MAX_TEXT);
    buf_init(&t->log.text, BUF_NO_LIMIT); /* see log_trim() */
}

static void pastes_clear(struct editor_text *t)
{
    VEC_EACH(&t->pastes, p) {
        free(p->text);
    }
    t->pastes.len = 0;
    t->folded_bytes = 0;
}

void editor_text_release(struct editor_text *t)
{
    pastes_clear(t);
    vec_release(&t->pastes);
    vec_release(&t->log.changes);
    buf_release(&t->log.text);
    buf_release(&t->bytes);
}

void editor_text_clear(struct editor_text *t)
{
    editor_text_release(t);
    editor_text_init(t);
}

/* --- the log --------------------------------------------------------------------------------- */

void editor_text_step(struct editor_text *t)
{
    t->log.step++;
}

/* Undone changes can no longer be redone. */
static void log_forget_undone(struct editor_log *l)
{
    if (l->done == l->changes.len)
        return;
    l->text.len = l->changes.ptr[l->done].text;
    l->changes.len = l->done;
}

/* Drops the older half of the log when it is too long. */
static void log_trim(struct editor_log *l)
{
    size_t drop = l->changes.len / 2;
    size_t bytes;

    if (l->text.len <= EDITOR_MAX_UNDO || !drop)
        return;
    /* A step is forgotten whole or not at all. */
    while (drop < l->changes.len && l->changes.ptr[drop].step == l->changes.ptr[drop - 1].step)
        drop++;
    bytes = drop < l->changes.len ? l->changes.ptr[drop].text : l->text.len;
    buf_cut(&l->text, 0, bytes);
    memmove(l->changes.ptr, l->changes.ptr + drop,
            (l->changes.len - drop) * sizeof(*l->changes.ptr));
    l->changes.len -= drop;
    VEC_EACH(&l->changes, c) {
        c->text -= bytes;
    }
    l->done = l->changes.len;
}

/* Whether the inserted text continues the last change. */
static bool log_goes_on(const struct editor_log *l, size_t at)
{
    const struct editor_change *last;

    if (!l->changes.len)
        return false;
    last = &l->changes.ptr[l->changes.len - 1];
    return last->step == l->step && last->at + last->added == at;
}

static void log_add(struct editor_text *t, size_t at, struct str removed, struct str added)
{
    struct editor_log *l = &t->log;

    log_forget_undone(l);
    if (!removed.len && log_goes_on(l, at)) {
        l->changes.ptr[l->changes.len - 1].added += added.len;
    } else {
        vec_push(&l->changes, ((struct editor_change){at, removed.len, added.len, l->text.len,
                                                      t->cursor, l->step}));
        buf_add(&l->text, removed);
    }
    buf_add(&l->text, added);
    l->done = l->changes.len;
}

/* --- changes --------------------------------------------------------------------------------- */

static void bytes_replace(struct editor_text *t, size_t from, size_t len, struct str with)
{
    buf_cut(&t->bytes, from, len);
    buf_insert(&t->bytes, from, with);
    t->cursor = from + with.len;
}

bool editor_text_replace(struct editor_text *t, size_t from, size_t to, struct str with)
{
    struct str removed = str_first(str_from(editor_text_str(t), from), to - from);

    if (!removed.len && !with.len)
        return true;
    if (with.len > EDITOR_MAX_TEXT - (t->bytes.len - removed.len)) {
        t->was_full = true;
        return false;
    }
    log_add(t, from, removed, with);
    /* The new text may be a part of this text: the log's copy stays where it is. */
    with = str_make(t->log.text.ptr + t->log.text.len - with.len, with.len);
    bytes_replace(t, from, removed.len, with);
    log_trim(&t->log);
    t->cursor = editor_move_snap(t, t->cursor);
    return true;
}

bool editor_text_undo(struct editor_text *t)
{
    struct editor_log *l = &t->log;
    unsigned step;

    if (!l->done)
        return false;
    step = l->changes.ptr[l->done - 1].step;
    while (l->done && l->changes.ptr[l->done - 1].step == step) {
        const struct editor_change *c = &l->changes.ptr[--l->done];

        bytes_replace(t, c->at, c->added, str_make(l->text.ptr + c->text, c->removed));
        t->cursor = c->cursor;
    }
    editor_text_step(t);
    return true;
}

bool editor_text_redo(struct editor_text *t)
{
    struct editor_log *l = &t->log;
    unsigned step;

    if (l->done == l->changes.len)
        return false;
    step = l->changes.ptr[l->done].step;
    while (l->done < l->changes.len && l->changes.ptr[l->done].step == step) {
        const struct editor_change *c = &l->changes.ptr[l->done++];

        bytes_replace(t, c->at, c->removed, str_make(l->text.ptr + c->text + c->removed, c->added));
    }
    t->cursor = editor_move_snap(t, t->cursor);
    editor_text_step(t);
    return true;
}

/* --- from outside ---------------------------------------------------------------------------- */

/* Characters that stand for pastes here mean nothing elsewhere. */
static void take_out_folds(struct buf *b)
{
    struct buf out = BUF_INIT(b->max);
    struct str rest = buf_str(b);

    while (rest.len) {
        size_t at = str_find(rest, STR(FOLD_LEAD));

        buf_add(&out, str_first(rest, at));
        rest = str_from(rest, at);
        if (rest.len)
            buf_adds(&out, "\xef\xbf\xbd");
        rest = str_from(rest, EDITOR_FOLD_CHAR);
    }
    out.over |= b->over;
    buf_move(b, &out);
}

static void clean(struct str text, struct buf *ret)
{
    typed_clean(text, /*is_end=*/true, ret);
    if (str_has(buf_str(ret), STR(FOLD_LEAD)))
        take_out_folds(ret);
}

bool editor_text_insert(struct editor_text *t, struct str text)
{
    CLEANUP(buf_release) struct buf cleaned = BUF_INIT(EDITOR_MAX_TEXT);

    clean(text, &cleaned);
    if (cleaned.over)
        t->was_full = true;
    return editor_text_replace(t, t->cursor, t->cursor, buf_str(&cleaned)) && !cleaned.over;
}

static size_t count_lines(struct str s)
{
    size_t count = 0;

    for (size_t at = str_chr(s, '\n'); at < s.len; at++) {
        count++;
        at += str_chr(str_from(s, at + 1), '\n');
    }
    return count + (s.len && s.ptr[s.len - 1] != '\n');
}

/* Its number when the same text was pasted before, as happens whenever the user moves up and down
 * in the prompts; else the next one. */
static size_t paste_number(const struct editor_text *t, struct str text)
{
    size_t n = 0;

    while (n < t->pastes.len &&
           !str_eq(text, str_make(t->pastes.ptr[n].text, t->pastes.ptr[n].len)))
        n++;
    return n;
}

/* @"PATH.png" and nothing else. */
static bool is_image(struct str text)
{
    static const char *const ends[] = {".png", ".jpg", ".jpeg", ".gif", ".webp"};

    if (!str_starts(text, STR("@\"")) || !str_ends(text, STR("\"")) || text.len < 4 ||
        str_chr(text, '\n') < text.len)
        return false;
    text = str_first(text, text.len - 1);
    for (size_t i = 0; i < ARRAY_LEN(ends); i++) {
        struct str end = str_of(ends[i]);

        if (text.len > end.len && str_eq_nocase(str_from(text, text.len - end.len), end))
            return true;
    }
    return false;
}

bool editor_text_paste(struct editor_text *t, struct str text)
{
    struct buf cleaned = BUF_INIT(EDITOR_MAX_TEXT);
    char fold[EDITOR_FOLD_CHAR] = FOLD_LEAD;
    size_t number, lines, len;

    clean(text, &cleaned);
    number = paste_number(t, buf_str(&cleaned));
    lines = count_lines(buf_str(&cleaned));
    if ((lines <= EDITOR_FOLD_LINES && cleaned.len <= EDITOR_FOLD_BYTES &&
         !is_image(buf_str(&cleaned))) ||
        number == FOLD_MAX) {
        bool fits = editor_text_replace(t, t->cursor, t->cursor, buf_str(&cleaned));

        buf_release(&cleaned);
        return fits;
    }
    fold[2] = (char)(0x80 | number >> 6);
    fold[3] = (char)(0x80 | (number & 0x3f));
    if (cleaned.over || cleaned.len > EDITOR_MAX_FOLDED - t->folded_bytes ||
        !editor_text_replace(t, t->cursor, t->cursor, str_make(fold, sizeof(fold)))) {
        t->was_full = true;
        buf_release(&cleaned);
        return false;
    }
    if (number < t->pastes.len) {
        buf_release(&cleaned);
        return true;
    }
    t->folded_bytes += cleaned.len;
    len = cleaned.len;
    vec_push(&t->pastes, ((struct editor_paste){buf_take(&cleaned), len, lines}));
    return true;
}

/* --- folded pastes --------------------------------------------------------------------------- */

/* The one that is meant by the character at p. */
static const struct editor_paste *paste_at(const struct editor_text *t, const char *p,
                                           size_t *ret_number)
{
    size_t number;

    if (memcmp(p, FOLD_LEAD, 2) != 0)
        return NULL;
    number = (size_t)(p[2] & 0x3f) << 6 | (size_t)(p[3] & 0x3f);
    if (number >= t->pastes.len)
        return NULL;
    if (ret_number)
        *ret_number = number + 1;
    return &t->pastes.ptr[number];
}

const struct editor_paste *editor_text_folded(const struct editor_text *t, size_t at,
                                              size_t *ret_number)
{
    if (at + EDITOR_FOLD_CHAR > t->bytes.len)
        return NULL;
    return paste_at(t, t->bytes.ptr + at, ret_number);
}

void editor_text_label(const struct editor_paste *p, size_t number, struct buf *ret)
{
    if (is_image(str_make(p->text, p->len)))
        buf_addf(ret, "[Image #%zu]", number);
    else if (p->lines > 1)
        buf_addf(ret, "[Pasted text #%zu +%zu lines]", number, p->lines);
    else
        buf_addf(ret, "[Pasted text #%zu +%zu bytes]", number, p->len);
}

static void unfold(const struct editor_text *t, struct str text, bool by_label, struct buf *ret)
{
    while (text.len) {
        size_t at = str_find(text, STR(FOLD_LEAD));
        const struct editor_paste *p;
        size_t number = 0;

        buf_add(ret, str_first(text, at));
        text = str_from(text, at);
        if (text.len < EDITOR_FOLD_CHAR)
            return;
        p = paste_at(t, text.ptr, &number);
        if (p && by_label)
            editor_text_label(p, number, ret);
        else if (p)
            buf_add(ret, str_make(p->text, p->len));
        text = str_from(text, EDITOR_FOLD_CHAR);
    }
}

void editor_text_unfold(const struct editor_text *t, struct str text, struct buf *ret)
{
    unfold(t, text, /*by_label=*/false, ret);
}

void editor_text_shown(const struct editor_text *t, struct buf *ret)
{
    unfold(t, editor_text_str(t), /*by_label=*/true, ret);
}

void editor_text_whole(const struct editor_text *t, struct buf *ret)
{
    editor_text_unfold(t, editor_text_str(t), ret);
}

void editor_text_folds(const struct editor_text *t, editor_fold_vec *ret)
{
    struct str text = editor_text_str(t);
    size_t whole = 0; /* bytes so far */

    while (text.len) {
        size_t at = str_find(text, STR(FOLD_LEAD));
        const struct editor_paste *p;

        whole += at;
        text = str_from(text, at);
        if (text.len < EDITOR_FOLD_CHAR)
            return;
        p = paste_at(t, text.ptr, NULL);
        if (p) {
            vec_push(ret, ((struct editor_fold){whole, p->len}));
            whole += p->len;
        }
        text = str_from(text, EDITOR_FOLD_CHAR);
    }
}
