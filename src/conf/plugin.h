/*
 * Plugins: folders that bring commands, skills, agents, output styles, hooks, MCP servers and
 * programs.
 *
 * Which ones count is read once and stays as it is until plugins_reload(): those of --plugin-dir
 * (NAME@inline), then those that `enabledPlugins` names and that the user has installed, with
 * tenax ($TENAX_HOME/plugins/installed.json) or with Claude Code. Installing is the approval:
 * settings of a project can turn on only what this user has installed, and only in a trusted
 * folder. What cannot be used is named in problems and costs the other parts nothing.
 *
 * A list never changes and lives as long as its conf, so its strings may be lent. Any thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/sha256.h"
#include "base/str.h"
#include "base/strv.h"
#include "base/vec.h"
#include "sync/thread.h"

struct buf;
struct conf;
struct err;
struct json;
struct jw;

#define PLUGIN_MAX 200
#define PLUGIN_MAX_JSON ((size_t)1 << 20) /* of a manifest, of its hooks, of its servers */
#define PLUGIN_MAX_NAME 64
#define PLUGIN_MAX_PATHS 100 /* that a manifest adds to one part */

enum plugin_part {
    PLUGIN_COMMANDS,
    PLUGIN_SKILLS,
    PLUGIN_AGENTS,
    PLUGIN_STYLES,
    PLUGIN_PARTS,
};
const char *plugin_part_folder(enum plugin_part part); /* "output-styles" */

/* An object of the plugin, and where it is written. */
struct plugin_json {
    const char *file;
    const struct json *value;
};

typedef VEC(struct plugin_json) plugin_json_vec;

struct plugin {
    const char *id; /* "demo@market" */
    const char *name, *market;
    const char *root; /* links followed */
    const char *data; /* where it keeps its own data */
    const char *version, *description;
    struct strv paths[PLUGIN_PARTS]; /* folders and files, all below root */
    plugin_json_vec hooks;           /* {"Stop": […]} */
    plugin_json_vec servers;         /* {"name": entry} */
    struct strv config;              /* "KEY=value" of its userConfig */
    const struct json *options;      /* userConfig of the manifest; NULL: none */
    const char *bin;                 /* programs for Bash; NULL: none */
    struct strv unused;              /* parts that tenax does not know */
    int held;                        /* a lock that keeps its version; -1: none */
};

struct plugin_problem {
    const char *id, *text;
};

struct plugins {
    struct plugins *older;
    struct arena arena;
    VEC(struct plugin *) list; /* by id */
    VEC(struct plugin_problem) problems;
};

/* A member of struct conf. */
struct plugin_cache {
    struct lock lock;
    struct strv brought, brought_without_mcp;
    struct plugins *now; /* NULL: not read yet */
};
void plugin_cache_init(struct plugin_cache *c);
void plugin_cache_release(struct plugin_cache *c);

/* Folders that a client brings, as --plugin-dir does, from the next plugins_reload() on. */
void plugins_bring(const struct conf *conf, const struct strv *dirs,
                   const struct strv *without_mcp);
const struct plugins *plugins_get(const struct conf *conf);
/* Reads again; the older list stays valid. */
const struct plugins *plugins_reload(const struct conf *conf);
const struct plugin *plugins_find(const struct plugins *l, struct str id); /* or NULL */

/* Letters, digits, - and _, beginning with a letter or digit; no name of our own. */
bool plugin_name_is_fine(struct str name);
/* "demo@market" in two; false: it is no id. */
bool plugin_id_split(struct str id, struct str *ret_name, struct str *ret_market);

/* A plugin's folder, as it would be loaded. Problems are added for the parts that cannot be used;
 * NULL: nothing can, which is the last problem. market: as in its id. fallback: its name when the
 * manifest gives none; empty: the folder's. */
struct plugin *plugin_read(struct plugins *l, const char *root, struct str fallback,
                           struct str market);
void plugin_drop(struct plugin *p); /* one that no list has */
/* New: for plugin_read() alone. */
struct plugins *plugins_new(void);
void plugins_free(struct plugins *l); /* with the older ones; NULL is fine */
void plugins_freep(struct plugins **l);

/* What an approval is of: the hooks and servers, as they are written. */
void plugin_digest(const struct plugin *p, char ret[SHA256_HEX + 1]);

/* Fills in ${CLAUDE_PLUGIN_ROOT}, ${CLAUDE_PLUGIN_DATA} and ${user_config.KEY} at the start of
 * text: the value, and how many bytes they take; NULL: none of them is there. */
const char *plugin_variable(const struct plugin *p, struct str text, size_t *ret_len);

/* [{"name","path","source",…}], and [{"plugin","message"}]. */
void plugins_write(const struct plugins *l, struct jw *w);
void plugins_write_problems(const struct plugins *l, struct jw *w);

/* conf_environ() with the programs of plugins at the end of PATH. */
void plugins_environ(const struct conf *conf, struct strv *ret);

/* Files of $TENAX_HOME/plugins: installed.json, marketplaces.json, config.json. */
char *plugin_home(const struct conf *conf, const char *name); /* yours */
/* Its object; an empty one when there is no file. NULL: it cannot be used. */
const struct json *plugin_state(const struct conf *conf, const char *name, struct arena *arena,
                                struct err *err);
/* {"source":"github","repo":…} as one line to compare and show: "https://github.com/a/b.git",
 * "/path"; with "#ref". Empty: it makes no sense. */
void plugin_source_text(const struct json *source, struct buf *ret);
/* strictKnownMarketplaces and blockedMarketplaces. ERR_DENIED. */
int plugin_source_allowed(const struct conf *conf, struct str source, struct err *err);
