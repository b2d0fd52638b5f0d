/*
 * plugin_state: records, the settings that turn plugins on, the lock, and the cleanup. Any thread.
 */
#include "host/plugins/plugin_state.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"
#include "conf/conf.h"
#include "conf/levels.h"
#include "conf/plugin.h"
#include "conf/setting.h"
#include "conf/settings_file.h"
#include "conf/source.h"
#include "host/plugins/plugin_fetch.h"
#include "json/json.h"
#include "json/jw.h"
#include "sync/cancel.h"

#define LOCK_WAIT_MS 10000
#define LOCK_LOOK_MS 50

/* ---- Records ---- */

static int give(const struct json *old, struct buf *ret, void *arg, struct err *err)
{
    (void)old;
    buf_add(ret, *(struct str *)arg);
    return buf_check(ret, err);
}

int state_put(const char *path, const char *key, struct str value, struct err *err)
{
    return settings_file_change(path, key, give, &value, err);
}

static int state_write(const struct conf *conf, const char *file, const char *group, struct str id,
                       struct str value, struct err *err)
{
    CLEANUP(mem_freep) char *path = plugin_home(conf, file);
    CLEANUP(buf_release) struct buf key = BUF_INIT(1000);

    buf_addf(&key, "%s%s%.*s", group, *group ? "." : "", STR_ARG(id));
    if (value.len)
        return state_put(path, buf_cstr(&key), value, err);
    return settings_file_remove(path, buf_cstr(&key), err) < 0 ? -1 : 0;
}

int record_find(const struct conf *conf, struct arena *arena, struct str id,
                struct plugin_record *ret, struct err *err)
{
    const struct json *root = plugin_state(conf, "installed.json", arena, err);
    const struct json *v = json_get_key(json_get(root, "plugins"), id);

    if (!root)
        return -1;
    if (!json_is(v, JSON_OBJECT))
        return 0;
    *ret = (struct plugin_record){
        .kind = json_get_str(v, "kind"),
        .path = json_get_str(v, "path"),
        .from = json_get_str(v, "from"),
        .url = json_get_str(v, "url"),
        .ref = json_get_str(v, "ref"),
        .commit = json_get_str(v, "commit"),
        .hash = json_get_str(v, "hash"),
        .version = json_get_str(v, "version"),
        .approved = json_get_str(v, "approved"),
        .surface = json_get_str(v, "surface"),
        .when = json_get_str(v, "installedAt"),
    };
    JSON_EACH(json_get(v, "scopes"), scope) {
        strv_add(&ret->scopes, json_str(scope));
    }
    return 1;
}

int record_need(const struct conf *conf, struct arena *arena, struct str id,
                struct plugin_record *ret, struct err *err)
{
    const struct plugin *loaded;
    int rc = record_find(conf, arena, id, ret, err);

    if (rc)
        return rc < 0 ? -1 : 0;
    loaded = plugins_find(plugins_get(conf), id);
    if (loaded && strcmp(loaded->market, "inline") != 0)
        return err_set(err, ERR_UNSUPPORTED,
                       "Claude Code has installed %.*s; change it there, or install it with tenax "
                       "first",
                       STR_ARG(id));
    return err_set(err, ERR_NOT_FOUND, "the plugin %.*s is not installed",
                   STR_ARG(str_clip(id, 100)));
}

int record_save(const struct conf *conf, struct str id, const struct plugin_record *r,
                struct err *err)
{
    const struct {
        const char *key;
        struct str value;
    } rows[] = {
        {"kind", r->kind},       {"path", r->path},        {"from", r->from},
        {"url", r->url},         {"ref", r->ref},          {"commit", r->commit},
        {"hash", r->hash},       {"version", r->version},  {"approved", r->approved},
        {"surface", r->surface}, {"installedAt", r->when},
    };
    CLEANUP(buf_release) struct buf text = BUF_INIT((size_t)1 << 20);
    struct jw w;

    jw_init(&w, &text, 0);
    jw_object(&w);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        if (rows[i].value.len)
            jw_kstr(&w, rows[i].key, rows[i].value);
    }
    jw_key(&w, "scopes");
    jw_array(&w);
    for (size_t i = 0; i < r->scopes.len; i++)
        jw_cstr(&w, r->scopes.ptr[i]);
    jw_array_end(&w);
    jw_object_end(&w);
    return buf_check(&text, err) < 0
               ? -1
               : state_write(conf, "installed.json", "plugins", id, buf_str(&text), err);
}

int record_remove(const struct conf *conf, struct str id, struct err *err)
{
    return state_write(conf, "installed.json", "plugins", id, STR(""), err);
}

/* Some of it is secret, so only the user may read the file. */
int config_save(const struct conf *conf, struct str id, const struct strv *pairs, struct err *err)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    CLEANUP(mem_freep) char *path = plugin_home(conf, "config.json");
    const struct json *root = plugin_state(conf, "config.json", &arena, err);
    CLEANUP(buf_release) struct buf text = BUF_INIT((size_t)1 << 20);
    struct jw w;

    if (!root || !pairs || !pairs->len)
        return root ? 0 : -1;
    if (!file_exists(path) && file_replace(path, STR("{}\n"), 0600, err) < 0)
        return -1;
    jw_init(&w, &text, 0);
    jw_object(&w);
    JSON_EACH(json_get_key(root, id), v) {
        jw_key_str(&w, json_key(v));
        jw_json(&w, v);
    }
    for (size_t i = 0; i < pairs->len; i++) { /* of two with the same name the last one counts */
        struct str pair = str_of(pairs->ptr[i]);
        size_t at = str_chr(pair, '=');

        jw_key_str(&w, str_first(pair, at));
        jw_str(&w, str_from(pair, at + 1));
    }
    jw_object_end(&w);
    return state_write(conf, "config.json", "", id, buf_str(&text), err);
}

int config_remove(const struct conf *conf, struct str id, struct err *err)
{
    return state_write(conf, "config.json", "", id, STR(""), err);
}

bool plugin_is_known(const struct conf *conf, struct str id)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    struct plugin_record r = {0};
    bool found =
        plugins_find(plugins_get(conf), id) || record_find(conf, &arena, id, &r, /*err=*/NULL) == 1;

    strv_release(&r.scopes);
    return found;
}

int plugin_installed(const struct conf *conf, struct strv *ret, struct err *err)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    const struct json *root = plugin_state(conf, "installed.json", &arena, err);

    JSON_EACH(json_get(root, "plugins"), v) {
        strv_add(ret, json_key(v));
    }
    return root ? 0 : -1;
}

/* ---- Scopes ---- */

static const char *const scope_names[] = {"", "user", "project", "local"};

const char *plugin_scope_name(enum plugin_scope s)
{
    return scope_names[s];
}

bool plugin_scope_parse(struct str name, enum plugin_scope *ret)
{
    for (enum plugin_scope s = SCOPE_USER; s <= SCOPE_LOCAL; s++) {
        if (str_is(name, scope_names[s])) {
            *ret = s;
            return true;
        }
    }
    return false;
}

/* Our own file of the scope. */
static struct source scope_file(const struct conf *conf, enum plugin_scope scope,
                                struct arena *arena)
{
    static const enum source_level levels[] = {LEVEL_USER, LEVEL_USER, LEVEL_PROJECT, LEVEL_LOCAL};
    static const char *const files[] = {"", "settings.json", ".tenax/settings.json",
                                        ".tenax/settings.local.json"};
    const char *dir = scope == SCOPE_USER ? conf_home(conf)
                      : scope == SCOPE_LOCAL
                          ? levels_local_dir(arena, conf_dir(conf), conf_user_home(conf))
                          : conf_dir(conf);
    CLEANUP(mem_freep) char *path = path_join(dir, files[scope]);

    return (struct source){.level = levels[scope],
                           .ours = true,
                           .name = files[scope],
                           .path = arena_cstr(arena, str_of(path))};
}

enum plugin_scope scope_of(const struct conf *conf, struct str id)
{
    for (enum plugin_scope s = SCOPE_LOCAL; s >= SCOPE_USER; s--) {
        CLEANUP(arena_release) struct arena arena = ARENA_INIT;
        CLEANUP(buf_release) struct buf text = BUF_INIT(SOURCE_MAX_BYTES);
        struct source file = scope_file(conf, s, &arena);
        const struct json *v = NULL;

        if (file_exists(file.path) &&
            file_slurp(file.path, SOURCE_MAX_BYTES, &text, /*err=*/NULL) == 0 &&
            json_parse(&arena, buf_str(&text), &v, /*ret_info=*/NULL, /*err=*/NULL) == 0 &&
            json_get_key(json_get(v, "enabledPlugins"), id))
            return s;
    }
    return SCOPE_ANY;
}

static void setting_key(struct str id, struct buf *ret)
{
    buf_addf(ret, "enabledPlugins.%.*s", STR_ARG(id));
}

int scope_enable(const struct conf *conf, enum plugin_scope scope, struct str id, bool on,
                 struct strv *ret_warnings, struct err *err)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    CLEANUP(buf_release) struct buf key = BUF_INIT(1000);
    struct source file = scope_file(conf, scope, &arena);

    setting_key(id, &key);
    if (setting_write(&file, buf_cstr(&key), on ? STR("true") : STR("false"), ret_warnings, err) <
        0)
        return -1;
    if (scope == SCOPE_PROJECT && !conf_is_trusted(conf))
        strv_adds(ret_warnings, "settings of this project do not count until you trust it: tenax "
                                "trust add");
    return 0;
}

int scope_remove(const struct conf *conf, enum plugin_scope scope, struct str id, struct err *err)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    CLEANUP(buf_release) struct buf key = BUF_INIT(1000);
    struct source file = scope_file(conf, scope, &arena);

    setting_key(id, &key);
    return settings_file_remove(file.path, buf_cstr(&key), err) < 0 ? -1 : 0;
}

static void scope_write_note(const struct conf *conf, enum plugin_scope scope, struct buf *ret)
{
    buf_adds(ret, scope_names[scope]);
    if (scope != SCOPE_USER)
        buf_addf(ret, ":%s", conf_dir(conf));
}

enum plugin_scope scope_of_note(const char *note)
{
    enum plugin_scope s = SCOPE_ANY;

    (void)plugin_scope_parse(str_first(str_of(note), str_chr(str_of(note), ':')), &s);
    return s;
}

void scope_note(const struct conf *conf, enum plugin_scope scope, struct strv *io_notes)
{
    CLEANUP(buf_release) struct buf note = BUF_INIT(BUF_NO_LIMIT);

    scope_write_note(conf, scope, &note);
    if (!strv_has(io_notes, buf_str(&note)))
        strv_add(io_notes, buf_str(&note));
}

void scope_forget(const struct conf *conf, enum plugin_scope scope, struct strv *io_notes)
{
    CLEANUP(buf_release) struct buf note = BUF_INIT(BUF_NO_LIMIT);
    struct strv left = STRV_INIT;

    scope_write_note(conf, scope, &note);
    for (size_t i = 0; i < io_notes->len; i++) {
        if (!str_is(buf_str(&note), io_notes->ptr[i]))
            strv_adds(&left, io_notes->ptr[i]);
    }
    strv_release(io_notes);
    *io_notes = left;
}

/* ---- The lock, and leftovers ---- */

int state_lock(const struct plugin_job *job, struct arena *arena, const char **ret_tmp,
               struct err *err)
{
    CLEANUP(mem_freep) char *path = plugin_home(job->conf, "lock");
    CLEANUP(mem_freep) char *tmp = plugin_home(job->conf, "tmp");
    CLEANUP(mem_freep) char *dir = path_dirname(path);
    CLEANUP(fd_closep) int fd = -1;
    int taken;

    if (file_mkdirs(dir, 0700, err) < 0)
        return -1;
    fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0)
        return err_sys(err, ERR_IO, "cannot make '%s'", path);
    for (int64_t waited = 0; flock(fd, LOCK_EX | LOCK_NB) < 0; waited += LOCK_LOOK_MS) {
        if (errno != EWOULDBLOCK)
            return err_sys(err, ERR_IO, "cannot lock '%s'", path);
        if (waited >= LOCK_WAIT_MS)
            return err_set(err, ERR_BUSY, "another tenax is changing the plugins");
        if (cancel_wait(job->cancel, LOCK_LOOK_MS, err) < 0)
            return -1;
    }
    fetch_remove(tmp); /* left by a killed process */
    if (file_mkdirs(tmp, 0700, err) < 0)
        return -1;
    *ret_tmp = arena_cstr(arena, str_of(tmp));
    taken = fd;
    fd = -1;
    return taken;
}

/* Removes a version that no process uses. */
static void remove_version(const char *path)
{
    CLEANUP(fd_closep) int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0)
        fetch_remove(path);
}

static void clean_below(const char *dir, const struct strv *kept, int depth)
{
    DIR *d = opendir(dir);

    for (struct dirent *e = d ? readdir(d) : NULL; e; e = readdir(d)) {
        CLEANUP(mem_freep) char *path = path_join(dir, e->d_name);

        if (e->d_name[0] == '.' || strv_has(kept, str_of(path)))
            continue;
        if (depth == 0)
            remove_version(path);
        else
            clean_below(path, kept, depth - 1);
    }
    if (d)
        closedir(d);
    (void)rmdir(dir); /* if it is empty */
}

void state_clean(const struct conf *conf)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    CLEANUP(mem_freep) char *cache = plugin_home(conf, "cache");
    CLEANUP(mem_freep) char *tmp = plugin_home(conf, "tmp");
    CLEANUP(strv_release) struct strv kept = STRV_INIT;
    const struct json *root = plugin_state(conf, "installed.json", &arena, /*err=*/NULL);

    fetch_remove(tmp);
    if (!root) /* without it, plugins in use are unknown */
        return;
    JSON_EACH(json_get(root, "plugins"), v) {
        strv_add(&kept, json_get_str(v, "path"));
    }
    clean_below(cache, &kept, 2); /* marketplace, plugin, version */
}
