/*
 * identity: comparing and copying. Pure.
 */
#include "base/identity.h"

#include <string.h>

#include "base/arena.h"
#include "base/str.h"

bool identity_is_main(const struct identity *i)
{
    return !i->agent || strcmp(i->agent, IDENTITY_MAIN) == 0;
}

bool identity_is_same(const struct identity *a, const struct identity *b)
{
    return strcmp(a->agent, b->agent) == 0 && strcmp(a->session, b->session) == 0;
}

static const char *copy(struct arena *arena, const char *text)
{
    return text ? arena_cstr(arena, str_of(text)) : NULL;
}

struct identity identity_copy(struct arena *arena, const struct identity *i)
{
    return (struct identity){.session = copy(arena, i->session),
                             .agent = copy(arena, i->agent),
                             .type = copy(arena, i->type),
                             .parent = copy(arena, i->parent),
                             .task = copy(arena, i->task),
                             .member = copy(arena, i->member),
                             .depth = i->depth,
                             .in_background = i->in_background};
}
