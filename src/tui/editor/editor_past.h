/*
 * Earlier prompts: those of this run, then those of earlier runs (editor_spec.past), as one list,
 * newest first and without repetitions; and the search in them. UI thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/map.h"
#include "base/str.h"
#include "base/vec.h"
#include "tui/editor/editor_text.h"

struct editor_spec;

#define EDITOR_KEPT_PROMPTS 200 /* of this run */
#define EDITOR_MAX_PROMPT ((size_t)1 << 20)
#define EDITOR_SEARCHED 20000 /* prompts a search looks at */

/* A prompt of this run. */
struct editor_said {
    char *text;
    editor_fold_vec folds; /* pastes in it */
};

struct editor_past {
    bool (*past)(void *arg, size_t i, struct str *ret);
    void *past_arg;
    VEC(struct editor_said) mine; /* oldest first */
    /* those of earlier runs that are no repetition, as far as the user has gone back */
    VEC(size_t) others; /* their places in `past` */
    size_t looked;      /* how many of `past` were looked at */
    struct map seen;    /* by hash */
    /* going through them with Up and Down */
    size_t place;     /* 0: the draft; i: the i-th */
    struct buf draft; /* the draft, as the text has it */
};

void editor_past_init(struct editor_past *p, const struct editor_spec *spec);
void editor_past_release(struct editor_past *p);
/* folds: of the text as it stands, in order; copied. */
void editor_past_add(struct editor_past *p, struct str text, const editor_fold_vec *folds);
/* The i-th, from 0; false: there are no more. Lent until the next call. */
bool editor_past_get(struct editor_past *p, size_t i, struct str *ret);
/* The pastes in it; NULL: none, or no longer known. */
const editor_fold_vec *editor_past_folds(const struct editor_past *p, size_t i);

struct editor_search {
    bool is_open;
    bool failed; /* no further match: the last one is still shown */
    struct buf query;
    size_t place; /* of the match, from 0; SIZE_MAX: none yet */
    size_t at;    /* where in it */
};
void editor_search_open(struct editor_search *s);
void editor_search_release(struct editor_search *s);
/* The newest match from `start` on; capitals in the query make it mind them. Sets place and at, or
 * failed. */
void editor_search_find(struct editor_search *s, struct editor_past *p, size_t start);
/* The nearest match that is newer than the one shown. */
void editor_search_back(struct editor_search *s, struct editor_past *p);
