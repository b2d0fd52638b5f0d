/*
 * Plugins: folders with commands, skills, agents, output styles, hooks, MCP servers and programs.
 *
 * The list of enabled plugins is read once and stays the same until plugins_reload(): those of
 * --plugin-dir (NAME@inline), then those that `enabledPlugins` names and the user has installed,
 * with tenax ($TENAX_HOME/plugins/installed.json) or Claude Code. Installing is the approval:
 * settings of a project can enable only what this user has installed, and only in a trusted folder.
 * Unusable parts are reported in problems and do not affect others.
 *
 * A list is immutable and exists as long as its conf, so its strings may be lent. Any thread.
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
#define PLUGIN_MAX_JSON ((size_t)1 << 20) /* of a manifest, its hooks, or its servers */
#define PLUGIN_MAX_NAME 64
#define PLUGIN_MAX_PATHS 100 /* added to one part by a manifest */

enum plugin_part {
    PLUGIN_COMMANDS,
    PLUGIN_SKILLS,
    PLUGIN_AGENTS,
    PLUGIN_STYLES,
    PLUGIN_PARTS,
};
const char *plugin_part_folder(enum plugin_part part); /* "output-styles" */

/* An object of the plugin, and the file that has it. */
struct plugin_json {
    const char *file;
    const struct json *value;
};

typedef VEC(struct plugin_json) plugin_json_vec;

struct plugin {
    const char *id; /* "demo@market" */
    const char *name, *market;
    const char *root; /* links resolved */
    const char *data; /* folder for its own data */
    const char *version, *description;
    struct strv paths[PLUGIN_PARTS]; /* folders and files, all below root */
    plugin_json_vec hooks;           /* {"Stop": […]} */
    plugin_json_vec servers;         /* {"name": entry} */
    struct strv config;              /* "KEY=value" of its userConfig */
    const struct json *options;      /* userConfig of the manifest; or NULL */
    const char *bin;                 /* programs for Bash; or NULL */
    struct strv unused;              /* parts unknown to tenax */
    int held;                        /* a lock that protects its version; -1 = none */
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
/* Reads again; the old list remains valid. */
const struct plugins *plugins_reload(const struct conf *conf);
const struct plugin *plugins_find(const struct plugins *l, struct str id); /* or NULL */

/* Letters, digits, - and _, beginning with a letter or digit; not one of our own names. */
bool plugin_name_is_fine(struct str name);
/* Splits "demo@market"; false if it is not an id. */
bool plugin_id_split(struct str id, struct str *ret_name, struct str *ret_market);

/* Loads a plugin's folder. Problems are added for unusable parts; NULL if nothing is usable, with
 * the reason as the last problem. market: as in its id. fallback: its name if the manifest has
 * none; empty = the folder's name. */
struct plugin *plugin_read(struct plugins *l, const char *root, struct str fallback,
                           struct str market);
void plugin_drop(struct plugin *p); /* one that is in no list */
/* An empty list for plugin_read(). */
struct plugins *plugins_new(void);
void plugins_free(struct plugins *l); /* including older ones; NULL is fine */
void plugins_freep(struct plugins **l);

/* A digest of what an approval covers: the hooks and servers as written. */
void plugin_digest(const struct plugin *p, char ret[SHA256_HEX + 1]);

/* Expands ${CLAUDE_PLUGIN_ROOT}, ${CLAUDE_PLUGIN_DATA} or ${user_config.KEY} at the start of text:
 * returns the value and the number of bytes it replaces; NULL if there is none. */
const char *plugin_variable(const struct plugin *p, struct str text, size_t *ret_len);

/* [{"name","path","source",…}], and [{"plugin","message"}]. */
void plugins_write(const struct plugins *l, struct jw *w);
void plugins_write_problems(const struct plugins *l, struct jw *w);

/* conf_environ() with the programs of plugins at the end of PATH. */
void plugins_environ(const struct conf *conf, struct strv *ret);

/* Files of $TENAX_HOME/plugins: installed.json, marketplaces.json, config.json. */
char *plugin_home(const struct conf *conf, const char *name); /* yours */
/* The object in that file; an empty one if there is no file. NULL if it is invalid. */
const struct json *plugin_state(const struct conf *conf, const char *name, struct arena *arena,
                                struct err *err);
/* Converts {"source":"github","repo":…} to one line to compare and show:
 * "https://github.com/a/b.git", "/path"; with "#ref". Empty if it is invalid. */
void plugin_source_text(const struct json *source, struct buf *ret);
/* strictKnownMarketplaces and blockedMarketplaces. ERR_DENIED. */
int plugin_source_allowed(const struct conf *conf, struct str source, struct err *err);
