/*
 * "Did you mean": the candidate closest to a mistyped word.
 *
 * Letter case, '-' and '_' do not count, so promptcaching, prompt_caching and prompt-caching all
 * find promptCaching. Up to a third of the letters may be wrong, three at most; a word that is the
 * beginning of a candidate is a near miss too. Candidates are kept by reference.
 */
#pragma once

#include <stddef.h>

#include "base/str.h"

#define NEAREST_MAX 64 /* longer words are not typing mistakes */

struct nearest {
    char word[NEAREST_MAX];
    size_t len;
    size_t limit;
    struct str best; /* empty: nothing is close enough */
    size_t score;    /* lower is nearer */
};

void nearest_init(struct nearest *n, struct str word);
void nearest_offer(struct nearest *n, struct str candidate);
void nearest_offer_words(struct nearest *n, const char *words); /* separated by spaces */
