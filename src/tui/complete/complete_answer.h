/*
 * The best names for one question, at most COMPLETER_SHOWN. Made by one thread, then given away
 * whole to another.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/str.h"
#include "tui/complete/complete.h"

struct found {
    struct str text, alias, detail;
    unsigned short *at;
    size_t at_count;
    int score;
    bool goes_on;
    bool is_resource;
};

struct answer {
    unsigned serial; /* of the question */
    bool by_name;    /* nothing was asked for: in order, not by length */
    struct arena arena;
    struct found items[COMPLETER_SHOWN]; /* best first */
    size_t count;
};

struct answer *answer_new(unsigned serial);
void answer_free(struct answer *a);
/* Keeps it if it is among the best. Texts stay where they are until answer_settle(). */
void answer_offer(struct answer *a, struct found f);
/* Makes the texts its own, and says where they matched. */
void answer_settle(struct answer *a, struct str query);
bool answer_eq(const struct answer *a, const struct answer *b); /* shows the same */
