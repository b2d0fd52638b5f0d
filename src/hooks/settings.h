/*
 * Hooks of the settings: read from the snapshot into the registry, or listed for the user.
 *
 *   "hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "…"}]}]}
 *
 * Those of plugins (conf/plugin.h) are read with them. Nothing here is fatal: unusable hooks are
 * skipped, with a warning that names the place.
 */
#pragma once

#include "base/arena.h"
#include "base/vec.h"
#include "hooks/registry.h"

struct conf;
struct err;
struct hook_registry;
struct json;
struct plugin;
struct strv;

/* What disableAllHooks and allowManagedHooksOnly leave. */
enum hook_limit settings_limit(const struct conf *conf);
void settings_read(const struct conf *conf, struct hook_registry *r, struct strv *ret_warnings);

/* Those of a skill's frontmatter: its key `hooks`. They take the place of what the skill has
 * brought before, and stay until it or the session goes. ERR_TOO_BIG. */
struct skill_hooks {
    const struct json *hooks;
    const char *root;            /* names the skill */
    const char *file;            /* where they stand */
    const struct plugin *plugin; /* that the skill is of; NULL: none */
};
int settings_read_skill(const struct conf *conf, const struct skill_hooks *skill,
                        struct hook_registry *r, struct strv *ret_warnings, struct err *err);

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
/* What one handler adds: like `like`, with its words, and why the limit keeps it from running. */
void settings_rows_add(struct settings_rows *rows, const struct settings_row *like,
                       const struct json *handler, enum hook_limit limit);
void settings_rows_release(struct settings_rows *rows);
