/*
 * Settings that change during a session take effect before the next step or call.
 *
 * Looking costs one stat() per settings file, so it is done at each of these points instead of by a
 * thread that watches. Rules of permissions, working folders, hooks and the environment of children
 * are replaced, each in one step; everything else is read from the settings when it is needed. Some
 * settings are only read once: the model, effort, prompts, the sandbox, and which tools the model
 * knows (a tool that is denied later is refused when it is called). A file that cannot be used
 * changes nothing, and a notice reports it once. Any thread.
 *
 * While a goal runs nothing is replaced: an agent could write a file that sends the key elsewhere,
 * names another judge or allows itself more. Changes count when the goal has ended, and a notice
 * reports that once.
 */
#pragma once

#include <stdbool.h>

#include "base/str.h"

struct conf;
struct err;
struct hook_registry;
struct json;
struct strv;
struct permit;
struct reload;
struct workspace;

/* All lent, and alive until reload_free(). */
struct reload_spec {
    struct conf *conf;
    struct permit *permit;
    struct hook_registry *hooks;
    struct workspace *workspace;
    void (*warn)(void *arg, struct str text); /* a warning for the user */
    void *warn_arg;
    /* While it returns true, no settings file changes anything: a goal runs by the settings it
     * began with. */
    bool (*is_frozen)(void *arg);
    void *frozen_arg;
};

struct reload *reload_new(const struct reload_spec *spec);
void reload_free(struct reload *r); /* NULL is fine */

/* fn is called at the end of each look, one at a time. Once, before the first look; released with
 * the reload. */
void reload_also(struct reload *r, void (*fn)(void *arg), void *arg, void (*release)(void *arg));
/* Returns when what the files say counts. */
void reload_look(struct reload *r);
/* A client's settings (conf_lay_over()): they count when it returns. ERR_BUSY: a goal runs, and a
 * settings file has changed since it began. */
int reload_lay_over(struct reload *r, const struct json *settings, struct err *err);
/* What a program that embeds us forbids (conf_set_policy()); counts when it returns. */
int reload_set_policy(struct reload *r, const struct json *settings, struct strv *ret_dropped,
                      struct err *err);
/* Which plugins count is looked at anew, with the settings. ERR_BUSY: a goal runs. */
int reload_plugins(struct reload *r, struct err *err);
/* The user has trusted the folder: its ignored settings count from here on. */
void reload_trust(struct reload *r);
