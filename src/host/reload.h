/*
 * Applies changed settings before the next step or call.
 *
 * A check costs one stat() per settings file, so it is done at each of these points instead of by a
 * watching thread. Permission rules, working directories, hooks and the environment of children are
 * replaced, each in one step; everything else is read from the settings when needed. Some settings
 * are read only once: the model, effort, prompts, the sandbox, and which tools the model knows (a
 * tool that is denied later is refused when called). An invalid file changes nothing and is
 * reported once. Any thread.
 *
 * Nothing is replaced while a goal runs: an agent could write a file that sends the key elsewhere,
 * names another judge or grants itself more. Changes take effect when the goal has ended, and a
 * notice reports that once.
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

/* All pointers must stay valid until reload_free(). */
struct reload_spec {
    struct conf *conf;
    struct permit *permit;
    struct hook_registry *hooks;
    struct workspace *workspace;
    void (*warn)(void *arg, struct str text); /* a warning for the user */
    void *warn_arg;
    /* While it returns true, no settings file changes anything: a goal runs with the settings that
     * it started with. */
    bool (*is_frozen)(void *arg);
    void *frozen_arg;
};

struct reload *reload_new(const struct reload_spec *spec);
void reload_free(struct reload *r); /* NULL is fine */

/* fn is called at the end of each check, one at a time. Set it once, before the first check;
 * released with the reload. */
void reload_also(struct reload *r, void (*fn)(void *arg), void *arg, void (*release)(void *arg));
/* Returns after changes have been applied. */
void reload_look(struct reload *r);
/* Sets a client's settings (conf_lay_over()). ERR_BUSY: a goal runs, and a settings file has
 * changed since it began. */
int reload_lay_over(struct reload *r, const struct json *settings, struct err *err);
/* Sets what an embedding program forbids (conf_set_policy()). */
int reload_set_policy(struct reload *r, const struct json *settings, struct strv *ret_dropped,
                      struct err *err);
/* Reloads plugins together with the settings. ERR_BUSY: a goal runs. */
int reload_plugins(struct reload *r, struct err *err);
/* The user has trusted the folder: settings that were ignored take effect. */
void reload_trust(struct reload *r);
