/*
 * plugins: installing, changing and removing. A folder is completed in tmp, the user is shown what
 * it can run, and only then a rename and a record make it effective. Any thread.
 */
#include "host/plugins/plugins.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"
#include "conf/conf.h"
#include "conf/plugin.h"
#include "conf/setting.h"
#include "conf/settings_file.h"
#include "host/plugins/plugin_fetch.h"
#include "host/plugins/plugin_state.h"
#include "json/json.h"
#include "json/jw.h"

void plugin_done_release(struct plugin_done *d)
{
    buf_release(&d->id);
    buf_release(&d->message);
    strv_release(&d->warnings);
}

/* ---- The request and its source ---- */

/* Allocated in the arena. */
struct want {
    struct arena arena;
    struct plugin_record record; /* the new record */
    struct str name;             /* empty = as in the plugin */
    struct str market;
    const char *dir;       /* source folder; NULL = fetch it */
    struct str below;      /* path in the fetched tree */
    bool is_users;         /* the user typed the URL */
    const char *tmp;       /* folder for temporary files */
    const char *ready;     /* the complete plugin before its move; NULL = it stays where it is */
    struct plugins *list;  /* for its problems */
    struct plugin *plugin; /* read */
};

static void want_release(struct want *w)
{
    if (w->plugin)
        plugin_drop(w->plugin);
    plugins_free(w->list);
    strv_release(&w->record.scopes);
    arena_release(&w->arena);
}

static int want_git(struct want *w, struct str url, struct str ref, bool is_users, struct err *err)
{
    w->record.kind = STR("git");
    w->record.url = arena_str(&w->arena, url);
    w->record.ref = arena_str(&w->arena, ref);
    w->is_users = is_users;
    return fetch_check_url(url, is_users, err);
}

/* A folder of the marketplace, or a repository. */
static int want_entry(struct want *w, const char *root, const struct json *entry, struct err *err)
{
    const struct json *source = json_get(entry, "source");
    struct str kind = json_get_str(source, "source");
    CLEANUP(buf_release) struct buf url = BUF_INIT(8192);
    struct str path = json_str(source);
    struct str base;

    if (json_is(source, JSON_STRING)) {
        w->dir = market_path(&w->arena, root, path, err);
        return w->dir ? 0 : -1;
    }
    if (!str_is_word_of(kind, "github url git git-subdir"))
        return err_set(err, ERR_UNSUPPORTED,
                       "the marketplace names a source of the kind '%.*s', which is not supported",
                       STR_ARG(str_clip(kind, 40)));
    plugin_source_text(source, &url);
    base = str_first(buf_str(&url), str_chr(buf_str(&url), '#'));
    if (str_is(kind, "git-subdir"))
        w->below = arena_str(&w->arena, json_get_str(source, "path"));
    return want_git(w, base, json_get_str(source, "ref"), /*is_users=*/false, err);
}

static int want_market(const struct plugin_job *job, struct want *w, struct str name,
                       struct str market, struct err *err)
{
    struct market m = {0};
    const struct json *entry;

    if (market_bring(job, &w->arena, market, w->tmp, err) < 0 ||
        market_find(job, &w->arena, market, &m, err) < 0)
        return -1;
    entry = market_entry(&m, name);
    if (!entry)
        return err_set(err, ERR_NOT_FOUND,
                       "the marketplace %.*s has no plugin '%.*s'. Update it with: tenax plugin "
                       "marketplace update %.*s",
                       STR_ARG(market), STR_ARG(name), STR_ARG(market));
    w->name = arena_str(&w->arena, name);
    w->market = arena_str(&w->arena, market);
    w->record.kind = STR("market");
    w->record.from = arena_str(&w->arena, m.source);
    if (want_entry(w, m.root, entry, err) < 0)
        return -1;
    w->record.kind = STR("market");
    return 0;
}

static int want_path(const struct plugin_job *job, struct want *w, struct str said, struct err *err)
{
    CLEANUP(mem_freep) char *text = mem_dup(said.ptr, said.len);
    CLEANUP(mem_freep) char *expanded = path_expand_home(text);
    CLEANUP(mem_freep) char *path = path_join(conf_dir(job->conf), expanded);
    CLEANUP(mem_freep) char *real = path_real(path);

    if (!file_is_dir(real))
        return err_set(err, ERR_NOT_FOUND, "there is no folder %s", path);
    w->market = STR("path");
    w->record.kind = STR("path");
    w->dir = arena_cstr(&w->arena, str_of(real));
    w->record.from = str_of(w->dir);
    return 0;
}

/* A name only: from the marketplace that has it, if there is just one. */
static int want_name(const struct plugin_job *job, struct want *w, struct str name, struct err *err)
{
    CLEANUP(strv_release) struct strv markets = STRV_INIT;
    CLEANUP(strv_release) struct strv found = STRV_INIT;

    if (market_names(job->conf, &markets, err) < 0)
        return -1;
    for (size_t i = 0; i < markets.len; i++) {
        struct market m = {0};

        if (market_find(job, &w->arena, str_of(markets.ptr[i]), &m, /*err=*/NULL) == 0 &&
            market_entry(&m, name))
            strv_adds(&found, markets.ptr[i]);
    }
    if (found.len == 1)
        return want_market(job, w, name, str_of(found.ptr[0]), err);
    if (found.len)
        return err_set(err, ERR_BAD_INPUT,
                       "several marketplaces have a plugin '%.*s', such as %.*s@%s and %.*s@%s; "
                       "name one",
                       STR_ARG(name), STR_ARG(name), found.ptr[0], STR_ARG(name), found.ptr[1]);
    return err_set(err, ERR_NOT_FOUND,
                   "no known marketplace has a plugin '%.*s'. Add one with: tenax plugin "
                   "marketplace add SOURCE",
                   STR_ARG(str_clip(name, 100)));
}

static int want_read(const struct plugin_job *job, struct want *w, struct str said, struct err *err)
{
    struct str name;
    struct str market;

    if (plugin_id_split(said, &name, &market)) {
        if (str_is(market, "path") || str_is(market, "git") || str_is(market, "inline"))
            return err_set(err, ERR_BAD_INPUT,
                           "%.*s came from no marketplace; install it by its path or URL",
                           STR_ARG(said));
        return want_market(job, w, name, market, err);
    }
    if (plugin_name_is_fine(said))
        return want_name(job, w, said, err);
    if (market_is_path(said))
        return want_path(job, w, said, err);
    w->market = STR("git");
    if (want_git(w, str_first(said, str_chr(said, '#')), str_from(said, str_chr(said, '#') + 1),
                 /*is_users=*/true, err) < 0)
        return -1;
    w->record.from = w->record.url;
    return 0;
}

/* ---- Preparation ---- */

static const char *want_folder(struct want *w, const char *name)
{
    CLEANUP(mem_freep) char *path = path_join(w->tmp, name);

    return arena_cstr(&w->arena, str_of(path));
}

/* Copies or fetches it to tmp and checks it; a folder of the user's stays where it is. */
static int want_fetch(const struct plugin_job *job, struct want *w, struct err *err)
{
    CLEANUP(buf_release) struct buf commit = BUF_INIT(200);
    char hash[FETCH_HASH + 1];
    const char *from = w->dir;

    if (str_is(w->record.kind, "path"))
        return 0;
    w->ready = want_folder(w, "plugin");
    if (!from) {
        const char *git = want_folder(w, "git");

        if (fetch_git(job->conf, w->record.url, w->record.ref, w->is_users, git, job->cancel,
                      &commit, err) < 0)
            return -1;
        w->record.commit = arena_str(&w->arena, buf_str(&commit));
        from = w->below.len ? market_path(&w->arena, git, w->below, err) : git;
    }
    if (!from || fetch_copy(from, w->ready, job->cancel, hash, err) < 0)
        return -1;
    w->record.hash = arena_str(&w->arena, str_of(hash));
    return 0;
}

/* Loads the plugin for a check; its first problem is the error. */
static int want_look(struct want *w, struct err *err)
{
    char digest[SHA256_HEX + 1];

    w->list = plugins_new();
    w->plugin = plugin_read(w->list, w->ready ? w->ready : w->dir, w->name, w->market);
    if (!w->plugin || w->list->problems.len)
        return err_set(err, ERR_BAD_INPUT, "the plugin cannot be installed: %s",
                       w->list->problems.ptr[0].text);
    if (w->name.len && !str_is(w->name, w->plugin->name))
        return err_set(err, ERR_BAD_INPUT,
                       "the plugin cannot be installed: its marketplace calls it '%.*s', its "
                       "manifest '%s'",
                       STR_ARG(w->name), w->plugin->name);
    if (!w->ready)
        w->record.path = str_of(w->plugin->root);
    w->record.version = str_of(w->plugin->version);
    plugin_digest(w->plugin, digest);
    w->record.approved = arena_str(&w->arena, str_of(digest));
    plugin_surface_digest(w->plugin, digest);
    w->record.surface = arena_str(&w->arena, str_of(digest));
    return 0;
}

static int want_check(const struct plugin_job *job, const struct want *w, struct err *err)
{
    if (plugin_source_allowed(job->conf, w->record.from, err) < 0)
        return -1;
    VEC_EACH(&plugins_get(job->conf)->list, it) {
        if (str_eq_nocase(str_of((*it)->name), str_of(w->plugin->name)) &&
            strcmp((*it)->id, w->plugin->id) != 0 && strcmp((*it)->market, "inline") != 0)
            return err_set(err, ERR_BAD_INPUT,
                           "%s has the same name; disable or uninstall it first", (*it)->id);
    }
    return 0;
}

/* The key of "KEY=value" must be an option of the plugin. */
static int want_config(const struct plugin_job *job, const struct want *w,
                       struct strv *ret_warnings, struct err *err)
{
    for (size_t i = 0; job->config && i < job->config->len; i++) {
        struct str pair = str_of(job->config->ptr[i]);
        struct str key = str_first(pair, str_chr(pair, '='));

        if (key.len == pair.len)
            return err_set(err, ERR_BAD_INPUT, "--config takes KEY=VALUE");
        if (!json_get_key(w->plugin->options, key))
            return err_set(err, ERR_BAD_INPUT, "%s has no option '%.*s'", w->plugin->id,
                           STR_ARG(str_clip(key, 100)));
    }
    JSON_EACH(w->plugin->options, option) {
        bool given = false;

        for (size_t i = 0; job->config && i < job->config->len; i++) {
            struct str pair = str_of(job->config->ptr[i]);

            given = given || str_eq(str_first(pair, str_chr(pair, '=')), json_key(option));
        }
        if (!given && json_get_bool(option, "required", false))
            strv_addf(ret_warnings, "%s needs a value: --config %.*s=VALUE", w->plugin->id,
                      STR_ARG(str_clip(json_key(option), 100)));
    }
    return 0;
}

static int want_confirm(const struct plugin_job *job, const struct want *w, const char *what,
                        struct err *err)
{
    CLEANUP(buf_release) struct buf surface = BUF_INIT(BUF_NO_LIMIT);
    CLEANUP(buf_release) struct buf title = BUF_INIT(4096);

    buf_addf(&title, "%s %s", what, w->plugin->id);
    if (w->plugin->version)
        buf_addf(&title, " %s", w->plugin->version);
    buf_addf(&title, " from %.*s", STR_ARG(w->record.url.len ? w->record.url : w->record.from));
    plugin_add_surface(w->plugin, &surface);
    return job->confirm ? job->confirm(job->arg, buf_str(&title), buf_str(&surface), err) : 0;
}

/* ---- Installation ---- */

static int want_place(const struct plugin_job *job, struct want *w, struct err *err)
{
    CLEANUP(buf_release) struct buf name = BUF_INIT(1000);
    CLEANUP(mem_freep) char *path = NULL;
    CLEANUP(mem_freep) char *dir = NULL;
    CLEANUP(fd_closep) int fd = -1;

    if (!w->ready)
        return 0;
    buf_addf(&name, "cache/%s/%s/%.*s", w->plugin->market, w->plugin->name,
             STR_ARG(w->record.hash));
    path = plugin_home(job->conf, buf_cstr(&name));
    dir = path_dirname(path);
    w->record.path = str_of(arena_cstr(&w->arena, str_of(path)));
    if (file_is_dir(path)) /* it was renamed, so it is complete */
        return 0;
    if (file_mkdirs(dir, 0700, err) < 0)
        return -1;
    fd = open(w->ready, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0 || syncfs(fd) < 0 || rename(w->ready, path) < 0)
        return err_sys(err, ERR_IO, "cannot make '%s'", path);
    return 0;
}

static int want_save(const struct plugin_job *job, struct want *w, enum plugin_scope scope,
                     struct plugin_done *ret, struct err *err)
{
    struct str id = str_of(w->plugin->id);
    char when[25];

    clock_iso(clock_wall_ms(), when);
    w->record.when = arena_str(&w->arena, str_of(when));
    if (scope != SCOPE_ANY)
        scope_note(job->conf, scope, &w->record.scopes);
    if (want_place(job, w, err) < 0 || config_save(job->conf, id, job->config, err) < 0 ||
        record_save(job->conf, id, &w->record, err) < 0)
        return -1;
    return scope == SCOPE_ANY ? 0 : scope_enable(job->conf, scope, id, true, &ret->warnings, err);
}

static int want_all(const struct plugin_job *job, struct want *w, struct plugin_done *ret,
                    struct err *err)
{
    if (want_fetch(job, w, err) < 0 || want_look(w, err) < 0 || want_check(job, w, err) < 0 ||
        want_config(job, w, &ret->warnings, err) < 0)
        return -1;
    buf_adds(&ret->id, w->plugin->id);
    return 0;
}

static void done_init(struct plugin_done *d)
{
    *d = (struct plugin_done){.id = BUF_INIT(1000), .message = BUF_INIT(64 << 10)};
}

int plugin_install(const struct plugin_job *job, struct str source, struct plugin_done *ret,
                   struct err *err)
{
    CLEANUP(want_release) struct want w = {.arena = ARENA_INIT};
    CLEANUP(fd_closep) int lock = -1;
    struct plugin_record old = {0};
    enum plugin_scope scope = job->scope == SCOPE_ANY ? SCOPE_USER : job->scope;
    int rc = -1;

    done_init(ret);
    ret->scope = scope;
    lock = state_lock(job, &w.arena, &w.tmp, err);
    if (lock < 0)
        return -1;
    if (want_read(job, &w, source, err) == 0 && want_all(job, &w, ret, err) == 0 &&
        record_find(job->conf, &w.arena, buf_str(&ret->id), &old, err) >= 0) {
        strv_add_all(&w.record.scopes, &old.scopes);
        if (str_eq(old.surface, w.record.surface) || want_confirm(job, &w, "Install", err) == 0)
            rc = want_save(job, &w, scope, ret, err);
    }
    strv_release(&old.scopes);
    if (rc == 0)
        buf_addf(&ret->message, "Installed %s (scope: %s)", buf_cstr(&ret->id),
                 plugin_scope_name(scope));
    state_clean(job->conf);
    return rc;
}

/* ---- Changes ---- */

int plugin_update(const struct plugin_job *job, struct str id, struct plugin_done *ret,
                  struct err *err)
{
    CLEANUP(want_release) struct want w = {.arena = ARENA_INIT};
    CLEANUP(fd_closep) int lock = -1;
    struct plugin_record old = {0};
    struct str name;
    struct str market;
    int rc = -1;

    done_init(ret);
    lock = state_lock(job, &w.arena, &w.tmp, err);
    if (lock < 0 || record_need(job->conf, &w.arena, id, &old, err) < 0)
        return -1;
    (void)plugin_id_split(id, &name, &market);
    if (str_is(old.kind, "path"))
        rc = want_path(job, &w, old.path, err);
    else if (str_is(old.kind, "git"))
        rc = want_git(&w, old.url, old.ref, /*is_users=*/true, err);
    else if (market_refresh(job, market, w.tmp, err) == 0)
        rc = want_market(job, &w, name, market, err);
    if (rc == 0 && str_is(old.kind, "git")) {
        w.market = STR("git");
        w.name = name;
        w.record.from = w.record.url;
    }
    if (rc == 0)
        rc = want_all(job, &w, ret, err);
    if (rc == 0 && !str_eq(id, buf_str(&ret->id)))
        rc = err_set(err, ERR_BAD_INPUT, "the plugin is now called %s; install it anew",
                     buf_cstr(&ret->id));
    if (rc == 0 && !str_eq(old.surface, w.record.surface))
        rc = want_confirm(job, &w, "Update", err);
    if (rc == 0) {
        strv_add_all(&w.record.scopes, &old.scopes);
        rc = want_save(job, &w, SCOPE_ANY, ret, err);
    }
    if (rc == 0) {
        struct str from = old.commit.len ? str_first(old.commit, FETCH_HASH) : old.hash;
        struct str to =
            w.record.commit.len ? str_first(w.record.commit, FETCH_HASH) : w.record.hash;

        if (str_eq(old.hash, w.record.hash) && str_eq(old.surface, w.record.surface))
            buf_addf(&ret->message, "%.*s is up to date%s%.*s", STR_ARG(id), to.len ? ": " : "",
                     STR_ARG(to));
        else
            buf_addf(&ret->message, "Updated %.*s%s%.*s%s%.*s", STR_ARG(id), from.len ? ": " : "",
                     STR_ARG(from), to.len ? " to " : "", STR_ARG(to));
    }
    strv_release(&old.scopes);
    state_clean(job->conf);
    return rc;
}

int plugin_switch(const struct plugin_job *job, struct str id, bool on, struct plugin_done *ret,
                  struct err *err)
{
    struct str name;
    struct str market;

    done_init(ret);
    if (!plugin_id_split(id, &name, &market))
        return err_set(err, ERR_BAD_INPUT, "'%.*s' is no NAME@MARKETPLACE",
                       STR_ARG(str_clip(id, 100)));
    buf_add(&ret->id, id);
    ret->scope = job->scope == SCOPE_ANY ? scope_of(job->conf, id) : job->scope;
    if (ret->scope == SCOPE_ANY && !plugin_is_known(job->conf, id))
        return err_set(err, ERR_NOT_FOUND, "the plugin %.*s is not installed", STR_ARG(id));
    if (ret->scope == SCOPE_ANY)
        ret->scope = SCOPE_USER;
    if (scope_enable(job->conf, ret->scope, id, on, &ret->warnings, err) < 0)
        return -1;
    buf_addf(&ret->message, "%s %.*s (scope: %s)", on ? "Enabled" : "Disabled", STR_ARG(id),
             plugin_scope_name(ret->scope));
    return 0;
}

/* The last scope is gone: removes the record, the configuration and the plugin's data. */
static int take_away(const struct plugin_job *job, struct str id, struct err *err)
{
    CLEANUP(buf_release) struct buf data = BUF_INIT(1000);
    CLEANUP(mem_freep) char *path = NULL;
    struct str name;
    struct str market;

    if (record_remove(job->conf, id, err) < 0)
        return -1;
    if (job->keeps_data)
        return 0;
    (void)plugin_id_split(id, &name, &market);
    buf_addf(&data, "data/%.*s-%.*s", STR_ARG(name), STR_ARG(market));
    path = plugin_home(job->conf, buf_cstr(&data));
    fetch_remove(path);
    return config_remove(job->conf, id, err);
}

int plugin_uninstall(const struct plugin_job *job, struct str id, struct plugin_done *ret,
                     struct err *err)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    CLEANUP(fd_closep) int lock = -1;
    struct plugin_record record = {0};
    enum plugin_scope scope = job->scope;
    const char *tmp;
    int rc;

    done_init(ret);
    lock = state_lock(job, &arena, &tmp, err);
    if (lock < 0 || record_need(job->conf, &arena, id, &record, err) < 0)
        return -1;
    if (scope == SCOPE_ANY)
        scope = scope_of(job->conf, id);
    if (scope == SCOPE_ANY && record.scopes.len == 1)
        scope = scope_of_note(record.scopes.ptr[0]);
    if (scope == SCOPE_ANY)
        scope = SCOPE_USER;
    ret->scope = scope;
    buf_add(&ret->id, id);
    scope_forget(job->conf, scope, &record.scopes);
    rc = scope_remove(job->conf, scope, id, err);
    if (rc == 0)
        rc = record.scopes.len ? record_save(job->conf, id, &record, err) : take_away(job, id, err);
    if (rc == 0)
        buf_addf(&ret->message, "Uninstalled %.*s (scope: %s)", STR_ARG(id),
                 plugin_scope_name(scope));
    if (rc == 0 && record.scopes.len)
        buf_addf(&ret->message, "; it stays installed for %s", record.scopes.ptr[0]);
    strv_release(&record.scopes);
    state_clean(job->conf);
    return rc;
}
