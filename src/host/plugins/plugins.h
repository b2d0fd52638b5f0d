/*
 * Plugins and marketplaces, installed, changed and listed: what `tenax plugin` and /plugin share.
 *
 *   $TENAX_HOME/plugins/installed.json     {"plugins": {"demo@market": record}}
 *   $TENAX_HOME/plugins/marketplaces.json  {"marketplaces": {"market": record}}
 *   $TENAX_HOME/plugins/config.json        {"demo@market": {"KEY": "value"}}, mode 0600
 *   …/marketplaces/<name>  …/cache/<market>/<plugin>/<hash>  …/data/<plugin>-<market>  …/tmp
 *
 * Everything comes into tmp first and is renamed when it is complete; the record in installed.json
 * is what makes it count, so a kill at any moment leaves the old state. One process changes them at
 * a time. Nothing of a plugin runs here. Any thread.
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
    SCOPE_ANY, /* found by itself */
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
    const struct strv *config; /* "KEY=value"; NULL: none */
    bool keeps_data;
    /* What would be able to run is shown, one line each: -1 with ERR_DENIED: it is not to be. */
    int (*confirm)(void *arg, struct str title, struct str what, struct err *err);
    void *arg;
};

struct plugin_done {
    struct buf id; /* what it was about */
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
/* Those that tenax has installed. */
int plugin_installed(const struct conf *conf, struct strv *ret, struct err *err);

/* source: a folder's path, owner/repo or a URL. */
int market_add(const struct plugin_job *job, struct str source, struct plugin_done *ret,
               struct err *err);
int market_remove(const struct plugin_job *job, struct str name, struct plugin_done *ret,
                  struct err *err);
int market_update(const struct plugin_job *job, struct str name, struct plugin_done *ret,
                  struct err *err);
int market_names(const struct conf *conf, struct strv *ret, struct err *err);

/* Lists: as text and, where w is not NULL, as JSON instead. */
int plugin_write_list(const struct conf *conf, bool is_available, struct jw *w, struct buf *ret,
                      struct err *err);
int market_write_list(const struct conf *conf, struct jw *w, struct buf *ret, struct err *err);
int plugin_write_details(const struct conf *conf, struct str id, struct jw *w, struct buf *ret,
                         struct err *err);
/* The problems of a plugin's or a marketplace's folder, a line each. */
int plugin_validate(const char *path, struct strv *ret_problems, struct err *err);

/* Plugins that cannot be used, for the start of a session. */
void plugins_note(const struct conf *conf, struct strv *ret_notes);

/* What of a plugin can run, one line each (plugin_about.c). */
void plugin_add_surface(const struct plugin *p, struct buf *ret);
/* A digest of that and of the files it runs. */
void plugin_surface_digest(const struct plugin *p, char *ret);
