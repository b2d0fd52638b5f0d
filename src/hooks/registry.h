/*
 * The registry: a session's handlers, their events and their origins.
 *
 * An entry is an event, a matcher and its handlers. Entries of settings are kept as written; those
 * added at run time are identified by (event, matcher, skill root), so that a second handler for
 * the same place joins the first. Removing a handler removes only that one: setting or clearing a
 * goal never affects other Stop hooks.
 *
 * The set of registered hooks is immutable and replaced as a whole: hook_registry_get() returns the
 * current one. Any thread.
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
    HOOK_MANAGED,  /* settings of the administrator */
};

/* Which handlers may run at all. */
enum hook_limit {
    HOOK_LIMIT_NONE,
    HOOK_LIMIT_MANAGED,  /* allowManagedHooksOnly: managed ones and those of an SDK */
    HOOK_LIMIT_DISABLED, /* disableAllHooks: only managed ones */
};

struct hook_entry {
    enum hook_event event;
    enum hook_source source;
    const char *matcher;    /* "" = everything */
    const char *skill_root; /* NULL = not from a skill */
    VEC(struct hook_handler *) handlers;
};

/* The hooks registered at some time. */
struct hook_set {
    VEC(struct hook_entry) entries;
    enum hook_limit limit;
    struct arena arena;
};

struct hook_registry *hook_registry_new(enum hook_limit limit);
void hook_registry_free(struct hook_registry *r); /* NULL is fine */
enum hook_limit hook_registry_limit(struct hook_registry *r);

/* Copies matcher and skill_root, shares the handler. A function replaces one with the same id in
 * the same place. ERR_TOO_BIG. */
int hook_registry_add(struct hook_registry *r, const struct hook_entry *where,
                      struct hook_handler *h, struct err *err);
/* Removes by identity; false if it is not registered (any more). */
bool hook_registry_remove(struct hook_registry *r, enum hook_event event, struct hook_handler *h);
/* Removes all hooks of a skill. Returns how many handlers. */
size_t hook_registry_remove_skill(struct hook_registry *r, const char *skill_root);
/* Called when a skill is called: `fresh` replaces its earlier hooks in one step. On ERR_TOO_BIG
 * nothing changes. */
int hook_registry_renew_skill(struct hook_registry *r, const char *skill_root,
                              struct hook_registry *fresh, struct err *err);
bool hook_registry_has_type(struct hook_registry *r, enum handler_type type);
bool hook_registry_has(struct hook_registry *r, enum hook_event event,
                       const struct hook_handler *h);

/* The settings have changed: `fresh` replaces all hooks from settings, including its limit, in one
 * step. Hooks added at run time stay. */
void hook_registry_renew(struct hook_registry *r, struct hook_registry *fresh);

/* The caller must hook_set_unref() it. */
const struct hook_set *hook_registry_get(struct hook_registry *r);
void hook_set_unref(const struct hook_set *s); /* NULL is fine */
void hook_set_unrefp(const struct hook_set **s);
/* Whether the entry's handlers run at this event for this subject of the matcher. */
bool hook_entry_matches(const struct hook_set *s, const struct hook_entry *e, enum hook_event event,
                        struct str subject);
