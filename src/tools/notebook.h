/*
 * Jupyter notebooks (.ipynb, nbformat 4): shown to the model, and edited as text.
 *
 * An edit replaces only the bytes of what it changes, so key order, indentation and unknown members
 * stay as they are.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/str.h"

struct err;
struct json;
struct tool_result;

struct notebook {
    struct arena arena;
    struct str text; /* must stay valid */
    const struct json *root;
    const struct json *cells;
    bool has_ids; /* cells of this version have ids */
    char unit[9]; /* of indentation; empty with is_flat */
    bool is_flat; /* written on one line */
};

/* ERR_BAD_INPUT if it is not JSON or not a notebook of version 4. */
int notebook_parse(struct notebook *nb, struct str text, struct err *err);
void notebook_release(struct notebook *nb);

/* The cell with this id, or for "cell-n" the n-th from 0; NULL if there is none. */
const struct json *notebook_find(const struct notebook *nb, struct str id, size_t *ret_index);
void cell_add_source(const struct json *cell, struct buf *ret);

struct notebook_change {
    enum {
        NOTEBOOK_REPLACE,
        NOTEBOOK_INSERT,
        NOTEBOOK_DELETE
    } mode;
    const struct json *cell; /* INSERT: after this one, or at the start if NULL */
    const char *type;        /* "code" or "markdown"; REPLACE: NULL = unchanged */
    struct str source;
};

/* Appends the changed text. A code cell whose source is replaced loses its outputs, which are
 * outdated. ret_id: the id of an inserted cell, if cells have ids. */
int notebook_edit(const struct notebook *nb, const struct notebook_change *change,
                  struct buf *ret_text, struct buf *ret_id, struct err *err);

/* Writes the cells for a model: sources, then outputs as text; images in outputs (ten at most) go
 * to ret->images. What exceeds max_bytes is omitted, with a note. */
void notebook_show(const struct notebook *nb, size_t max_bytes, struct tool_result *ret);
