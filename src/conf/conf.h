/*
 * Settings: all levels read, merged, and frozen into a snapshot.
 *
 * Levels, later wins: defaults, user, project, local, --settings, variables (TENAX_MODEL and such),
 * options, the session's client (conf_lay_over()), managed. At each level Claude's home is read
 * first and ours over it (~/.claude or CLAUDE_CONFIG_DIR, then $TENAX_HOME or ~/.tenax; .claude/
 * then .tenax/; /etc/claude-code then /etc/tenax). Scalars: the highest level wins; objects merge
 * by key; lists are joined without duplicates, except fallbackModel. `claudeCompat: false` leaves
 * Claude's homes out; its managed settings, which bind the user, only when our own managed settings
 * say so. tenax writes only into its own home.
 *
 * A snapshot is immutable; conf_refresh() puts a newer one in its place when files have changed, in
 * one step. Threads share a struct conf freely: each question is answered from one snapshot, and
 * values stay valid until the last reference is gone.
 *
 * A problem is either an error (a file that does not parse or cannot be read: file:line:column) or
 * a warning (a known key with the wrong type, an unknown key in our own files, with the nearest
 * known one, a key that nothing uses yet), never silence. The keys are in keys.def.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"
#include "base/strv.h"
#include "conf/option.h"

struct conf;
struct err;
struct json;
struct plugin_cache;

struct conf_sources {
    const char *dir;         /* start directory, absolute */
    char *const *environ;    /* NULL-terminated "NAME=value"; lent as long as there is a conf */
    const struct args *args; /* flags; NULL: none */
    const char *etc;         /* where managed settings are; NULL: "/etc" */
    struct str over;         /* a client's settings; conf_lay_over() keeps them */
    struct str policy;       /* what a client forbids; conf_set_policy() keeps it */
    /* Files that the user agreed to skip as long as they cannot be used; NULL: none. Managed ones
     * and those that options name are never skipped. */
    const struct strv *without;
    struct strv *ret_broken; /* conf_load() fails because of such a file: its path; or NULL */
    bool trusted; /* false: settings of project files that could do harm are left out, with a
                     warning */
};

/* ERR_BAD_INPUT or ERR_TOO_BIG: a file that cannot be used; headless runs refuse to start (exit 2),
 * an interactive one asks. */
int conf_load(const struct conf_sources *from, struct conf **ret, struct err *err);
struct conf *conf_ref(const struct conf *c); /* the same snapshot, once more */
void conf_unref(struct conf *c);
void conf_unrefp(struct conf **c);

#define CONF_MAX_REFRESHES 1000 /* older snapshots are kept */

/* Looks at the files (a stat() each, some microseconds) and reads them again if one has changed: 1
 * when that made a difference, with warnings that are new; 0: as it was. -1: a file has become
 * unusable; the old values stay, and it is not checked again until it changes (or once more, if it
 * is very recent). One thread at a time. */
int conf_refresh(struct conf *c, struct strv *ret_notes, struct err *err);
/* 1: a refresh would change something; nothing is changed. As conf_refresh(). */
int conf_would_change(struct conf *c, struct err *err);
/* All files that settings may be in, existing or not. Not during a refresh. */
void conf_paths(const struct conf *c, struct strv *ret);
/* Before a changed file counts, each listener may keep it from doing so, until it changes again:
 * "user_settings", "project_settings", "local_settings", "policy_settings" (which cannot be
 * blocked). Asked on the thread of conf_refresh(), for which conf_unlisten() waits. */
typedef bool (*conf_change_fn)(void *arg, const char *source, const char *path);
void conf_listen(struct conf *c, conf_change_fn fn, void *arg);
void conf_unlisten(struct conf *c, conf_change_fn fn, void *arg); /* of an unknown one is fine */
/* Grows with each change, whichever thread has refreshed it. Any thread. */
unsigned conf_version(const struct conf *c);
/* The user has trusted the folder: with the next refresh all of its settings count. As
 * conf_refresh(). */
void conf_trust(struct conf *c);
/* Entries of the repository's settings that decide where a key goes and are left out because the
 * user has not approved them: "<digest> <where and what>" each. */
const struct strv *conf_unapproved(const struct conf *c);
/* The user has approved these, by digest (what follows it is ignored): with the next refresh they
 * count. As conf_refresh(). */
void conf_approve(struct conf *c, const struct strv *digests);
/* Over all others but the managed ones, with the next refresh: an object whose members take the
 * place of those that were given here before; null takes one away. ERR_BAD_INPUT: something in it
 * would be left out; ERR_TOO_BIG; then nothing has changed. As conf_refresh(). */
int conf_lay_over(struct conf *c, const struct json *settings, struct err *err);
/* At the managed level, with the next refresh: what a program that embeds tenax forbids
 * (conf/policy.h). It takes the place of --managed-settings. As conf_lay_over(). */
int conf_set_policy(struct conf *c, const struct json *settings, struct strv *ret_dropped,
                    struct err *err);
bool conf_is_trusted(const struct conf *c);
/* Some file was skipped (conf_sources.without): it is unknown what it would have forbidden. */
bool conf_lacks_file(const struct conf *c);
/* Something in the project's settings does not count because the folder is not trusted. */
bool conf_lacks_trust(const struct conf *c);

const struct strv *conf_warnings(const struct conf *c); /* one line each, with file:line:column */
const struct strv *conf_files(const struct conf *c);    /* the files that were read, lowest first */

/* The merged value at a dotted key ("permissions.defaultMode"), or NULL. */
const struct json *conf_get(const struct conf *c, const char *key);
struct str conf_get_str(const struct conf *c, const char *key); /* empty when absent */
bool conf_get_bool(const struct conf *c, const char *key, bool otherwise);
int64_t conf_get_i64(const struct conf *c, const char *key, int64_t otherwise);

/* Where the winning value came from: "~/.tenax/settings.json:3:12", "--model", "$TENAX_MODEL",
 * "default". Elements of lists have their own: "permissions.allow.0". */
struct str conf_origin(const struct conf *c, const char *key);

/* Whether it came from the managed level: lower levels cannot override it. */
bool conf_is_managed(const struct conf *c, const char *key);
/* Or from a file of Claude's, which may well hold what tenax has no use for. */
bool conf_is_claudes(const struct conf *c, const char *key);
/* Or from the project's settings, which others write. */
bool conf_is_project(const struct conf *c, const char *key);

/* What an option was given, also one that sets no key; NULL when it was not. */
const struct strv *conf_option(const struct conf *c, enum option_id id);

/* The environment with the settings' `env` over it. NULL when unset. */
const char *conf_env(const struct conf *c, const char *name);
char *const *conf_environ(const struct conf *c);

const char *conf_home(const struct conf *c); /* $TENAX_HOME, absolute; may not exist yet */
/* $HOME, or the password file's; and CLAUDE_CONFIG_DIR or ~/.claude. As the process was started: no
 * settings' `env` moves them. */
const char *conf_user_home(const struct conf *c);
const char *conf_claude_home(const struct conf *c);
const char *conf_dir(const struct conf *c);
const char *conf_etc(const struct conf *c);                   /* where managed things are */
struct plugin_cache *conf_plugin_cache(const struct conf *c); /* for conf/plugins.c */
