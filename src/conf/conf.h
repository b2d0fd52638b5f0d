/*
 * Settings: reads and merges all levels into an immutable snapshot.
 *
 * Levels, later ones take precedence: defaults, user, project, local, --settings, variables
 * (TENAX_MODEL and such), options, the session's client (conf_lay_over()), managed. At each level
 * Claude's home is read first, then ours (~/.claude or CLAUDE_CONFIG_DIR, then $TENAX_HOME or
 * ~/.tenax; .claude/ then .tenax/; /etc/claude-code then /etc/tenax). Scalars: the highest level
 * wins; objects are merged by key; lists are joined without duplicates, except fallbackModel.
 * `claudeCompat: false` omits Claude's homes; its managed settings, which bind the user, only if
 * our own managed settings say so. tenax writes only to its own home.
 *
 * conf_refresh() replaces the snapshot in one step when files have changed. Threads may share a
 * struct conf: each lookup uses one snapshot, and values remain valid until the last reference is
 * dropped.
 *
 * A problem is either an error (a file that cannot be parsed or read: file:line:column) or a
 * warning (a known key with the wrong type; an unknown key in our own files, with the nearest known
 * one; a key that is not used yet), and is never ignored silently. The keys are in keys.def.
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
    char *const *environ;    /* NULL-terminated "NAME=value"; must stay valid as long as the conf */
    const struct args *args; /* flags; or NULL */
    const char *etc;         /* folder of managed settings; NULL = "/etc" */
    struct str over;         /* a client's settings; set by conf_lay_over() */
    struct str policy;       /* what a client forbids; set by conf_set_policy() */
    /* Files that the user agreed to skip as long as they are unusable; may be NULL. Managed ones
     * and those named by options are never skipped. */
    const struct strv *without;
    struct strv *ret_broken; /* gets the path of such a file if conf_load() fails because of it; may
                                be NULL */
    bool trusted; /* false: potentially harmful settings of project files are dropped, with a
                     warning */
};

/* ERR_BAD_INPUT or ERR_TOO_BIG: a file is unusable; headless runs refuse to start (exit 2),
 * interactive ones ask. */
int conf_load(const struct conf_sources *from, struct conf **ret, struct err *err);
struct conf *conf_ref(const struct conf *c); /* shares the snapshot */
void conf_unref(struct conf *c);
void conf_unrefp(struct conf **c);

#define CONF_MAX_REFRESHES 1000 /* older snapshots are kept */

/* Checks the files (one stat() each, some microseconds) and reads them again if one has changed. 1:
 * settings have changed, with new warnings; 0: no change; -1: a file has become unusable; the old
 * values stay, and it is not checked again until it changes (or once more, if it is very recent).
 * One thread at a time. */
int conf_refresh(struct conf *c, struct strv *ret_notes, struct err *err);
/* 1 if a refresh would change something; changes nothing. Restrictions as for conf_refresh(). */
int conf_would_change(struct conf *c, struct err *err);
/* All files that settings may be in, existing or not. Not during a refresh. */
void conf_paths(const struct conf *c, struct strv *ret);
/* Each listener may block a changed file from taking effect until it changes again:
 * "user_settings", "project_settings", "local_settings", "policy_settings" (which cannot be
 * blocked). Called on the thread of conf_refresh(), for which conf_unlisten() waits. */
typedef bool (*conf_change_fn)(void *arg, const char *source, const char *path);
void conf_listen(struct conf *c, conf_change_fn fn, void *arg);
void conf_unlisten(struct conf *c, conf_change_fn fn, void *arg); /* of an unknown one is fine */
/* Increases with each change by any thread. Any thread. */
unsigned conf_version(const struct conf *c);
/* The user has trusted the folder: all of its settings apply from the next refresh. Restrictions as
 * for conf_refresh(). */
void conf_trust(struct conf *c);
/* Entries of the repository's settings that determine where a key is sent and are dropped because
 * the user has not approved them, as "<digest> <where and what>". */
const struct strv *conf_unapproved(const struct conf *c);
/* The user has approved these, by digest (the rest is ignored): they apply from the next refresh.
 * Restrictions as for conf_refresh(). */
void conf_approve(struct conf *c, const struct strv *digests);
/* Sets settings that override all but the managed ones, from the next refresh: an object whose
 * members replace those set here before; null removes one. ERR_BAD_INPUT: something in it would be
 * dropped; ERR_TOO_BIG; then nothing has changed. Restrictions as for conf_refresh(). */
int conf_lay_over(struct conf *c, const struct json *settings, struct err *err);
/* Sets what a program that embeds tenax forbids (conf/policy.h), at the managed level, from the
 * next refresh. Replaces --managed-settings. Otherwise like conf_lay_over(). */
int conf_set_policy(struct conf *c, const struct json *settings, struct strv *ret_dropped,
                    struct err *err);
bool conf_is_trusted(const struct conf *c);
/* Whether a file was skipped (conf_sources.without): what it would have forbidden is unknown. */
bool conf_lacks_file(const struct conf *c);
/* Whether any of the project's settings is dropped because the folder is not trusted. */
bool conf_lacks_trust(const struct conf *c);

const struct strv *conf_warnings(const struct conf *c); /* one line each, with file:line:column */
const struct strv *conf_files(const struct conf *c);    /* the files that were read, lowest first */

/* The merged value at a dotted key ("permissions.defaultMode"), or NULL. */
const struct json *conf_get(const struct conf *c, const char *key);
struct str conf_get_str(const struct conf *c, const char *key); /* empty when absent */
bool conf_get_bool(const struct conf *c, const char *key, bool otherwise);
int64_t conf_get_i64(const struct conf *c, const char *key, int64_t otherwise);

/* The source of the effective value: "~/.tenax/settings.json:3:12", "--model", "$TENAX_MODEL",
 * "default". List elements have their own: "permissions.allow.0". */
struct str conf_origin(const struct conf *c, const char *key);

/* Whether it is from the managed level, which lower levels cannot override. */
bool conf_is_managed(const struct conf *c, const char *key);
/* Whether it is from a file of Claude's, which may have keys that tenax does not use. */
bool conf_is_claudes(const struct conf *c, const char *key);
/* Whether it is from the project's settings, which others write. */
bool conf_is_project(const struct conf *c, const char *key);

/* The values of an option, even if it sets no key; NULL if it was not given. */
const struct strv *conf_option(const struct conf *c, enum option_id id);

/* The environment, overridden by the settings' `env`. NULL if unset. */
const char *conf_env(const struct conf *c, const char *name);
char *const *conf_environ(const struct conf *c);

const char *conf_home(const struct conf *c); /* $TENAX_HOME, absolute; may not exist yet */
/* $HOME, or from the password file; and CLAUDE_CONFIG_DIR or ~/.claude. As at process start: the
 * settings' `env` does not change them. */
const char *conf_user_home(const struct conf *c);
const char *conf_claude_home(const struct conf *c);
const char *conf_dir(const struct conf *c);
const char *conf_etc(const struct conf *c);                   /* where managed things are */
struct plugin_cache *conf_plugin_cache(const struct conf *c); /* for conf/plugins.c */
