/*
 * The registry: which handlers a session has, for which events, and who brought them.
 *
 * An entry is an event, a matcher and its handlers. Entries of settings stand as written; those
 * added at run time are found again by (event, matcher, skill root), so that a second handler for
 * the same place joins the first. Removing a handler removes only that one: setting or clearing a
 * goal never touches other Stop hooks.
 *
 * The registered hooks are a value that is replaced as a whole: hook_registry_get() returns the
 * current one, which never changes for its holder. Any thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "agent/hook.h"
#include "base/arena.h"
#include "base/vec.h"
#include "hooks/handler.h"

struct hook_registry;

#define REGISTRY_MAX_HANDLERS 512

enum hook_source {
    HOOK_SESSION,  /* added at run time, by tenax or by a skill (skill_root) */
    HOOK_SETTINGS, /* files and options */
    HOOK_MANAGED,  /* settings of the machine's administrator */
};

/* Who may run at all. */
enum hook_limit {
    HOOK_LIMIT_NONE,
    HOOK_LIMIT_MANAGED,  /* allowManagedHooksOnly: managed ones, and an SDK's */
    HOOK_LIMIT_DISABLED, /* disableAllHooks: managed ones */
};

struct hook_entry {
    enum hook_event event;
    enum hook_source source;
    const char *matcher;    /* "": everything */
    const char *skill_root; /* NULL: no skill brought it */
    VEC(struct hook_handler *) handlers;
};

/* The hooks registered at one moment. */
struct hook_set {
    VEC(struct hook_entry) entries;
    enum hook_limit limit;
    struct arena arena;
};

struct hook_registry *hook_registry_new(enum hook_limit limit);
void hook_registry_free(struct hook_registry *r); /* NULL is fine */
enum hook_limit hook_registry_limit(struct hook_registry *r);

/* matcher and skill_root are copied, the handler is shared. A function with the id of one that
 * stands in the same place takes its place. ERR_TOO_BIG. */
int hook_registry_add(struct hook_registry *r, const struct hook_entry *where,
                      struct hook_handler *h, struct err *err);
/* By identity; false: it is not there (any more). */
bool hook_registry_remove(struct hook_registry *r, enum hook_event event, struct hook_handler *h);
/* All that a skill brought. How many handlers went. */
size_t hook_registry_remove_skill(struct hook_registry *r, const char *skill_root);
/* A skill is called: what `fresh` holds takes the place of what it brought before, in one step.
 * ERR_TOO_BIG: all stays. */
int hook_registry_renew_skill(struct hook_registry *r, const char *skill_root,
                              struct hook_registry *fresh, struct err *err);
bool hook_registry_has_type(struct hook_registry *r, enum handler_type type);
bool hook_registry_has(struct hook_registry *r, enum hook_event event,
                       const struct hook_handler *h);

/* The settings have changed: `fresh` replaces all hooks from settings, and its limit counts from
 * here on, in one step. Hooks added at run time stay. */
void hook_registry_renew(struct hook_registry *r, struct hook_registry *fresh);

/* Yours: hook_set_unref(). */
const struct hook_set *hook_registry_get(struct hook_registry *r);
void hook_set_unref(const struct hook_set *s); /* NULL is fine */
void hook_set_unrefp(const struct hook_set **s);
/* The entry's handlers run at this event, for what the matcher looks at. */
bool hook_entry_matches(const struct hook_set *s, const struct hook_entry *e, enum hook_event event,
                        struct str subject);
