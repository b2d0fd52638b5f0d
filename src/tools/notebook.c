/*
 * notebook: a parsed notebook knows which bytes every value came from; an edit is a splice of
 * those. Runs on tool threads.
 */
#include "tools/notebook.h"

#include <string.h>

#include "base/err.h"
#include "base/id.h"
#include "json/json.h"
#include "json/jw.h"

/* The second line of an indented file shows the unit: one blank for Jupyter, two or four for
 * others. */
static void notebook_look_at_indent(struct notebook *nb)
{
    size_t at = str_chr(nb->text, '\n') + 1;
    size_t n = 0;

    nb->is_flat = at > nb->text.len;
    while (at + n < nb->text.len && n < sizeof(nb->unit) - 1 &&
           (nb->text.ptr[at + n] == ' ' || nb->text.ptr[at + n] == '\t'))
        n++;
    if (!nb->is_flat && n)
        memcpy(nb->unit, nb->text.ptr + at, n);
}

int notebook_parse(struct notebook *nb, struct str text, struct err *err)
{
    *nb = (struct notebook){.text = text};
    if (json_parse(&nb->arena, text, &nb->root, NULL, err) < 0) {
        err_prefix(err, "the notebook is not valid JSON");
        notebook_release(nb);
        return -1;
    }
    nb->cells = json_get(nb->root, "cells");
    if (!json_is(nb->cells, JSON_ARRAY)) {
        notebook_release(nb);
        return err_set(err, ERR_BAD_INPUT,
                       "it is no notebook of version 4: it has no list of cells");
    }
    nb->has_ids = json_get_i64(nb->root, "nbformat", 4) > 4 ||
                  json_get_i64(nb->root, "nbformat_minor", 0) >= 5;
    notebook_look_at_indent(nb);
    return 0;
}

void notebook_release(struct notebook *nb)
{
    arena_release(&nb->arena);
}

const struct json *notebook_find(const struct notebook *nb, struct str id, size_t *ret_index)
{
    size_t index = 0;
    int64_t n = -1;

    JSON_EACH(nb->cells, cell) {
        if (id.len && str_eq(json_get_str(cell, "id"), id)) {
            *ret_index = index;
            return cell;
        }
        index++;
    }
    if (!str_starts(id, STR("cell-")) || str_to_i64(str_from(id, 5), &n, NULL) < 0 || n < 0 ||
        (size_t)n >= index)
        return NULL;
    *ret_index = (size_t)n;
    return json_at(nb->cells, (size_t)n);
}

void cell_add_source(const struct json *cell, struct buf *ret)
{
    const struct json *source = json_get(cell, "source");

    buf_add(ret, json_str(source));
    JSON_EACH(source, line) {
        buf_add(ret, json_str(line));
    }
}

static void add_break(const struct notebook *nb, size_t depth, struct buf *out)
{
    if (nb->is_flat)
        return;
    buf_addc(out, '\n');
    while (depth--)
        buf_adds(out, nb->unit);
}

static void add_json_str(struct str s, struct buf *out)
{
    struct jw w;

    jw_init(&w, out, 0);
    jw_str(&w, s);
}

/* As Jupyter does it: a list of lines that keep their \n. */
static void add_source(const struct notebook *nb, struct str source, struct buf *out)
{
    bool is_first = true;

    buf_addc(out, '[');
    while (source.len) {
        size_t n = str_chr(source, '\n') + 1;

        if (!is_first)
            buf_adds(out, nb->is_flat ? ", " : ",");
        is_first = false;
        add_break(nb, 4, out);
        add_json_str(str_first(source, n), out);
        source = str_from(source, n);
    }
    if (!is_first)
        add_break(nb, 3, out);
    buf_addc(out, ']');
}

static void add_member(const struct notebook *nb, const char *key, struct str json, struct buf *out)
{
    if (out->ptr[out->len - 1] != '{')
        buf_adds(out, nb->is_flat ? ", " : ",");
    add_break(nb, 3, out);
    buf_addf(out, "\"%s\": ", key);
    buf_add(out, json);
}

/* A whole cell, its keys in Jupyter's order. */
static void add_cell(const struct notebook *nb, bool is_code, struct str id, struct str metadata,
                     struct str source, struct buf *out)
{
    CLEANUP(buf_release) struct buf value = BUF_INIT(BUF_NO_LIMIT);

    buf_addc(out, '{');
    add_member(nb, "cell_type", is_code ? STR("\"code\"") : STR("\"markdown\""), out);
    if (is_code)
        add_member(nb, "execution_count", STR("null"), out);
    if (id.len) {
        add_json_str(id, &value);
        add_member(nb, "id", buf_str(&value), out);
    }
    add_member(nb, "metadata", metadata.len ? metadata : STR("{}"), out);
    if (is_code)
        add_member(nb, "outputs", STR("[]"), out);
    buf_clear(&value);
    add_source(nb, source, &value);
    add_member(nb, "source", buf_str(&value), out);
    add_break(nb, 2, out);
    buf_addc(out, '}');
}

/* text[from, to) becomes something else. */
struct splice {
    struct buf *out;
    struct str text;
    size_t done;
};

static void splice_at(struct splice *s, size_t from, size_t to, struct str with)
{
    buf_add(s->out, str_make(s->text.ptr + s->done, from - s->done));
    buf_add(s->out, with);
    s->done = to;
}

static void splice_value(struct splice *s, const struct json *value, struct str with)
{
    size_t from = (size_t)(json_raw(value).ptr - s->text.ptr);

    splice_at(s, from, from + json_raw(value).len, with);
}

static size_t value_from(const struct splice *s, const struct json *value)
{
    return (size_t)(json_raw(value).ptr - s->text.ptr);
}

static size_t value_to(const struct splice *s, const struct json *value)
{
    return value_from(s, value) + json_raw(value).len;
}

static int cell_replace(const struct notebook *nb, const struct notebook_change *change,
                        struct splice *s, struct err *err)
{
    CLEANUP(buf_release) struct buf value = BUF_INIT(BUF_NO_LIMIT);
    const struct json *cell = change->cell;
    const struct json *source = json_get(cell, "source");
    bool is_code = str_is(json_get_str(cell, "cell_type"), "code");

    if (!source)
        return err_set(err, ERR_BAD_INPUT, "the cell has no source");
    if (change->type && !str_is(json_get_str(cell, "cell_type"), change->type)) {
        add_cell(nb, !is_code, json_get_str(cell, "id"), json_raw(json_get(cell, "metadata")),
                 change->source, &value);
        splice_value(s, cell, buf_str(&value));
        return 0;
    }
    if (json_is(source, JSON_STRING))
        add_json_str(change->source, &value);
    else
        add_source(nb, change->source, &value);
    JSON_EACH(cell, member) {
        if (member == source)
            splice_value(s, member, buf_str(&value));
        else if (is_code && str_is(json_key(member), "outputs"))
            splice_value(s, member, STR("[]"));
        else if (is_code && str_is(json_key(member), "execution_count"))
            splice_value(s, member, STR("null"));
    }
    return 0;
}

static void cell_delete(const struct notebook *nb, const struct json *cell, struct splice *s)
{
    const struct json *next = json_next(cell);
    const struct json *before = NULL;

    JSON_EACH(nb->cells, it) {
        if (it == cell)
            break;
        before = it;
    }
    if (next)
        splice_at(s, value_from(s, cell), value_from(s, next), STR(""));
    else if (before)
        splice_at(s, value_to(s, before), value_to(s, cell), STR(""));
    else
        splice_value(s, nb->cells, STR("[]"));
}

static void cell_insert(const struct notebook *nb, const struct notebook_change *change,
                        struct splice *s, struct buf *ret_id)
{
    CLEANUP(buf_release) struct buf cell = BUF_INIT(BUF_NO_LIMIT);
    const struct json *first = json_first(nb->cells);
    char id[8];

    if (nb->has_ids) {
        id_fill(id, sizeof(id));
        buf_add(ret_id, str_make(id, sizeof(id)));
    }
    if (change->cell)
        buf_adds(&cell, nb->is_flat ? ", " : ",");
    if (!first)
        buf_addc(&cell, '[');
    if (change->cell || !first)
        add_break(nb, 2, &cell);
    add_cell(nb, strcmp(change->type, "code") == 0, buf_str(ret_id), STR("{}"), change->source,
             &cell);
    if (change->cell) {
        splice_at(s, value_to(s, change->cell), value_to(s, change->cell), buf_str(&cell));
    } else if (first) {
        buf_adds(&cell, nb->is_flat ? ", " : ",");
        add_break(nb, 2, &cell);
        splice_at(s, value_from(s, first), value_from(s, first), buf_str(&cell));
    } else {
        add_break(nb, 1, &cell);
        buf_addc(&cell, ']');
        splice_value(s, nb->cells, buf_str(&cell));
    }
}

int notebook_edit(const struct notebook *nb, const struct notebook_change *change,
                  struct buf *ret_text, struct buf *ret_id, struct err *err)
{
    struct splice s = {.out = ret_text, .text = nb->text};

    switch (change->mode) {
    case NOTEBOOK_REPLACE:
        if (cell_replace(nb, change, &s, err) < 0)
            return -1;
        break;
    case NOTEBOOK_INSERT:
        cell_insert(nb, change, &s, ret_id);
        break;
    case NOTEBOOK_DELETE:
        cell_delete(nb, change->cell, &s);
        break;
    }
    buf_add(ret_text, str_from(nb->text, s.done));
    return buf_check(ret_text, err);
}
