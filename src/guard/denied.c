/*
 * denied: the rules are shared with the permit's state, which is held. Any thread.
 */
#include "guard/denied.h"

#include <stdlib.h>

#include "base/mem.h"
#include "base/vec.h"
#include "guard/permit.h"
#include "guard/permit_state.h"
#include "guard/rule.h"

struct denied {
    struct permit_state *state;
    enum denied_what what;
    VEC(const struct rule *) rules;
};

struct denied *denied_new(struct permit *p, enum denied_what what)
{
    struct denied *d = mem_zalloc(sizeof(*d));

    d->state = permit_state_ref(p);
    d->what = what;
    VEC_EACH(&d->state->rules, r) {
        if ((*r)->list == RULE_DENY && rule_is_about_paths((*r)->rule) &&
            rule_is_about_reading((*r)->rule) == (what == DENIED_READ))
            vec_push(&d->rules, (*r)->rule);
    }
    if (!d->rules.len)
        denied_freep(&d);
    return d;
}

void denied_free(struct denied *d)
{
    if (!d)
        return;
    vec_release(&d->rules);
    permit_state_unref(d->state);
    free(d);
}

void denied_freep(struct denied **d)
{
    denied_free(*d);
    *d = NULL;
}

bool denied_has(const struct denied *d, const char *path)
{
    for (size_t i = 0; d && i < d->rules.len; i++) {
        if (rule_matches_path(d->rules.ptr[i], str_of(path), d->what == DENIED_EDIT))
            return true;
    }
    return false;
}

static bool permit_denies_reading(void *arg, const char *path)
{
    CLEANUP(denied_freep) struct denied *d = denied_new(arg, DENIED_READ);

    return denied_has(d, path);
}

struct path_veto permit_reading_veto(struct permit *p)
{
    return (struct path_veto){.denies = permit_denies_reading, .arg = p};
}

size_t denied_count(const struct denied *d)
{
    return d->rules.len;
}

const struct rule *denied_rule(const struct denied *d, size_t i)
{
    return d->rules.ptr[i];
}

bool denied_is_same(const struct denied *a, const struct denied *b)
{
    if (!a || !b || a->rules.len != b->rules.len)
        return a == b;
    for (size_t i = 0; i < a->rules.len; i++) {
        if (a->rules.ptr[i] != b->rules.ptr[i])
            return false;
    }
    return true;
}
