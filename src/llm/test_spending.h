/*
 * The costs, for tests: every booking of a spending, in order.
 */
#pragma once

#include "base/arena.h"
#include "base/vec.h"
#include "llm/spending.h"
#include "sync/thread.h"

struct paid {
    struct spending *spending;
    struct lock lock; /* of what follows */
    struct arena arena;
    VEC(struct spend) list;
};

static inline void paid_add(void *arg, const struct spend *s)
{
    struct paid *p = arg;
    struct spend mine = *s;

    lock_take(&p->lock);
    mine.model = arena_str(&p->arena, s->model);
    vec_push(&p->list, mine);
    lock_give(&p->lock);
}

static inline void paid_begin(struct paid *p)
{
    *p = (struct paid){.spending = spending_new()};
    lock_init(&p->lock);
    spending_watch(p->spending, paid_add, p);
}

static inline void paid_end(struct paid *p)
{
    spending_watch(p->spending, NULL, NULL);
    spending_unref(p->spending);
    vec_release(&p->list);
    arena_release(&p->arena);
    lock_release(&p->lock);
}

static inline size_t paid_count(struct paid *p)
{
    size_t n;

    lock_take(&p->lock);
    n = p->list.len;
    lock_give(&p->lock);
    return n;
}
