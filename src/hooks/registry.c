/*
 * registry: a reference-counted set behind a lock, copied for each change. The lock is held while a
 * few dozen pointers are copied, never while matching or freeing. Any thread.
 */
#include "hooks/registry.h"

#include <stdatomic.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "hooks/point.h"
#include "sync/thread.h"

struct shared_set {
    struct hook_set set; /* must be first: callers get a pointer to it */
    atomic_uint refs;
};

struct hook_registry {
    struct lock lock; /* guards the pointer */
    struct shared_set *now;
};

static struct shared_set *set_new(enum hook_limit limit)
{
    struct shared_set *s = mem_zalloc(sizeof(*s));

    atomic_init(&s->refs, 1);
    s->set.limit = limit;
    return s;
}

void hook_set_unref(const struct hook_set *held)
{
    struct shared_set *s = (struct shared_set *)held; /* only the count is modified */

    if (!s || atomic_fetch_sub_explicit(&s->refs, 1, memory_order_acq_rel) > 1)
        return;
    VEC_EACH(&s->set.entries, e) {
        VEC_EACH(&e->handlers, h) {
            hook_handler_unref(*h);
        }
        vec_release(&e->handlers);
    }
    vec_release(&s->set.entries);
    arena_release(&s->set.arena);
    mem_freep(&s);
}

void hook_set_unrefp(const struct hook_set **s)
{
    hook_set_unref(*s);
}

static struct hook_entry *set_add_entry(struct hook_set *s, const struct hook_entry *like)
{
    struct hook_entry *e = vec_add(&s->entries);

    *e = (struct hook_entry){
        .event = like->event,
        .source = like->source,
        .matcher = arena_cstr(&s->arena, str_of(like->matcher)),
    };
    if (like->skill_root)
        e->skill_root = arena_cstr(&s->arena, str_of(like->skill_root));
    return e;
}

/* Whether a handler is kept in the copy. */
typedef bool (*keep_fn)(const struct hook_entry *e, const struct hook_handler *h, const void *arg);

/* The lock must be held. Entries without handlers are dropped. */
static struct shared_set *set_copy(const struct hook_set *from, keep_fn keep, const void *arg)
{
    struct shared_set *s = set_new(from->limit);

    VEC_EACH(&from->entries, e) {
        struct hook_entry *copy = NULL;

        VEC_EACH(&e->handlers, h) {
            if (!keep(e, *h, arg))
                continue;
            if (!copy)
                copy = set_add_entry(&s->set, e);
            vec_push(&copy->handlers, hook_handler_ref(*h));
        }
    }
    return s;
}

static size_t set_count(const struct hook_set *s)
{
    size_t n = 0;

    VEC_EACH(&s->entries, e) {
        n += e->handlers.len;
    }
    return n;
}

struct hook_registry *hook_registry_new(enum hook_limit limit)
{
    struct hook_registry *r = mem_zalloc(sizeof(*r));

    lock_init(&r->lock);
    r->now = set_new(limit);
    return r;
}

void hook_registry_free(struct hook_registry *r)
{
    if (!r)
        return;
    hook_set_unref(&r->now->set);
    lock_release(&r->lock);
    mem_freep(&r);
}

enum hook_limit hook_registry_limit(struct hook_registry *r)
{
    CLEANUP(hook_set_unrefp) const struct hook_set *s = hook_registry_get(r);

    return s->limit;
}

const struct hook_set *hook_registry_get(struct hook_registry *r)
{
    struct shared_set *s;

    lock_take(&r->lock);
    s = r->now;
    atomic_fetch_add_explicit(&s->refs, 1, memory_order_relaxed);
    lock_give(&r->lock);
    return &s->set;
}

/* --- adding --------------------------------------------------------------------------------- */

static bool same_text(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

static bool same_place(const struct hook_entry *a, const struct hook_entry *b)
{
    return a->event == b->event && a->source == b->source && same_text(a->matcher, b->matcher) &&
           same_text(a->skill_root, b->skill_root);
}

struct addition {
    const struct hook_entry *where;
    const struct hook_handler *handler;
};

/* Keeps all but what the new one replaces: itself, or the function with that id. */
static bool keep_others(const struct hook_entry *e, const struct hook_handler *h, const void *arg)
{
    const struct addition *a = arg;
    const struct handler_spec *old = hook_handler_spec(h);
    const struct handler_spec *new = hook_handler_spec(a->handler);

    if (a->where->source != HOOK_SESSION || !same_place(e, a->where))
        return true;
    if (old->type == HANDLER_FUNCTION && new->type == HANDLER_FUNCTION)
        return !str_eq(old->id, new->id);
    return h != a->handler;
}

static struct hook_entry *set_find_place(struct hook_set *s, const struct hook_entry *where)
{
    VEC_EACH(&s->entries, e) {
        if (where->source == HOOK_SESSION && same_place(e, where))
            return e;
    }
    return set_add_entry(s, where);
}

int hook_registry_add(struct hook_registry *r, const struct hook_entry *where,
                      struct hook_handler *h, struct err *err)
{
    struct addition addition = {where, h};
    struct hook_entry *place;
    struct shared_set *old;
    struct shared_set *new;

    lock_take(&r->lock);
    new = set_copy(&r->now->set, keep_others, &addition);
    if (set_count(&new->set) >= REGISTRY_MAX_HANDLERS) {
        lock_give(&r->lock);
        hook_set_unref(&new->set);
        return err_set(err, ERR_TOO_BIG, "there are more than %d hooks", REGISTRY_MAX_HANDLERS);
    }
    place = set_find_place(&new->set, where);
    vec_push(&place->handlers, hook_handler_ref(h));
    old = r->now;
    r->now = new;
    lock_give(&r->lock);
    hook_set_unref(&old->set);
    return 0;
}

/* --- removing ------------------------------------------------------------------------------- */

struct removal {
    enum hook_event event;
    const struct hook_handler *handler; /* NULL = all of the skill's */
    const char *skill_root;
};

static bool keep_rest(const struct hook_entry *e, const struct hook_handler *h, const void *arg)
{
    const struct removal *out = arg;

    if (out->handler)
        return e->event != out->event || h != out->handler;
    return e->source != HOOK_SESSION || !e->skill_root ||
           strcmp(e->skill_root, out->skill_root) != 0;
}

static size_t registry_cut(struct hook_registry *r, const struct removal *out)
{
    struct shared_set *old;
    struct shared_set *new;
    size_t gone;

    lock_take(&r->lock);
    old = r->now;
    new = set_copy(&old->set, keep_rest, out);
    gone = set_count(&old->set) - set_count(&new->set);
    r->now = new;
    lock_give(&r->lock);
    hook_set_unref(&old->set);
    return gone;
}

bool hook_registry_remove(struct hook_registry *r, enum hook_event event, struct hook_handler *h)
{
    return registry_cut(r, &(struct removal){.event = event, .handler = h});
}

size_t hook_registry_remove_skill(struct hook_registry *r, const char *skill_root)
{
    return registry_cut(r, &(struct removal){.skill_root = skill_root});
}

/* --- renewing ------------------------------------------------------------------------------- */

static bool keep_all(const struct hook_entry *e, const struct hook_handler *h, const void *arg)
{
    (void)e;
    (void)h;
    (void)arg;
    return true;
}

/* Adds the hooks that were added at run time. */
static void set_add_session(struct hook_set *s, const struct hook_set *from)
{
    VEC_EACH(&from->entries, e) {
        struct hook_entry *copy;

        if (e->source != HOOK_SESSION)
            continue;
        copy = set_add_entry(s, e);
        VEC_EACH(&e->handlers, h) {
            vec_push(&copy->handlers, hook_handler_ref(*h));
        }
    }
}

void hook_registry_renew(struct hook_registry *r, struct hook_registry *fresh)
{
    CLEANUP(hook_set_unrefp) const struct hook_set *settings = hook_registry_get(fresh);
    struct shared_set *new = set_copy(settings, keep_all, /*arg=*/NULL);
    struct shared_set *old;

    lock_take(&r->lock);
    set_add_session(&new->set, &r->now->set);
    old = r->now;
    r->now = new;
    lock_give(&r->lock);
    hook_set_unref(&old->set);
}

int hook_registry_renew_skill(struct hook_registry *r, const char *skill_root,
                              struct hook_registry *fresh, struct err *err)
{
    CLEANUP(hook_set_unrefp) const struct hook_set *brought = hook_registry_get(fresh);
    struct removal before = {.skill_root = skill_root};
    struct shared_set *unused;
    struct shared_set *new;
    int rc = 0;

    lock_take(&r->lock);
    new = set_copy(&r->now->set, keep_rest, &before);
    set_add_session(&new->set, brought);
    if (set_count(&new->set) > REGISTRY_MAX_HANDLERS) {
        rc = err_set(err, ERR_TOO_BIG, "there are more than %d hooks", REGISTRY_MAX_HANDLERS);
        unused = new;
    } else {
        unused = r->now;
        r->now = new;
    }
    lock_give(&r->lock);
    hook_set_unref(&unused->set);
    return rc;
}

/* --- asking --------------------------------------------------------------------------------- */

bool hook_registry_has(struct hook_registry *r, enum hook_event event, const struct hook_handler *h)
{
    CLEANUP(hook_set_unrefp) const struct hook_set *s = hook_registry_get(r);

    VEC_EACH(&s->entries, e) {
        VEC_EACH(&e->handlers, it) {
            if (e->event == event && *it == h)
                return true;
        }
    }
    return false;
}

bool hook_registry_has_type(struct hook_registry *r, enum handler_type type)
{
    CLEANUP(hook_set_unrefp) const struct hook_set *s = hook_registry_get(r);

    VEC_EACH(&s->entries, e) {
        VEC_EACH(&e->handlers, it) {
            if (hook_handler_spec(*it)->type == type)
                return true;
        }
    }
    return false;
}

bool hook_entry_matches(const struct hook_set *s, const struct hook_entry *e, enum hook_event event,
                        struct str subject)
{
    if (e->event != event || (s->limit != HOOK_LIMIT_NONE && e->source != HOOK_MANAGED))
        return false;
    return !(point_of(event)->flags & POINT_MATCHES) ||
           hook_matches(event, str_of(e->matcher), subject);
}
