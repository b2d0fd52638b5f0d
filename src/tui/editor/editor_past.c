/*
 * Earlier prompts and the search in them. Nothing is loaded before the user goes back. UI thread.
 */
#include "tui/editor/editor_past.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "tui/editor/editor.h"
#include "tui/editor/search_text.h"

void editor_past_init(struct editor_past *p, const struct editor_spec *spec)
{
    *p = (struct editor_past){.past = spec->past, .past_arg = spec->past_arg};
    buf_init(&p->draft, BUF_NO_LIMIT); /* a copy of the text, which has a limit */
}

static void said_release(struct editor_said *s)
{
    mem_freep(&s->text);
    vec_release(&s->folds);
}

void editor_past_release(struct editor_past *p)
{
    VEC_EACH(&p->mine, m) {
        said_release(m);
    }
    vec_release(&p->mine);
    vec_release(&p->others);
    map_release(&p->seen);
    buf_release(&p->draft);
}

/* A new prompt makes others repetitions: they are checked again when the user goes back. */
static void past_forget(struct editor_past *p)
{
    p->others.len = 0;
    p->looked = 0;
    map_release(&p->seen);
    p->seen = (struct map)MAP_INIT;
}

static void said_take_out(struct editor_past *p, size_t i)
{
    said_release(&p->mine.ptr[i]);
    memmove(p->mine.ptr + i, p->mine.ptr + i + 1, (p->mine.len - i - 1) * sizeof(*p->mine.ptr));
    p->mine.len--;
}

/* Those of a text whose first `cut` bytes were taken away; [0, len) is left of it. */
static void said_fold(struct editor_said *s, const editor_fold_vec *folds, size_t cut, size_t len)
{
    VEC_EACH(folds, f) {
        size_t from = f->at > cut ? f->at - cut : 0;
        size_t to = f->at + f->len > cut ? f->at + f->len - cut : 0;

        to = to < len ? to : len;
        if (from < to)
            vec_push(&s->folds, ((struct editor_fold){from, to - from}));
    }
}

void editor_past_add(struct editor_past *p, struct str text, const editor_fold_vec *folds)
{
    struct str said = str_trim(text);
    struct editor_said *s;

    if (!said.len || said.len > EDITOR_MAX_PROMPT)
        return;
    past_forget(p);
    for (size_t i = 0; i < p->mine.len; i++) { /* said before: it is the newest now */
        if (str_is(said, p->mine.ptr[i].text)) {
            said_take_out(p, i);
            break;
        }
    }
    if (p->mine.len == EDITOR_KEPT_PROMPTS)
        said_take_out(p, 0);
    s = vec_add(&p->mine);
    *s = (struct editor_said){.text = mem_dup(said.ptr, said.len)};
    said_fold(s, folds, (size_t)(said.ptr - text.ptr), said.len);
}

const editor_fold_vec *editor_past_folds(const struct editor_past *p, size_t i)
{
    return i < p->mine.len ? &p->mine.ptr[p->mine.len - 1 - i].folds : NULL;
}

/* Whether it was there before; it is from now on. */
static bool past_was_seen(struct editor_past *p, struct str text)
{
    uint64_t hash = str_hash(text);
    struct str key = str_make((const char *)&hash, sizeof(hash));

    if (map_has(&p->seen, key))
        return true;
    map_set(&p->seen, key, p);
    return false;
}

/* The next of earlier runs that is no repetition. */
static bool past_look(struct editor_past *p)
{
    struct str text;

    if (!p->looked) {
        VEC_EACH(&p->mine, m) {
            past_was_seen(p, str_of(m->text));
        }
    }
    while (p->past && p->past(p->past_arg, p->looked, &text)) {
        p->looked++;
        if (!past_was_seen(p, text)) {
            vec_push(&p->others, p->looked - 1);
            return true;
        }
    }
    return false;
}

bool editor_past_get(struct editor_past *p, size_t i, struct str *ret)
{
    if (i < p->mine.len) {
        *ret = str_of(p->mine.ptr[p->mine.len - 1 - i].text);
        return true;
    }
    i -= p->mine.len;
    while (i >= p->others.len) {
        if (!past_look(p))
            return false;
    }
    return p->past(p->past_arg, p->others.ptr[i], ret);
}

/* --- search ---------------------------------------------------------------------------------- */

void editor_search_open(struct editor_search *s)
{
    editor_search_release(s);
    *s = (struct editor_search){.is_open = true, .place = SIZE_MAX};
    buf_init(&s->query, 1000);
}

void editor_search_release(struct editor_search *s)
{
    buf_release(&s->query);
    s->is_open = false;
}

/* Whether the i-th matches; *ret_more: whether there is an i-th at all. */
static bool search_fits(struct editor_search *s, struct editor_past *p, size_t i, bool *ret_more)
{
    struct str query = buf_str(&s->query);
    struct str text;
    size_t at;

    *ret_more = editor_past_get(p, i, &text);
    if (!*ret_more)
        return false;
    at = search_text_find(text, query, /*ret_len=*/NULL);
    if (at == text.len)
        return false;
    s->place = i;
    s->at = at;
    return true;
}

void editor_search_find(struct editor_search *s, struct editor_past *p, size_t start)
{
    bool more = true;

    s->failed = false;
    if (!s->query.len) {
        s->place = SIZE_MAX;
        return;
    }
    for (size_t i = start; more && i < start + EDITOR_SEARCHED; i++) {
        if (search_fits(s, p, i, &more))
            return;
    }
    s->failed = true;
}

void editor_search_back(struct editor_search *s, struct editor_past *p)
{
    bool more;

    s->failed = false;
    if (s->place == SIZE_MAX)
        return;
    for (size_t i = s->place; i-- > 0;) {
        if (search_fits(s, p, i, &more))
            return;
    }
    s->failed = true;
}
