/*
 * Words of a typed line, separated by blanks; words with blanks are quoted.
 */
#pragma once

#include <stdbool.h>

#include "base/str.h"

struct buf;
struct err;

bool word_is_blank(char c);
bool word_is_number(struct str word); /* digits alone */
/* The first word of *rest, which is advanced past it and the blanks. Quotes mean nothing. */
struct str word_take(struct str *rest);
/* The same as a shell would read it, without expanding anything: 'a b', "a \"b\"", a\ b.
 * ERR_BAD_INPUT: a quote is not closed. */
int word_take_quoted(struct str *rest, struct buf *ret, struct err *err);
/* Whether it is one of these, which single spaces separate, in any case. */
bool word_is_of(struct str word, const char *words);
