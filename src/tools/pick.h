/*
 * Selects the lines of a text that match a pattern (PCRE2); fed in parts of any size. One thread.
 */
#pragma once

#include "base/str.h"

struct clip;
struct err;
struct pick;

/* ERR_BAD_INPUT: "missing closing parenthesis at offset 4". An empty pattern selects everything. */
struct pick *pick_new(struct str pattern, struct clip *to, struct err *err);
void pick_feed(struct pick *p, struct str text);
void pick_end(struct pick *p); /* the last line may be incomplete */
void pick_free(struct pick *p);
void pick_freep(struct pick **p);
