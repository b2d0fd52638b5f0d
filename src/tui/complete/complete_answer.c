/*
 * Answers: the best of many names, kept in order while they are offered one by one. Any thread, one
 * at a time.
 */
#include "tui/complete/complete_answer.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "tui/complete/fuzzy.h"

struct answer *answer_new(unsigned serial)
{
    struct answer *a = mem_zalloc(sizeof(*a));

    a->serial = serial;
    return a;
}

void answer_free(struct answer *a)
{
    if (!a)
        return;
    arena_release(&a->arena);
    free(a);
}

/* Whether a is better than b: score, then short, then by name. */
static bool found_before(const struct found *a, const struct found *b, bool by_name)
{
    if (a->score != b->score)
        return a->score > b->score;
    if (!by_name && a->text.len != b->text.len)
        return a->text.len < b->text.len;
    return str_cmp(a->text, b->text) < 0;
}

void answer_offer(struct answer *a, struct found f)
{
    size_t at = a->count;

    if (at == COMPLETER_SHOWN && !found_before(&f, &a->items[at - 1], a->by_name))
        return;
    while (at && found_before(&f, &a->items[at - 1], a->by_name))
        at--;
    if (a->count < COMPLETER_SHOWN)
        a->count++;
    memmove(&a->items[at + 1], &a->items[at], (a->count - at - 1) * sizeof(f));
    a->items[at] = f;
}

void answer_settle(struct answer *a, struct str query)
{
    unsigned short places[FUZZY_MAX_QUERY];

    for (size_t i = 0; i < a->count; i++) {
        struct found *f = &a->items[i];

        f->text = arena_str(&a->arena, f->text);
        f->alias = arena_str(&a->arena, f->alias);
        f->detail = arena_str(&a->arena, f->detail);
        f->at_count = fuzzy_places(query, f->text, places);
        f->at = arena_alloc(&a->arena, f->at_count * sizeof(*f->at) + 1);
        memcpy(f->at, places, f->at_count * sizeof(*f->at));
    }
}

bool answer_eq(const struct answer *a, const struct answer *b)
{
    bool same = a->count == b->count;

    for (size_t i = 0; same && i < a->count; i++)
        same = str_eq(a->items[i].text, b->items[i].text) &&
               a->items[i].at_count == b->items[i].at_count &&
               memcmp(a->items[i].at, b->items[i].at,
                      a->items[i].at_count * sizeof(*a->items[i].at)) == 0;
    return same;
}
