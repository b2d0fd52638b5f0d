/*
 * plugins: which of them count. Records say where an installed one is; nothing is started and
 * nothing is fetched. Any thread.
 */
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"
#include "conf/conf.h"
#include "conf/plugin.h"
#include "json/json.h"
#include "json/jw.h"

#define STATE_MAX ((size_t)16 << 20)

char *plugin_home(const struct conf *conf, const char *name)
{
    CLEANUP(mem_freep) char *dir = path_join(conf_home(conf), "plugins");

    return path_join(dir, name);
}

static const struct json *read_file(const char *path, struct arena *arena, struct err *err)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(STATE_MAX);
    const struct json *v = NULL;

    if (!file_exists(path))
        buf_adds(&text, "{}");
    else if (file_slurp(path, STATE_MAX, &text, err) < 0)
        return NULL;
    if (json_parse_copy(arena, buf_str(&text), &v, /*ret_info=*/NULL, err) < 0 ||
        !json_is(v, JSON_OBJECT)) {
        if (v)
            err_set(err, ERR_BAD_INPUT, "it must be an object");
        err_prefix(err, "%s", path);
        return NULL;
    }
    return v;
}

const struct json *plugin_state(const struct conf *conf, const char *name, struct arena *arena,
                                struct err *err)
{
    CLEANUP(mem_freep) char *path = plugin_home(conf, name);

    return read_file(path, arena, err);
}

/* ---- Policies ---- */

void plugin_source_text(const struct json *source, struct buf *ret)
{
    struct str kind = json_get_str(source, "source");
    struct str ref = json_get_str(source, "ref");
    struct str url = json_get_str(source, "url");

    if (json_is(source, JSON_STRING))
        buf_add(ret, json_str(source));
    else if (str_is(kind, "github") && json_get_str(source, "repo").len)
        buf_addf(ret, "https://github.com/%.*s.git", STR_ARG(json_get_str(source, "repo")));
    else if (str_is_word_of(kind, "url git git-subdir") && url.len)
        buf_add(ret, url);
    else if (str_is_word_of(kind, "directory file"))
        buf_add(ret, json_get_str(source, "path"));
    else
        return;
    if (ref.len)
        buf_addf(ret, "#%.*s", STR_ARG(ref));
}

/* A rule without "#ref" is of every ref. */
static bool source_matches(const struct json *rule, struct str source)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(8192);
    struct str bare = str_first(source, str_chr(source, '#'));

    plugin_source_text(rule, &text);
    return text.len && (str_eq(buf_str(&text), source) || str_eq(buf_str(&text), bare));
}

static bool source_is_listed(const struct conf *conf, const char *key, struct str source)
{
    JSON_EACH(conf_get(conf, key), rule) {
        if (source_matches(rule, source))
            return true;
    }
    return false;
}

int plugin_source_allowed(const struct conf *conf, struct str source, struct err *err)
{
    if (source_is_listed(conf, "blockedMarketplaces", source))
        return err_set(err, ERR_DENIED, "blockedMarketplaces of the managed settings forbids %.*s",
                       STR_ARG(source));
    if (conf_get(conf, "strictKnownMarketplaces") &&
        !source_is_listed(conf, "strictKnownMarketplaces", source))
        return err_set(err, ERR_DENIED,
                       "strictKnownMarketplaces of the managed settings does not list %.*s",
                       STR_ARG(source));
    return 0;
}

/* ---- Which count ---- */

struct loading {
    const struct conf *conf;
    struct plugins *list;
    struct arena arena;
    const struct json *installed; /* {"id": record} */
    const struct json *config;    /* {"id": {"KEY": "value"}} */
    const struct json *claudes;   /* {"id": [record]}; NULL: not read yet */
    const struct json *markets;   /* Claude's: {"name": {"source": …}}; NULL: not read yet */
};

static void problem(struct loading *l, const char *id, const char *fmt, ...) PRINTF_LIKE(3, 4);
static void problem(struct loading *l, const char *id, const char *fmt, ...)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(8192);
    struct arena *arena = &l->list->arena;
    va_list args;

    va_start(args, fmt);
    buf_addv(&text, fmt, args);
    va_end(args);
    vec_push(&l->list->problems, ((struct plugin_problem){arena_cstr(arena, str_of(id)),
                                                          arena_cstr(arena, buf_str(&text))}));
}

static void set_data(struct loading *l, struct plugin *p)
{
    CLEANUP(buf_release) struct buf name = BUF_INIT(1000);
    CLEANUP(mem_freep) char *path = NULL;

    buf_addf(&name, "data/%s-%s", p->name, p->market);
    path = plugin_home(l->conf, buf_cstr(&name));
    p->data = arena_cstr(&l->list->arena, str_of(path));
    /* Its hooks and servers may write there at once; when it cannot be made, that is theirs to
     * say. */
    if ((p->hooks.len || p->servers.len) && !file_is_dir(path))
        (void)file_mkdirs(path, 0700, /*err=*/NULL);
}

static void set_config(struct loading *l, struct plugin *p)
{
    JSON_EACH(json_get(l->config, p->id), v) {
        if (json_is(v, JSON_STRING))
            strv_addf(&p->config, "%.*s=%.*s", STR_ARG(json_key(v)), STR_ARG(json_str(v)));
    }
}

/* Two of one name would share their commands and servers; the first one counts. */
static bool is_doubled(struct loading *l, const struct plugin *p)
{
    VEC_EACH(&l->list->list, it) {
        if (str_eq_nocase(str_of((*it)->name), str_of(p->name))) {
            problem(l, p->id, "it is not loaded: %s has the same name", (*it)->id);
            return true;
        }
    }
    return false;
}

static void keep(struct loading *l, struct plugin *p)
{
    set_data(l, p);
    set_config(l, p);
    vec_push(&l->list->list, p);
}

/* What it runs is another thing than what the user has approved. */
static void check_approval(struct loading *l, struct plugin *p, struct str approved)
{
    char digest[SHA256_HEX + 1];

    plugin_digest(p, digest);
    if (!approved.len || str_is(approved, digest))
        return;
    p->hooks.len = p->servers.len = 0;
    problem(l, p->id,
            "its hooks and servers are not used: they have changed since you approved them. See "
            "and approve them with: tenax plugin update %s",
            p->id);
}

/* Ours are in the cache, where a later update takes the folder away once no process holds it. */
static void hold_version(struct loading *l, struct plugin *p)
{
    CLEANUP(mem_freep) char *cache = plugin_home(l->conf, "cache/");
    CLEANUP(mem_freep) char *real = path_real(cache);

    if (!str_starts(str_of(p->root), str_of(real)))
        return;
    p->held = open(p->root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (p->held >= 0)
        (void)flock(p->held, LOCK_SH | LOCK_NB);
}

/* Where Claude Code has installed it; of a project's only in that project. */
static const struct json *claudes_record(struct loading *l, struct str id)
{
    if (!conf_get_bool(l->conf, "claudeCompat", true))
        return NULL;
    if (!l->claudes) {
        CLEANUP(mem_freep)
        char *path = path_join(conf_claude_home(l->conf), "plugins/installed_plugins.json");
        struct err err = {0};
        const struct json *root = read_file(path, &l->arena, &err);

        if (!root)
            problem(l, "", "%s", err.text);
        l->claudes = json_get(root, "plugins");
    }
    JSON_EACH(json_get_key(l->claudes, id), record) {
        struct str project = json_get_str(record, "projectPath");

        if (json_get_str(record, "installPath").len &&
            (!project.len || str_is(project, conf_dir(l->conf))))
            return record;
    }
    return NULL;
}

static void claudes_source(struct loading *l, struct str market, struct buf *ret)
{
    CLEANUP(mem_freep)
    char *path = path_join(conf_claude_home(l->conf), "plugins/known_marketplaces.json");

    if (!l->markets)
        l->markets = read_file(path, &l->arena, /*err=*/NULL);
    plugin_source_text(json_get(json_get_key(l->markets, market), "source"), ret);
}

static bool has_policy(const struct conf *conf)
{
    return conf_get(conf, "strictKnownMarketplaces") || conf_get(conf, "blockedMarketplaces");
}

static void load_enabled(struct loading *l, struct str id)
{
    const struct json *record = json_get_key(l->installed, id);
    const struct json *theirs = record ? NULL : claudes_record(l, id);
    CLEANUP(buf_release) struct buf source = BUF_INIT(8192);
    CLEANUP(mem_freep) char *name = mem_dup(id.ptr, id.len);
    CLEANUP(mem_freep) char *root = NULL;
    struct plugin *p;
    struct str plain;
    struct str market;
    struct str path = json_get_str(record, "path");
    struct err err = {0};

    if (!plugin_id_split(id, &plain, &market)) {
        problem(l, name, "it is not loaded: this is no NAME@MARKETPLACE");
        return;
    }
    if (!record && !theirs) {
        problem(l, name,
                "it is enabled in %.*s, but not installed. Install it with: tenax plugin install "
                "%s",
                STR_ARG(conf_origin(l->conf, "enabledPlugins")), name);
        return;
    }
    if (theirs) {
        path = json_get_str(theirs, "installPath");
        if (has_policy(l->conf))
            claudes_source(l, market, &source);
    } else {
        buf_add(&source, json_get_str(record, "from"));
    }
    if (has_policy(l->conf) && plugin_source_allowed(l->conf, buf_str(&source), &err) < 0) {
        problem(l, name, "it is not loaded: %s", err.text);
        return;
    }
    root = mem_dup(path.ptr, path.len);
    p = plugin_read(l->list, root, plain, market);
    if (!p)
        return;
    if (!str_is(plain, p->name)) /* what its settings call it is what the user has approved */
        problem(l, name, "it is not loaded: its manifest calls it '%s'", p->name);
    else if (!is_doubled(l, p)) {
        if (record)
            check_approval(l, p, json_get_str(record, "approved"));
        hold_version(l, p);
        keep(l, p);
        return;
    }
    plugin_drop(p);
}

static void load_folders(struct loading *l, const struct strv *dirs, bool has_servers)
{
    for (size_t i = 0; dirs && i < dirs->len; i++) {
        CLEANUP(mem_freep) char *dir = path_join(conf_dir(l->conf), dirs->ptr[i]);
        struct plugin *p = plugin_read(l->list, dir, STR(""), STR("inline"));

        if (!p)
            continue;
        if (is_doubled(l, p)) {
            plugin_drop(p);
            continue;
        }
        if (!has_servers)
            p->servers.len = 0;
        keep(l, p);
    }
}

static int by_id(const void *a, const void *b)
{
    return strcmp((*(struct plugin *const *)a)->id, (*(struct plugin *const *)b)->id);
}

static struct plugins *plugins_read(const struct conf *conf)
{
    struct loading l = {.conf = conf, .list = plugins_new(), .arena = ARENA_INIT};
    CLEANUP(strv_release) struct strv brought = STRV_INIT;
    CLEANUP(strv_release) struct strv brought_without_mcp = STRV_INIT;
    const struct json *enabled = conf_get(conf, "enabledPlugins");
    struct plugin_cache *c = conf_plugin_cache(conf);
    struct err err = {0};

    lock_take(&c->lock);
    strv_add_all(&brought, &c->brought);
    strv_add_all(&brought_without_mcp, &c->brought_without_mcp);
    lock_give(&c->lock);
    if (json_len(enabled) || brought.len || brought_without_mcp.len ||
        conf_option(conf, OPT_PLUGIN_DIR) || conf_option(conf, OPT_PLUGIN_DIR_NO_MCP))
        l.config = plugin_state(conf, "config.json", &l.arena, &err);
    load_folders(&l, conf_option(conf, OPT_PLUGIN_DIR), /*has_servers=*/true);
    load_folders(&l, conf_option(conf, OPT_PLUGIN_DIR_NO_MCP), /*has_servers=*/false);
    load_folders(&l, &brought, /*has_servers=*/true);
    load_folders(&l, &brought_without_mcp, /*has_servers=*/false);
    if (json_len(enabled)) {
        const struct json *root = plugin_state(conf, "installed.json", &l.arena, &err);

        if (!root)
            problem(&l, "", "no installed plugin is loaded: %s", err.text);
        l.installed = json_get(root, "plugins");
    }
    JSON_EACH(enabled, v) {
        if (json_is(v, JSON_BOOL) && !json_bool(v, false))
            continue;
        if (l.list->list.len >= PLUGIN_MAX) {
            problem(&l, "", "only the first %d plugins are loaded", PLUGIN_MAX);
            break;
        }
        load_enabled(&l, json_key(v));
    }
    if (l.list->list.len)
        qsort(l.list->list.ptr, l.list->list.len, sizeof(l.list->list.ptr[0]), by_id);
    arena_release(&l.arena);
    return l.list;
}

/* ---- The cache ---- */

void plugin_cache_init(struct plugin_cache *c)
{
    lock_init(&c->lock);
}

void plugin_cache_release(struct plugin_cache *c)
{
    plugins_free(c->now);
    strv_release(&c->brought);
    strv_release(&c->brought_without_mcp);
    lock_release(&c->lock);
}

/* Read without the lock: that looks at folders. Of two that read at once the first one counts. */
static const struct plugins *cache_fill(const struct conf *conf, const struct plugins *old)
{
    struct plugin_cache *c = conf_plugin_cache(conf);
    struct plugins *fresh = plugins_read(conf);
    struct plugins *now;

    lock_take(&c->lock);
    if (c->now == old) {
        fresh->older = c->now;
        c->now = fresh;
        fresh = NULL;
    }
    now = c->now;
    lock_give(&c->lock);
    plugins_free(fresh);
    return now;
}

static const struct plugins *cache_now(const struct conf *conf)
{
    struct plugin_cache *c = conf_plugin_cache(conf);
    const struct plugins *now;

    lock_take(&c->lock);
    now = c->now;
    lock_give(&c->lock);
    return now;
}

void plugins_bring(const struct conf *conf, const struct strv *dirs, const struct strv *without_mcp)
{
    struct plugin_cache *c = conf_plugin_cache(conf);

    lock_take(&c->lock);
    strv_clear(&c->brought);
    strv_add_all(&c->brought, dirs);
    strv_clear(&c->brought_without_mcp);
    strv_add_all(&c->brought_without_mcp, without_mcp);
    lock_give(&c->lock);
}

const struct plugins *plugins_get(const struct conf *conf)
{
    const struct plugins *now = cache_now(conf);

    return now ? now : cache_fill(conf, NULL);
}

const struct plugins *plugins_reload(const struct conf *conf)
{
    return cache_fill(conf, cache_now(conf));
}

void plugins_environ(const struct conf *conf, struct strv *ret)
{
    CLEANUP(buf_release) struct buf path = BUF_INIT(BUF_NO_LIMIT); /* as long as folders are */
    const char *given = conf_env(conf, "PATH");
    bool has_bin = false;

    buf_adds(&path, given ? given : "/usr/local/bin:/usr/bin:/bin");
    VEC_EACH(&plugins_get(conf)->list, it) {
        if (!(*it)->bin || strchr((*it)->bin, ':'))
            continue;
        buf_addf(&path, ":%s", (*it)->bin);
        has_bin = true;
    }
    for (char *const *from = conf_environ(conf); *from; from++) {
        if (!has_bin || !str_starts(str_of(*from), STR("PATH=")))
            strv_adds(ret, *from);
    }
    if (has_bin)
        strv_addf(ret, "PATH=%s", buf_cstr(&path));
}

void plugins_write(const struct plugins *l, struct jw *w)
{
    jw_array(w);
    VEC_EACH(&l->list, it) {
        const struct plugin *p = *it;

        jw_object(w);
        jw_kcstr(w, "name", p->name);
        jw_kcstr(w, "path", p->root);
        jw_kcstr(w, "source", p->id);
        if (p->version)
            jw_kcstr(w, "version", p->version);
        jw_object_end(w);
    }
    jw_array_end(w);
}

void plugins_write_problems(const struct plugins *l, struct jw *w)
{
    jw_array(w);
    VEC_EACH(&l->problems, it) {
        jw_object(w);
        jw_kcstr(w, "plugin", it->id);
        jw_kcstr(w, "message", it->text);
        jw_object_end(w);
    }
    jw_array_end(w);
}
