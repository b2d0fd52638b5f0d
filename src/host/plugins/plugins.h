/*
 * Installs, changes and lists plugins and marketplaces, for `tenax plugin` and /plugin.
 *
 *   $TENAX_HOME/plugins/installed.json     {"plugins": {"demo@market": record}}
 *   $TENAX_HOME/plugins/marketplaces.json  {"marketplaces": {"market": record}}
 *   $TENAX_HOME/plugins/config.json        {"demo@market": {"KEY": "value"}}, mode 0600
 *   …/marketplaces/<name>  …/cache/<market>/<plugin>/<hash>  …/data/<plugin>-<market>  …/tmp
 *
 * Everything goes to tmp first and is renamed when complete; it takes effect with the record in
 * installed.json, so a kill at any time leaves the old state. One process changes them at a time.
 * Nothing of a plugin is executed here. Any thread.
 */
#pragma once

#include <stdbool.h>

#include "base/buf.h"
#include "base/strv.h"

struct cancel;
struct conf;
struct err;
struct jw;
struct plugin;

enum plugin_scope {
    SCOPE_ANY, /* search all scopes */
    SCOPE_USER,
    SCOPE_PROJECT,
    SCOPE_LOCAL,
};
const char *plugin_scope_name(enum plugin_scope s); /* "user" */
bool plugin_scope_parse(struct str name, enum plugin_scope *ret);

struct plugin_job {
    const struct conf *conf;
    struct cancel *cancel;
    enum plugin_scope scope;
    const struct strv *config; /* "KEY=value"; may be NULL */
    bool keeps_data;
    /* Shows what the plugin could run, one line each. -1 with ERR_DENIED if the user declines. */
    int (*confirm)(void *arg, struct str title, struct str what, struct err *err);
    void *arg;
};

struct plugin_done {
    struct buf id; /* the affected plugin or marketplace */
    enum plugin_scope scope;
    struct buf message;
    struct strv warnings;
};
void plugin_done_release(struct plugin_done *d);

/* source: name@marketplace, a name, a folder's path or a URL. */
int plugin_install(const struct plugin_job *job, struct str source, struct plugin_done *ret,
                   struct err *err);
int plugin_uninstall(const struct plugin_job *job, struct str id, struct plugin_done *ret,
                     struct err *err);
int plugin_switch(const struct plugin_job *job, struct str id, bool on, struct plugin_done *ret,
                  struct err *err);
int plugin_update(const struct plugin_job *job, struct str id, struct plugin_done *ret,
                  struct err *err);
/* The plugins installed by tenax. */
int plugin_installed(const struct conf *conf, struct strv *ret, struct err *err);

/* source: a folder's path, owner/repo or a URL. */
int market_add(const struct plugin_job *job, struct str source, struct plugin_done *ret,
               struct err *err);
int market_remove(const struct plugin_job *job, struct str name, struct plugin_done *ret,
                  struct err *err);
int market_update(const struct plugin_job *job, struct str name, struct plugin_done *ret,
                  struct err *err);
int market_names(const struct conf *conf, struct strv *ret, struct err *err);

/* Lists: as text, or as JSON if w is not NULL. */
int plugin_write_list(const struct conf *conf, bool is_available, struct jw *w, struct buf *ret,
                      struct err *err);
int market_write_list(const struct conf *conf, struct jw *w, struct buf *ret, struct err *err);
int plugin_write_details(const struct conf *conf, struct str id, struct jw *w, struct buf *ret,
                         struct err *err);
/* The problems of a plugin's or marketplace's folder, one per line. */
int plugin_validate(const char *path, struct strv *ret_problems, struct err *err);

/* Notes plugins that cannot be used, for the start of a session. */
void plugins_note(const struct conf *conf, struct strv *ret_notes);

/* Lists what a plugin can run, one per line (plugin_about.c). */
void plugin_add_surface(const struct plugin *p, struct buf *ret);
/* A digest of that list and of the files that it runs. */
void plugin_surface_digest(const struct plugin *p, char *ret);
