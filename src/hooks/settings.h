/*
 * Hooks in settings: loads them into the registry, or lists them for the user.
 *
 *   "hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "…"}]}]}
 *
 * Hooks of plugins (conf/plugin.h) are loaded with them. No error is fatal: invalid hooks are
 * skipped with a warning that names the place.
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

/* The limit set by disableAllHooks and allowManagedHooksOnly. */
enum hook_limit settings_limit(const struct conf *conf);
void settings_read(const struct conf *conf, struct hook_registry *r, struct strv *ret_warnings);

/* Loads the hooks in a skill's frontmatter (key `hooks`), replacing those that the skill had, until
 * it is removed or the session ends. ERR_TOO_BIG. */
struct skill_hooks {
    const struct json *hooks;
    const char *root;            /* identifies the skill */
    const char *file;            /* the file that has them */
    const struct plugin *plugin; /* the skill's plugin, or NULL */
};
int settings_read_skill(const struct conf *conf, const struct skill_hooks *skill,
                        struct hook_registry *r, struct strv *ret_warnings, struct err *err);

/* A handler as written in a file, and whether it runs. */
struct settings_row {
    struct str event, matcher, type; /* as written */
    struct str what;                 /* the command, the URL, the prompt; one line */
    struct str origin;               /* "file:line:column" */
    bool is_managed;
    struct str why_not; /* why it does not run; empty = it runs */
};
struct settings_rows {
    VEC(struct settings_row) list;
    struct arena arena;
};
void settings_list(const struct conf *conf, struct settings_rows *ret);
/* Adds a row like `like` for one handler, with its text and the reason if the limit keeps it from
 * running. */
void settings_rows_add(struct settings_rows *rows, const struct settings_row *like,
                       const struct json *handler, enum hook_limit limit);
void settings_rows_release(struct settings_rows *rows);
