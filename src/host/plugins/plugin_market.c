/*
 * plugin_market: marketplaces, which are folders or repositories with a list of plugins. Any
 * thread.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"
#include "conf/conf.h"
#include "conf/plugin.h"
#include "conf/settings_file.h"
#include "host/plugins/plugin_fetch.h"
#include "host/plugins/plugin_state.h"
#include "host/plugins/plugins.h"
#include "json/json.h"
#include "json/jw.h"

#define MANIFEST ".claude-plugin/marketplace.json"

bool market_is_path(struct str source)
{
    return str_starts(source, STR("/")) || str_starts(source, STR("./")) ||
           str_starts(source, STR("../")) || str_starts(source, STR("~")) || str_is(source, ".") ||
           str_is(source, "..");
}

const char *market_path(struct arena *arena, const char *root, struct str path, struct err *err)
{
    CLEANUP(buf_release) struct buf walked = BUF_INIT(BUF_NO_LIMIT);
    CLEANUP(mem_freep) char *real_root = path_real(root);
    CLEANUP(mem_freep) char *real = NULL;
    size_t len = strlen(real_root);
    struct str rest = path;
    struct str part;
    bool climbs = !path.len || path.ptr[0] == '/' || str_chr(path, '\0') < path.len;

    while (rest.len && str_cut(&rest, '/', &part))
        climbs = climbs || str_is(part, "..");
    if (!climbs) {
        buf_adds(&walked, real_root);
        path_walk(&walked, path);
        real = path_real(buf_cstr(&walked));
        climbs = strncmp(real, real_root, len) != 0 || (real[len] && real[len] != '/');
    }
    if (climbs)
        err_set(err, ERR_DENIED, "the source \"%.*s\" leads out of the marketplace",
                STR_ARG(str_clip(path, 200)));
    else if (!file_is_dir(real))
        err_set(err, ERR_NOT_FOUND, "there is no folder \"%.*s\" in the marketplace",
                STR_ARG(str_clip(path, 200)));
    else
        return arena_cstr(arena, str_of(real));
    return NULL;
}

/* ---- Reading ---- */

static bool name_is_free(struct str name)
{
    return plugin_name_is_fine(name) && !str_is_word_of(name, "path git inline");
}

static int read_manifest(struct arena *arena, const char *root, struct market *ret, struct err *err)
{
    CLEANUP(mem_freep) char *path = path_join(root, MANIFEST);
    CLEANUP(buf_release) struct buf text = BUF_INIT(PLUGIN_MAX_JSON);

    if (!file_exists(path))
        return err_set(err, ERR_NOT_FOUND, "%s is no marketplace: there is no %s in it", root,
                       MANIFEST);
    if (file_slurp(path, PLUGIN_MAX_JSON, &text, err) < 0 ||
        json_parse_copy(arena, buf_str(&text), &ret->manifest, /*ret_info=*/NULL, err) < 0)
        return err_prefix(err, "%s", path);
    if (!name_is_free(json_get_str(ret->manifest, "name")))
        return err_set(err, ERR_BAD_INPUT,
                       "%s: 'name' must be of letters, digits, - and _, at most %d, and none of "
                       "tenax's own",
                       path, PLUGIN_MAX_NAME);
    if (!json_is(json_get(ret->manifest, "plugins"), JSON_ARRAY))
        return err_set(err, ERR_BAD_INPUT, "%s: 'plugins' must be a list", path);
    ret->root = arena_cstr(arena, str_of(root));
    return 0;
}

const struct json *market_entry(const struct market *m, struct str plugin)
{
    JSON_EACH(json_get(m->manifest, "plugins"), entry) {
        if (str_eq(json_get_str(entry, "name"), plugin))
            return entry;
    }
    return NULL;
}

static const struct json *market_record(const struct conf *conf, struct arena *arena,
                                        struct str name, struct err *err)
{
    const struct json *root = plugin_state(conf, "marketplaces.json", arena, err);
    const struct json *v = json_get_key(json_get(root, "marketplaces"), name);

    if (root && !v)
        err_set(err, ERR_NOT_FOUND,
                "the marketplace %.*s is not known. Add it with: tenax plugin marketplace add "
                "SOURCE",
                STR_ARG(str_clip(name, 100)));
    return v;
}

int market_names(const struct conf *conf, struct strv *ret, struct err *err)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    const struct json *root = plugin_state(conf, "marketplaces.json", &arena, err);

    JSON_EACH(json_get(root, "marketplaces"), v) {
        strv_add(ret, json_key(v));
    }
    return root ? 0 : -1;
}

/* ---- Adding ---- */

/* Where a marketplace comes from. */
struct market_origin {
    struct str path; /* a folder; or empty */
    struct str url, ref;
    bool is_users;
};

static int read_origin(const struct plugin_job *job, struct arena *arena, struct str source,
                       struct market_origin *ret, struct err *err)
{
    size_t slash = str_chr(source, '/');
    struct str rest = str_from(source, slash + 1);
    CLEANUP(buf_release) struct buf url = BUF_INIT(8192);

    *ret = (struct market_origin){.is_users = true};
    if (market_is_path(source)) {
        CLEANUP(mem_freep) char *text = mem_dup(source.ptr, source.len);
        CLEANUP(mem_freep) char *expanded = path_expand_home(text);
        CLEANUP(mem_freep) char *path = path_join(conf_dir(job->conf), expanded);
        CLEANUP(mem_freep) char *real = path_real(path);

        ret->path = arena_str(arena, str_of(real));
        return file_is_dir(real) ? 0 : err_set(err, ERR_NOT_FOUND, "there is no folder %s", path);
    }
    ret->ref = arena_str(arena, str_from(source, str_chr(source, '#') + 1));
    source = str_first(source, str_chr(source, '#'));
    /* "owner/repo" */
    if (slash < source.len && str_chr(rest, '/') == rest.len && str_chr(source, ':') == source.len)
        buf_addf(&url, "https://github.com/%.*s.git", STR_ARG(source));
    else
        buf_add(&url, source);
    ret->url = arena_str(arena, buf_str(&url));
    return fetch_check_url(ret->url, /*is_users=*/true, err);
}

static void origin_text(const struct market_origin *o, struct buf *ret)
{
    buf_add(ret, o->path.len ? o->path : o->url);
    if (o->ref.len)
        buf_addf(ret, "#%.*s", STR_ARG(o->ref));
}

static int save(const struct conf *conf, const struct market *m, const struct market_origin *o,
                struct str commit, struct err *err)
{
    CLEANUP(mem_freep) char *path = plugin_home(conf, "marketplaces.json");
    CLEANUP(buf_release) struct buf key = BUF_INIT(1000);
    CLEANUP(buf_release) struct buf text = BUF_INIT(64 << 10);
    char when[25];
    struct jw w;

    clock_iso(clock_wall_ms(), when);
    buf_addf(&key, "marketplaces.%.*s", STR_ARG(json_get_str(m->manifest, "name")));
    jw_init(&w, &text, 0);
    jw_object(&w);
    if (o->path.len)
        jw_kstr(&w, "path", o->path);
    else
        jw_kstr(&w, "url", o->url);
    if (o->ref.len)
        jw_kstr(&w, "ref", o->ref);
    if (commit.len)
        jw_kstr(&w, "commit", commit);
    jw_kbool(&w, "isUsers", o->is_users);
    jw_kcstr(&w, "updatedAt", when);
    jw_object_end(&w);
    if (buf_check(&key, err) < 0 || buf_check(&text, err) < 0)
        return -1;
    return state_put(path, buf_cstr(&key), buf_str(&text), err);
}

/* Replaces the existing folder, atomically if the file system supports that. */
static int put_in_place(const char *from, const char *to, const char *tmp, struct err *err)
{
    CLEANUP(mem_freep) char *dir = path_dirname(to);
    CLEANUP(mem_freep) char *aside = path_join(tmp, "aside");

    if (file_mkdirs(dir, 0700, err) < 0)
        return -1;
    if (rename(from, to) == 0)
        return 0;
    if (renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_EXCHANGE) == 0)
        return 0; /* the old one is removed with tmp */
    if (rename(to, aside) < 0 || rename(from, to) < 0)
        return err_sys(err, ERR_IO, "cannot make '%s'", to);
    return 0;
}

/* Rejects one with the same name from another origin. */
static int check_known(const struct conf *conf, struct str name, const struct market_origin *o,
                       struct err *err)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    const struct json *old = market_record(conf, &arena, name, /*err=*/NULL);
    struct str from =
        json_get_str(old, "path").len ? json_get_str(old, "path") : json_get_str(old, "url");

    if (old && !str_eq(from, o->path.len ? o->path : o->url))
        return err_set(err, ERR_BAD_INPUT,
                       "there is a marketplace %.*s already, from %.*s; remove it first",
                       STR_ARG(name), STR_ARG(from));
    return 0;
}

/* Fetches, checks and records it. The lock must be held. name: its expected name; or empty. */
static int bring(const struct plugin_job *job, struct arena *arena, const struct market_origin *o,
                 struct str name, const char *tmp, struct market *ret, struct err *err)
{
    CLEANUP(buf_release) struct buf source = BUF_INIT(16 << 10);
    CLEANUP(buf_release) struct buf commit = BUF_INIT(200);
    CLEANUP(mem_freep) char *made = path_join(tmp, "market");
    char hash[FETCH_HASH + 1];
    const char *root = made;

    origin_text(o, &source);
    if (plugin_source_allowed(job->conf, buf_str(&source), err) < 0)
        return -1;
    if (o->path.len)
        root = arena_cstr(arena, o->path);
    else if (fetch_git(job->conf, o->url, o->ref, o->is_users, made, job->cancel, &commit, err) <
                 0 ||
             fetch_copy(made, NULL, job->cancel, hash, err) < 0)
        return -1;
    if (read_manifest(arena, root, ret, err) < 0)
        return -1;
    if (name.len && !str_eq(name, json_get_str(ret->manifest, "name")))
        return err_set(err, ERR_BAD_INPUT, "the marketplace of %.*s is called %.*s, not %.*s",
                       STR_ARG(buf_str(&source)),
                       STR_ARG(str_clip(json_get_str(ret->manifest, "name"), 100)), STR_ARG(name));
    name = json_get_str(ret->manifest, "name");
    if (check_known(job->conf, name, o, err) < 0)
        return -1;
    if (!o->path.len) {
        CLEANUP(buf_release) struct buf below = BUF_INIT(1000);
        CLEANUP(mem_freep) char *place = NULL;

        buf_addf(&below, "marketplaces/%.*s", STR_ARG(name));
        place = plugin_home(job->conf, buf_cstr(&below));
        if (put_in_place(made, place, tmp, err) < 0)
            return -1;
        ret->root = arena_cstr(arena, str_of(place));
    }
    ret->source = arena_str(arena, buf_str(&source));
    return save(job->conf, ret, o, buf_str(&commit), err);
}

static void record_origin(const struct json *record, struct market_origin *ret)
{
    *ret = (struct market_origin){.path = json_get_str(record, "path"),
                                  .url = json_get_str(record, "url"),
                                  .ref = json_get_str(record, "ref"),
                                  .is_users = json_get_bool(record, "isUsers", false)};
}

int market_find(const struct plugin_job *job, struct arena *arena, struct str name,
                struct market *ret, struct err *err)
{
    const struct json *record = market_record(job->conf, arena, name, err);
    CLEANUP(buf_release) struct buf source = BUF_INIT(16 << 10);
    CLEANUP(mem_freep) char *place = NULL;
    struct market_origin o;

    if (!record)
        return -1;
    record_origin(record, &o);
    origin_text(&o, &source);
    if (o.path.len) {
        place = mem_dup(o.path.ptr, o.path.len);
    } else {
        CLEANUP(buf_release) struct buf below = BUF_INIT(1000);

        buf_addf(&below, "marketplaces/%.*s", STR_ARG(name));
        place = plugin_home(job->conf, buf_cstr(&below));
    }
    ret->source = arena_str(arena, buf_str(&source));
    if (read_manifest(arena, place, ret, err) < 0)
        return -1;
    return str_eq(json_get_str(ret->manifest, "name"), name)
               ? 0
               : err_set(err, ERR_BAD_INPUT,
                         "the marketplace %.*s is now called %.*s; remove it and add it again",
                         STR_ARG(name),
                         STR_ARG(str_clip(json_get_str(ret->manifest, "name"), 100)));
}

int market_bring(const struct plugin_job *job, struct arena *arena, struct str name,
                 const char *tmp, struct err *err)
{
    const struct json *known = conf_get(job->conf, "extraKnownMarketplaces");
    const struct json *source = json_get(json_get_key(known, name), "source");
    CLEANUP(buf_release) struct buf text = BUF_INIT(16 << 10);
    const struct json *there = market_record(job->conf, arena, name, /*err=*/NULL);
    struct market m = {0};
    struct market_origin o;

    if (there || !source)
        return 0;
    plugin_source_text(source, &text);
    if (read_origin(job, arena, buf_str(&text), &o, err) < 0)
        return err_prefix(err, "extraKnownMarketplaces");
    o.is_users = false;
    return bring(job, arena, &o, name, tmp, &m, err);
}

int market_refresh(const struct plugin_job *job, struct str name, const char *tmp, struct err *err)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    const struct json *record = market_record(job->conf, &arena, name, err);
    struct market m = {0};
    struct market_origin o;

    if (!record)
        return -1;
    record_origin(record, &o);
    return bring(job, &arena, &o, name, tmp, &m, err);
}

static void done_init(struct plugin_done *d)
{
    *d = (struct plugin_done){.id = BUF_INIT(1000), .message = BUF_INIT(64 << 10)};
}

int market_add(const struct plugin_job *job, struct str source, struct plugin_done *ret,
               struct err *err)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    CLEANUP(fd_closep) int lock = -1;
    struct market m = {0};
    struct market_origin o;
    const char *tmp;
    int rc;

    done_init(ret);
    lock = state_lock(job, &arena, &tmp, err);
    if (lock < 0 || read_origin(job, &arena, source, &o, err) < 0)
        return -1;
    rc = bring(job, &arena, &o, STR(""), tmp, &m, err);
    if (rc == 0) {
        size_t n = json_len(json_get(m.manifest, "plugins"));

        buf_add(&ret->id, json_get_str(m.manifest, "name"));
        buf_addf(&ret->message, "Added the marketplace %.*s (%zu plugin%s)",
                 STR_ARG(buf_str(&ret->id)), n, n == 1 ? "" : "s");
    }
    state_clean(job->conf);
    return rc;
}

int market_remove(const struct plugin_job *job, struct str name, struct plugin_done *ret,
                  struct err *err)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    CLEANUP(mem_freep) char *path = plugin_home(job->conf, "marketplaces.json");
    CLEANUP(buf_release) struct buf key = BUF_INIT(1000);
    CLEANUP(buf_release) struct buf below = BUF_INIT(1000);
    CLEANUP(mem_freep) char *place = NULL;
    CLEANUP(fd_closep) int lock = -1;
    const char *tmp;

    done_init(ret);
    lock = state_lock(job, &arena, &tmp, err);
    if (lock < 0 || !market_record(job->conf, &arena, name, err))
        return -1;
    buf_addf(&key, "marketplaces.%.*s", STR_ARG(name));
    if (settings_file_remove(path, buf_cstr(&key), err) < 0)
        return -1;
    buf_addf(&below, "marketplaces/%.*s", STR_ARG(name));
    place = plugin_home(job->conf, buf_cstr(&below));
    fetch_remove(place); /* a folder of the user's is elsewhere */
    buf_add(&ret->id, name);
    buf_addf(&ret->message, "Removed the marketplace %.*s; its plugins stay installed",
             STR_ARG(name));
    return 0;
}

int market_update(const struct plugin_job *job, struct str name, struct plugin_done *ret,
                  struct err *err)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    CLEANUP(fd_closep) int lock = -1;
    const char *tmp;
    int rc;

    done_init(ret);
    lock = state_lock(job, &arena, &tmp, err);
    if (lock < 0)
        return -1;
    rc = market_refresh(job, name, tmp, err);
    buf_add(&ret->id, name);
    buf_addf(&ret->message, "Updated the marketplace %.*s", STR_ARG(name));
    state_clean(job->conf);
    return rc;
}

static void validate_entry(struct arena *arena, const char *path, const struct json *entry,
                           struct strv *ret)
{
    struct str name = json_get_str(entry, "name");
    const struct json *source = json_get(entry, "source");
    CLEANUP(buf_release) struct buf text = BUF_INIT(16 << 10);
    struct err err = {0};

    plugin_source_text(source, &text);
    if (!plugin_name_is_fine(name))
        strv_addf(ret, "'%.*s' cannot be the name of a plugin", STR_ARG(str_clip(name, 100)));
    else if (json_is(source, JSON_STRING) && !market_path(arena, path, json_str(source), &err))
        strv_addf(ret, "%.*s: %s", STR_ARG(name), err.text);
    else if (!json_is(source, JSON_STRING) &&
             (!text.len || fetch_check_url(str_first(buf_str(&text), str_chr(buf_str(&text), '#')),
                                           /*is_users=*/false, &err) < 0))
        strv_addf(ret, "%.*s: its source is not supported", STR_ARG(name));
}

int market_validate(const char *path, struct strv *ret_problems, struct err *err)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    CLEANUP(strv_release) struct strv names = STRV_INIT;
    struct market m = {0};

    if (read_manifest(&arena, path, &m, err) < 0) {
        strv_adds(ret_problems, err->text);
        return 0;
    }
    JSON_EACH(json_get(m.manifest, "plugins"), entry) {
        if (strv_has(&names, json_get_str(entry, "name")))
            strv_addf(ret_problems, "there are two plugins '%.*s'",
                      STR_ARG(str_clip(json_get_str(entry, "name"), 100)));
        strv_add(&names, json_get_str(entry, "name"));
        validate_entry(&arena, path, entry, ret_problems);
    }
    return 0;
}
