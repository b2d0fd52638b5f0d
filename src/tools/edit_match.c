/*
 * edit_match: a text with \r\n is searched in a view without the \r; the list of omissions leads
 * from a place in the view to the bytes. Runs on tool threads.
 */
#include "tools/edit_match.h"

#include <string.h>

#include "base/buf.h"
#include "base/vec.h"

#define EDIT_MAX_LISTED 10 /* lines named when a string is found too often */

struct match_view {
    struct str text; /* without the \r of \r\n; lent from `own`, or the whole when there is none */
    struct buf own;
    VEC(size_t) cuts; /* places in the view before which a \r was left out, ascending */
};

static void view_open(struct match_view *v, struct str text)
{
    *v = (struct match_view){.text = text, .own = BUF_INIT(BUF_NO_LIMIT)};
    if (!str_has(text, STR("\r\n")))
        return;
    while (text.len) {
        size_t n = str_find(text, STR("\r\n"));

        buf_add(&v->own, str_first(text, n));
        if (n < text.len) {
            vec_push(&v->cuts, v->own.len);
            n++;
        }
        text = str_from(text, n);
    }
    v->text = buf_str(&v->own);
}

static void view_close(struct match_view *v)
{
    buf_release(&v->own);
    vec_release(&v->cuts);
}

/* The place in the bytes: every \r left out before it counts. */
static size_t view_place(const struct match_view *v, size_t at)
{
    size_t low = 0;
    size_t high = v->cuts.len;

    while (low < high) {
        size_t mid = (low + high) / 2;

        if (v->cuts.ptr[mid] < at)
            low = mid + 1;
        else
            high = mid;
    }
    return at + low;
}

static bool ends_in_crlf(struct str text, size_t newline)
{
    return newline && newline < text.len && text.ptr[newline - 1] == '\r';
}

/* Adds `new` (with \n only) in place of text[from, to): its lines end as the lines there do, the
 * rest of them like the last one; when there is none, like the line that follows or precedes. */
static void edit_add_lines(struct buf *out, struct str new, struct str text, size_t from, size_t to)
{
    size_t at = from + str_chr(str_from(text, from), '\n');
    bool crlf;

    if (at >= text.len) {
        const char *last = from ? memrchr(text.ptr, '\n', from) : NULL;

        at = last ? (size_t)(last - text.ptr) : text.len;
    }
    crlf = ends_in_crlf(text, at);
    at = from;
    while (new.len) {
        size_t n = str_chr(new, '\n');

        buf_add(out, str_first(new, n));
        if (n == new.len)
            break;
        at += str_chr(str_from(text, at), '\n');
        if (at < to) {
            crlf = ends_in_crlf(text, at);
            at++;
        }
        buf_adds(out, crlf ? "\r\n" : "\n");
        new = str_from(new, n + 1);
    }
}

static size_t line_of(struct str text, size_t at)
{
    size_t line = 1;

    for (size_t i = str_chr(text, '\n'); i < at; i += 1 + str_chr(str_from(text, i + 1), '\n'))
        line++;
    return line;
}

static void edit_say_many(const struct match_view *v, struct str old, struct buf *ret_why)
{
    CLEANUP(buf_release) struct buf lines = BUF_INIT(BUF_NO_LIMIT);
    size_t count = 0;

    for (size_t at = str_find(v->text, old); at < v->text.len; count++) {
        if (count < EDIT_MAX_LISTED)
            buf_addf(&lines, "%s%zu", count ? ", " : "", line_of(v->text, at));
        at += 1 + str_find(str_from(v->text, at + 1), old);
    }
    buf_addf(ret_why,
             "old_string is in the file %zu times (lines %s%s). Add lines around it to make it "
             "unique, or set replace_all to change every one.",
             count, buf_cstr(&lines), count > EDIT_MAX_LISTED ? ", …" : "");
}

static int edit_in_view(const struct match_view *v, struct str text, const struct edit *e,
                        struct buf *ret_text, size_t *ret_places, struct buf *ret_why)
{
    size_t first = str_find(v->text, e->old);
    size_t done = 0; /* bytes of text that are written */
    size_t places = 0;
    size_t start = ret_text->len;

    if (first >= v->text.len) {
        edit_explain(v->text, e->old, ret_why);
        return -1;
    }
    if (!e->all && str_has(str_from(v->text, first + 1), e->old)) {
        edit_say_many(v, e->old, ret_why);
        return -1;
    }
    for (size_t at = first; at < v->text.len; places++) {
        size_t from = view_place(v, at);
        size_t to = view_place(v, at + e->old.len);

        buf_add(ret_text, str_make(text.ptr + done, from - done));
        if (v->cuts.len)
            edit_add_lines(ret_text, e->new, text, from, to);
        else
            buf_add(ret_text, e->new);
        done = to;
        at += e->old.len;
        at += str_find(str_from(v->text, at), e->old);
    }
    buf_add(ret_text, str_from(text, done));
    *ret_places = places;
    if (str_eq(str_from(buf_str(ret_text), start), text)) {
        buf_adds(ret_why, "old_string and new_string are the same except for their line endings, "
                          "which Edit keeps as they are in the file.");
        return -1;
    }
    return 0;
}

int edit_match_apply(struct str text, const struct edit *e, struct buf *ret_text,
                     size_t *ret_places, struct buf *ret_why)
{
    struct match_view text_view;
    struct match_view old = {0};
    struct match_view new = {0};
    struct edit plain = *e;
    int rc;

    view_open(&text_view, text);
    if (text_view.cuts.len) {
        view_open(&old, e->old);
        view_open(&new, e->new);
        plain.old = old.text;
        plain.new = new.text;
    }
    rc = edit_in_view(&text_view, text, &plain, ret_text, ret_places, ret_why);
    view_close(&text_view);
    view_close(&old);
    view_close(&new);
    return rc;
}
