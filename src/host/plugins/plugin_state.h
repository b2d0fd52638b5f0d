/*
 * The stored state of plugins and marketplaces, and its changes; for host/plugin*.c.
 */
#pragma once

#include "base/arena.h"
#include "base/str.h"
#include "base/strv.h"
#include "host/plugins/plugins.h"

struct json;

/* One plugin of installed.json; slices are in an arena. */
struct plugin_record {
    struct str kind; /* "path", "git", "market" */
    struct str path; /* its folder */
    struct str from; /* the marketplace's source, or its own: what policies look at */
    struct str url, ref, commit;
    struct str hash; /* of its content */
    struct str version;
    struct str approved; /* plugin_digest() */
    struct str surface;  /* plugin_surface_digest() */
    struct str when;
    struct strv scopes; /* "user", "project:/dir", "local:/dir" */
};

/* 1, or 0 when there is none. */
int record_find(const struct conf *conf, struct arena *arena, struct str id,
                struct plugin_record *ret, struct err *err);
/* The same, but without one it is ERR_NOT_FOUND. */
int record_need(const struct conf *conf, struct arena *arena, struct str id,
                struct plugin_record *ret, struct err *err);
int record_save(const struct conf *conf, struct str id, const struct plugin_record *r,
                struct err *err);
int record_remove(const struct conf *conf, struct str id, struct err *err);
int config_save(const struct conf *conf, struct str id, const struct strv *pairs, struct err *err);
int config_remove(const struct conf *conf, struct str id, struct err *err);
/* A value of one of our files: JSON that replaces the old value. */
int state_put(const char *path, const char *key, struct str value, struct err *err);
/* Installed with tenax or Claude Code, or one of --plugin-dir. */
bool plugin_is_known(const struct conf *conf, struct str id);

/* Where settings say whether it is used: the strongest scope that does; ANY: none. */
enum plugin_scope scope_of(const struct conf *conf, struct str id);
enum plugin_scope scope_of_note(const char *note);
int scope_enable(const struct conf *conf, enum plugin_scope scope, struct str id, bool on,
                 struct strv *ret_warnings, struct err *err);
int scope_remove(const struct conf *conf, enum plugin_scope scope, struct str id, struct err *err);
void scope_note(const struct conf *conf, enum plugin_scope scope, struct strv *io_notes);
void scope_forget(const struct conf *conf, enum plugin_scope scope, struct strv *io_notes);

/* The only process that changes things; *ret_tmp: an empty folder to make them in. -1: another one
 * does and does not stop, or an error. The lock goes with the descriptor. */
int state_lock(const struct plugin_job *job, struct arena *arena, const char **ret_tmp,
               struct err *err);
/* Takes away what no record names and no process uses. With the lock. */
void state_clean(const struct conf *conf);

struct market {
    const char *root;
    struct str source; /* plugin_source_text() */
    const struct json *manifest;
};
/* A marketplace that is known. */
int market_find(const struct plugin_job *job, struct arena *arena, struct str name,
                struct market *ret, struct err *err);
const struct json *market_entry(const struct market *m, struct str plugin);
/* One that settings name (extraKnownMarketplaces) becomes known; else nothing happens. */
int market_bring(const struct plugin_job *job, struct arena *arena, struct str name,
                 const char *tmp, struct err *err);
/* Fetched anew when it comes from a repository. */
int market_refresh(const struct plugin_job *job, struct str name, const char *tmp, struct err *err);
/* A path that a marketplace names, below root; NULL: it leads out, or there is nothing. */
const char *market_path(struct arena *arena, const char *root, struct str path, struct err *err);
/* The problems of a marketplace's folder, a line each. */
int market_validate(const char *path, struct strv *ret_problems, struct err *err);
bool market_is_path(struct str source); /* "/x", "./x", "~/x", "." */
