/*
 * reload: one thread at a time checks and replaces; others wait for it, so that none continues with
 * outdated rules. Any thread.
 */
#include "host/reload.h"

#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/strv.h"
#include "conf/conf.h"
#include "conf/plugin.h"
#include "guard/permit.h"
#include "guard/workspace.h"
#include "hooks/registry.h"
#include "hooks/settings.h"
#include "sync/thread.h"

struct reload {
    struct reload_spec spec;
    struct gate gate; /* guards busy */
    bool busy;
    void (*also)(void *arg); /* may be NULL */
    void *also_arg;
    void (*also_release)(void *arg);
    unsigned version;  /* of the settings in effect */
    bool is_kept_back; /* a change waits for the end of a goal, and was reported */
    char said[sizeof(((struct err *)NULL)->text)]; /* the last error, to report it only once */
};

struct reload *reload_new(const struct reload_spec *spec)
{
    struct reload *r = mem_zalloc(sizeof(*r));

    r->spec = *spec;
    r->version = conf_version(spec->conf);
    gate_init(&r->gate);
    return r;
}

void reload_free(struct reload *r)
{
    if (!r)
        return;
    if (r->also)
        r->also_release(r->also_arg);
    gate_release(&r->gate);
    mem_freep(&r);
}

void reload_also(struct reload *r, void (*fn)(void *arg), void *arg, void (*release)(void *arg))
{
    r->also = fn;
    r->also_arg = arg;
    r->also_release = release;
}

static void reload_begin(struct reload *r)
{
    gate_take(&r->gate);
    while (r->busy)
        gate_wait(&r->gate, /*deadline_ms=*/-1);
    r->busy = true;
    gate_give(&r->gate);
}

static void reload_end(struct reload *r)
{
    gate_take(&r->gate);
    r->busy = false;
    gate_wake(&r->gate);
    gate_give(&r->gate);
}

static void reload_hooks(struct reload *r, struct strv *ret_notes)
{
    struct hook_registry *fresh = hook_registry_new(settings_limit(r->spec.conf));

    settings_read(r->spec.conf, fresh, ret_notes);
    hook_registry_renew(r->spec.hooks, fresh);
    hook_registry_free(fresh);
}

/* Applies the settings to everything that has a copy of them. */
static void reload_apply(struct reload *r, struct strv *ret_notes)
{
    CLEANUP(strv_release) struct strv env = STRV_INIT;

    plugins_environ(r->spec.conf, &env);
    workspace_set_environ(r->spec.workspace, strv_get(&env));
    permit_reload(r->spec.permit, r->spec.conf, ret_notes);
    reload_hooks(r, ret_notes);
    log_debug("host", "settings have changed");
}

/* Between reload_begin() and reload_end(). */
static void reload_refresh(struct reload *r)
{
    CLEANUP(strv_release) struct strv notes = STRV_INIT;
    struct err err = {0};
    int changed = conf_refresh(r->spec.conf, &notes, &err);

    if (changed >= 0 &&
        conf_version(r->spec.conf) != r->version) { /* possibly changed by another session */
        r->version = conf_version(r->spec.conf);
        reload_apply(r, &notes);
        r->said[0] = '\0';
    }
    if (changed < 0 && strcmp(r->said, err.text) != 0) {
        snprintf(r->said, sizeof(r->said), "%s", err.text);
        strv_addf(&notes, "%s; the settings that were read before stay in force", err.text);
    }
    for (size_t i = 0; i < notes.len; i++)
        r->spec.warn(r->spec.warn_arg, str_of(notes.ptr[i]));
}

static bool reload_is_frozen(struct reload *r)
{
    return r->spec.is_frozen && r->spec.is_frozen(r->spec.frozen_arg);
}

/* A goal runs: reports once that settings have changed. */
static void reload_keep_back(struct reload *r)
{
    struct err err = {0};

    if (r->is_kept_back || conf_would_change(r->spec.conf, &err) <= 0)
        return;
    r->is_kept_back = true;
    r->spec.warn(r->spec.warn_arg,
                 STR("settings changed while the goal runs; they apply when it has ended"));
}

void reload_look(struct reload *r)
{
    reload_begin(r);
    if (reload_is_frozen(r)) {
        reload_keep_back(r);
    } else {
        r->is_kept_back = false;
        reload_refresh(r);
    }
    if (r->also)
        r->also(r->also_arg);
    reload_end(r);
}

int reload_lay_over(struct reload *r, const struct json *settings, struct err *err)
{
    int rc;

    reload_begin(r);
    rc = reload_is_frozen(r) ? conf_would_change(r->spec.conf, err) : 0;
    if (rc > 0)
        rc = err_set(err, ERR_BUSY,
                     "a settings file changed while the goal runs, so settings cannot be changed "
                     "before it has ended");
    if (rc == 0)
        rc = conf_lay_over(r->spec.conf, settings, err);
    if (rc == 0)
        reload_refresh(r);
    reload_end(r);
    return rc;
}

int reload_set_policy(struct reload *r, const struct json *settings, struct strv *ret_dropped,
                      struct err *err)
{
    int rc;

    reload_begin(r);
    rc = conf_set_policy(r->spec.conf, settings, ret_dropped, err);
    if (rc == 0)
        reload_refresh(r);
    reload_end(r);
    return rc;
}

int reload_plugins(struct reload *r, struct err *err)
{
    CLEANUP(strv_release) struct strv notes = STRV_INIT;
    int rc = 0;

    reload_begin(r);
    if (reload_is_frozen(r)) {
        rc = err_set(err, ERR_BUSY, "plugins cannot be changed while a goal runs");
    } else {
        reload_refresh(r);
        (void)plugins_reload(r->spec.conf);
        reload_apply(r, &notes);
        for (size_t i = 0; i < notes.len; i++)
            r->spec.warn(r->spec.warn_arg, str_of(notes.ptr[i]));
    }
    reload_end(r);
    return rc;
}

void reload_trust(struct reload *r)
{
    reload_begin(r);
    conf_trust(r->spec.conf);
    reload_refresh(r);
    reload_end(r);
}
