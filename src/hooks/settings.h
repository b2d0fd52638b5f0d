/*
 * Hooks of the settings: read from the snapshot into the registry, or listed for a person.
 *
 *   "hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "…"}]}]}
 *
 * Nothing here is fatal: what cannot be used is left out, and a warning with its place says so.
 */
#pragma once

#include "base/arena.h"
#include "base/vec.h"
#include "hooks/registry.h"

struct conf;
struct hook_registry;
struct strv;

/* What disableAllHooks and allowManagedHooksOnly leave. */
enum hook_limit settings_limit(const struct conf *conf);
void settings_read(const struct conf *conf, struct hook_registry *r, struct strv *ret_warnings);

/* Every handler as it stands in a file, and what becomes of it. */
struct settings_row {
    struct str event, matcher, type; /* as they are written */
    struct str what;                 /* the command, the URL, the prompt; one line */
    struct str origin;               /* "file:line:column" */
    bool is_managed;
    struct str why_not; /* empty: it runs */
};
struct settings_rows {
    VEC(struct settings_row) list;
    struct arena arena;
};
void settings_list(const struct conf *conf, struct settings_rows *ret);
void settings_rows_release(struct settings_rows *rows);
