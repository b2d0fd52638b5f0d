/*
 * conf: from sources to snapshot, and from one snapshot to the next.
 *
 * Loading is a straight line: find the files, read ours, decide whether Claude's count, read those,
 * check, build the environment, put variables and options on top, merge, freeze. The documents live
 * in an arena of the load; the snapshot has its own and holds the merged one only. A struct conf is
 * a pointer to the snapshot of now; the older ones stay until the last reference goes, because
 * callers may still hold values from them.
 *
 * In the usual case, with no settings anywhere, a load takes 18 system calls and a few more for the
 * git root: eight files not there (open, and readlink in case it is a dangling link), two folders
 * not there, and one lstat() per folder on the way up. Runs on whatever thread asks.
 */
#include "conf/conf.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/log.h"
#include "base/map.h"
#include "base/mem.h"
#include "conf/check.h"
#include "conf/checkout.h"
#include "conf/credential.h"
#include "conf/keys.h"
#include "conf/levels.h"
#include "conf/merge.h"
#include "conf/option.h"
#include "conf/overlay.h"
#include "conf/plugin.h"
#include "conf/policy.h"
#include "conf/setting.h"
#include "conf/source.h"
#include "conf/stamp.h"
#include "json/json.h"
#include "sync/thread.h"

/* Never changes. */
struct snapshot {
    struct snapshot *older;
    struct arena arena; /* the merged document and the origins */
    const struct json *root;
    struct map origins;
    struct strv warnings;
    struct strv files;
    struct strv managed; /* names of the managed ones, as origins begin with */
    struct strv claudes; /* those of Claude's files */
    struct strv project; /* those of the project's */
    struct strv environment;
    struct strv unapproved; /* credential.h */
    bool is_trusted;
    bool lacks_trust;
    bool lacks_file;
};

struct listener {
    conf_change_fn fn;
    void *arg;
};

struct conf {
    atomic_uint refs;
    _Atomic(struct snapshot *) now;
    /* The rest is conf_load()'s and conf_refresh()'s. */
    struct conf_sources from;
    struct args args; /* without its words */
    char *home;
    char *claude_home;
    char *user_home;
    char *dir;
    char *etc;
    struct buf over;          /* a client's settings; empty: none */
    struct buf policy;        /* what a program that embeds us forbids; empty: nothing */
    struct buf unheeded;      /* what of --managed-settings does not count, for a warning */
    struct strv approved;     /* digests of entries that the user has approved */
    struct strv without;      /* files that are left out while they cannot be used */
    struct stamps stamps;     /* of the last look */
    struct stamps counting;   /* of the files as they count */
    struct snapshot *refused; /* blocked by a listener; NULL: none */
    atomic_uint refreshed;    /* times */
    bool is_stale;            /* whatever the files look like */
    struct plugin_cache plugins;

    struct gate gate; /* of what follows */
    bool is_busy;     /* a thread uses the fields above */
    VEC(struct listener) listeners;
};

/* One thread at a time has what changes, without a lock held over files and hooks. */
static void conf_enter(struct conf *c)
{
    gate_take(&c->gate);
    while (c->is_busy)
        gate_wait(&c->gate, /*deadline_ms=*/-1);
    c->is_busy = true;
    gate_give(&c->gate);
}

static void conf_leave(struct conf *c)
{
    gate_take(&c->gate);
    c->is_busy = false;
    gate_wake(&c->gate);
    gate_give(&c->gate);
}

/* What one load works with. */
struct conf_reading {
    const struct conf_sources *from;
    const struct strv *approved;
    struct arena arena;
    struct levels levels;
    struct check check;
    VEC(struct source) all; /* the levels, with variables and options put in */
    bool lacks_file;
};

static void load_release(struct conf_reading *l)
{
    vec_release(&l->all);
    check_release(&l->check);
    levels_release(&l->levels);
    arena_release(&l->arena);
}

static bool load_in_project(const struct source *s)
{
    return s->level == LEVEL_PROJECT || s->level == LEVEL_LOCAL;
}

/* In the home directory the project's file is the user's; once is enough. */
static bool load_is_repeated(struct conf_reading *l, const struct source *s)
{
    if (!load_in_project(s) || !s->root)
        return false;
    VEC_EACH(&l->levels.list, other)
        if (other->level == LEVEL_USER && other->root && source_same_file(s, other))
            return true;
    return false;
}

/* An unusable file is skipped if the user has agreed to it, but never if it belongs to an
 * administrator or the command line. */
static int load_without(struct conf_reading *l, const struct source *s, const struct err *why,
                        struct err *err)
{
    const struct conf_sources *from = l->from;
    bool can_be = s->path && !s->required && s->level < LEVEL_FLAG;

    if (can_be && from->without && strv_has(from->without, str_of(s->path))) {
        strv_addf(&l->check.warnings, "%s; the file is left out, and everything asks", why->text);
        l->lacks_file = true;
        return 0;
    }
    if (can_be && from->ret_broken)
        strv_adds(from->ret_broken, s->path);
    return err_set(err, why->code, "%s", why->text);
}

static int load_source(struct conf_reading *l, struct source *s, struct err *err)
{
    struct err why = {0};

    if (source_load(s, &l->arena, &l->check.warnings, &why) < 0)
        return load_without(l, s, &why, err);
    if (load_is_repeated(l, s))
        s->root = NULL;
    /* What git tracks came with the repository, whatever its name is. */
    if (s->root && s->level == LEVEL_LOCAL && checkout_tracks(s->path))
        s->level = LEVEL_PROJECT;
    return 0;
}

/* Our own files are read first, because they say whether Claude's are read at all. */
static int load_files(struct conf_reading *l, struct err *err)
{
    bool claude_user = true;
    bool claude_managed = true;

    VEC_EACH(&l->levels.list, s) {
        if (!s->ours)
            continue;
        if (load_source(l, s, err) < 0)
            return -1;
        if (load_in_project(s) && !l->from->trusted)
            continue;
        claude_user = json_get_bool(s->root, "claudeCompat", claude_user);
        if (s->level == LEVEL_MANAGED)
            claude_managed = json_get_bool(s->root, "claudeCompat", claude_managed);
    }
    VEC_EACH(&l->levels.list, s) {
        bool wanted = s->level == LEVEL_MANAGED ? claude_managed : claude_user;

        if (!s->ours && wanted && load_source(l, s, err) < 0)
            return -1;
    }
    return 0;
}

static struct str environment_name(const char *entry)
{
    struct str s = str_of(entry);

    return str_first(s, str_chr(s, '='));
}

static const char *environment_find(const struct strv *environment, const char *name)
{
    for (size_t i = 0; i < environment->len; i++) {
        struct str entry = environment_name(environment->ptr[i]);

        if (str_is(entry, name) && environment->ptr[i][entry.len] == '=')
            return environment->ptr[i] + entry.len + 1;
    }
    return NULL;
}

/* The process's variables, then those of `env` in the settings in place of theirs. */
static void load_environment(struct conf_reading *l, struct strv *ret)
{
    CLEANUP(map_release) struct map set = MAP_INIT;

    VEC_EACH(&l->levels.list, s) {
        const struct json *env = json_get(s->root, "env");

        if (!env || check_is_left_out(&l->check, env))
            continue;
        JSON_EACH(env, v)
            if (!check_is_left_out(&l->check, v))
                map_set(&set, json_key(v), (void *)v);
    }
    for (char *const *e = l->from->environ; e && *e; e++)
        if (!map_has(&set, environment_name(*e)))
            strv_adds(ret, *e);
    MAP_EACH(&set, it) {
        const struct json *v = it->value;
        struct str value = json_is(v, JSON_STRING) ? json_str(v) : json_raw(v);

        strv_addf(ret, "%.*s=%.*s", STR_ARG(it->key), STR_ARG(value));
    }
}

/* A source for one key, given on the command line or in the environment. */
static int load_add_value(struct conf_reading *l, const struct key *k, const char *mark,
                          const char *name, const struct strv *values, bool whole, struct err *err)
{
    CLEANUP(buf_release) struct buf shown = BUF_INIT(256);
    struct source *s = vec_add(&l->all);

    buf_addf(&shown, "%s%s", mark, name);
    *s = (struct source){.level = LEVEL_FLAG, .ours = true};
    s->name = arena_cstr(&l->arena, buf_str(&shown));
    s->text = source_text_for(&l->arena, k, values, whole);
    if (source_load(s, &l->arena, &l->check.warnings, err) < 0)
        return -1;
    check_source(&l->check, s);
    return 0;
}

/* TENAX_MODEL and others: the first of a row's variables that is set. */
static int load_add_variables(struct conf_reading *l, const struct strv *environment,
                              struct err *err)
{
    size_t count;
    const struct key *keys = key_table(&count);

    for (size_t i = 0; i < count; i++) {
        struct str rest = str_of(keys[i].env);
        struct str word;

        while (str_cut(&rest, ' ', &word)) {
            const char *name = arena_cstr(&l->arena, word);
            const char *value = environment_find(environment, name);
            CLEANUP(strv_release) struct strv values = STRV_INIT;

            if (!value || (!*value && !(keys[i].types & KEY_BOOL))) /* an empty switch is off */
                continue;
            strv_adds(&values, value);
            if (load_add_value(l, &keys[i], "$", name, &values, /*whole=*/false, err) < 0)
                return -1;
            break;
        }
    }
    return 0;
}

static int load_add_options(struct conf_reading *l, struct err *err)
{
    const struct args *args = l->from->args;

    for (size_t i = 0; args && i < OPT_COUNT; i++) {
        const struct option *o = &option_table()[i];
        CLEANUP(strv_release) struct strv on = STRV_INIT;

        if (!o->key || !args->given[i])
            continue;
        strv_adds(&on, "true");
        if (load_add_value(
                l, key_find(str_of(o->key)), "--", o->name, o->arg ? &args->values[i] : &on,
                /*whole=*/o->flags & (OPTION_MANY | OPTION_LIST | OPTION_RULES), err) < 0)
            return -1;
    }
    return 0;
}

/* All sources in order, each checked; and the environment that the files make. */
static int load_order(struct conf_reading *l, struct strv *ret_environment,
                      struct strv *ret_unapproved, struct err *err)
{
    VEC_EACH(&l->levels.list, s)
        credential_check(&l->check, s, l->from->dir, l->approved, ret_unapproved);
    VEC_EACH(&l->levels.list, s)
        if (s->root)
            check_source(&l->check, s);
    load_environment(l, ret_environment);

    VEC_EACH(&l->levels.list, s)
        if (s->level != LEVEL_MANAGED && !s->on_top)
            vec_push(&l->all, *s);
    if (load_add_variables(l, ret_environment, err) < 0 || load_add_options(l, err) < 0)
        return -1;
    VEC_EACH(&l->levels.list, s)
        if (s->level == LEVEL_MANAGED || s->on_top)
            vec_push(&l->all, *s);
    return 0;
}

static void snapshot_free(struct snapshot *s)
{
    while (s) {
        struct snapshot *older = s->older;

        map_release(&s->origins);
        strv_release(&s->warnings);
        strv_release(&s->files);
        strv_release(&s->managed);
        strv_release(&s->claudes);
        strv_release(&s->project);
        strv_release(&s->environment);
        strv_release(&s->unapproved);
        arena_release(&s->arena);
        free(s);
        s = older;
    }
}

static void snapshot_freep(struct snapshot **s)
{
    snapshot_free(*s);
}

static const struct snapshot *conf_now(const struct conf *c)
{
    return atomic_load_explicit(&c->now, memory_order_acquire);
}

/* What only the settings as a whole can lack: one level may say how, another what. */
static void snapshot_check(struct snapshot *s)
{
    static const struct {
        const char *key, *lacks, *effect;
    } rows[] = {
        {"statusLine", "command", "nothing is shown"},
        {"fileSuggestion", "command", "tenax looks for files itself"},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct json *v = json_get(s->root, rows[i].key);
        const char *where = NULL;

        if (!json_len(v) || json_get(v, rows[i].lacks))
            continue;
        JSON_EACH(v, member) {
            CLEANUP(buf_release) struct buf key = BUF_INIT(200);

            buf_addf(&key, "%s.%.*s", rows[i].key, STR_ARG(str_clip(json_key(member), 100)));
            where = map_get(&s->origins, buf_str(&key));
        }
        strv_addf(&s->warnings, "%s: '%s' has no '%s', so %s", where ? where : "settings",
                  rows[i].key, rows[i].lacks, rows[i].effect);
    }
}

/* Reads the files now. The stamps are taken first: they show every later change. */
static int conf_read(struct conf *c, struct snapshot **ret, struct err *err)
{
    CLEANUP(load_release)
    struct conf_reading l = {
        .from = &c->from,
        .approved = &c->approved,
        .check.trusted = c->from.trusted,
    };
    CLEANUP(snapshot_freep) struct snapshot *s = mem_zalloc(sizeof(*s));
    CLEANUP(buf_release) struct buf merged = BUF_INIT(BUF_NO_LIMIT);

    if (levels_find(&c->from, &l.arena, &l.levels, err) < 0)
        return -1;
    stamps_take(&c->stamps, &l.levels);
    if (!c->home)
        c->home = mem_dup(l.levels.home, strlen(l.levels.home));
    if (!c->claude_home)
        c->claude_home = mem_dup(l.levels.claude_home, strlen(l.levels.claude_home));
    if (!c->user_home)
        c->user_home = mem_dup(l.levels.user_home, strlen(l.levels.user_home));
    if (load_files(&l, err) < 0 || load_order(&l, &s->environment, &s->unapproved, err) < 0)
        return -1;
    merge_sources(l.all.ptr, l.all.len, &l.check, &s->arena, &merged, &s->origins);
    if (json_parse_copy(&s->arena, buf_str(&merged), &s->root, NULL, err) < 0)
        return err_prefix(err, "merged settings");

    VEC_EACH(&l.levels.list, source) {
        if (source->root && source->path)
            strv_adds(&s->files, source->name);
        if (source->root && source->level == LEVEL_MANAGED)
            strv_adds(&s->managed, source->name);
        if (source->root && !source->ours)
            strv_adds(&s->claudes, source->name);
        if (source->level == LEVEL_PROJECT)
            strv_adds(&s->project, source->name);
    }
    s->is_trusted = c->from.trusted;
    s->lacks_trust = l.check.lacks_trust;
    s->lacks_file = l.lacks_file;
    check_take_warnings(&l.check, &s->warnings);
    if (c->unheeded.len)
        strv_addf(&s->warnings, "--managed-settings only forbids, so these are left out: %s",
                  buf_cstr(&c->unheeded));
    snapshot_check(s);
    log_debug("conf", "%zu files, %zu warnings, %zu bytes of settings", s->files.len,
              s->warnings.len, merged.len);
    *ret = TAKE_PTR(s);
    return 0;
}

static char *conf_text(const char *text)
{
    return text ? mem_dup(text, strlen(text)) : NULL;
}

static struct conf *conf_new(const struct conf_sources *from)
{
    struct conf *c = mem_zalloc(sizeof(*c));

    atomic_init(&c->refs, 1);
    gate_init(&c->gate);
    plugin_cache_init(&c->plugins);
    for (size_t i = 0; from->args && i < OPT_COUNT; i++) {
        c->args.given[i] = from->args->given[i];
        strv_add_all(&c->args.values[i], &from->args->values[i]);
    }
    c->dir = conf_text(from->dir);
    c->etc = conf_text(from->etc);
    c->from = *from;
    c->from.args = &c->args;
    c->from.dir = c->dir;
    c->from.etc = c->etc;
    c->over = (struct buf)BUF_INIT(SOURCE_MAX_BYTES);
    c->policy = (struct buf)BUF_INIT(SOURCE_MAX_BYTES);
    c->unheeded = (struct buf)BUF_INIT(SOURCE_MAX_BYTES);
    if (from->without)
        strv_add_all(&c->without, from->without);
    c->from.without = &c->without;
    return c;
}

int conf_set_policy(struct conf *c, const struct json *settings, struct strv *ret_dropped,
                    struct err *err)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(SOURCE_MAX_BYTES);
    CLEANUP(strv_release) struct strv warnings = STRV_INIT; /* the refresh will tell */

    if (policy_filter(settings, &text, ret_dropped, err) < 0 ||
        setting_check_all("managed settings", LEVEL_MANAGED, buf_str(&text), &warnings, err) < 0)
        return -1;
    buf_move(&c->policy, &text);
    c->from.policy = buf_str(&c->policy);
    c->is_stale = true;
    return 0;
}

/* --managed-settings, which only forbid: what could permit something is left out. */
static int conf_read_policy(struct conf *c, struct err *err)
{
    CLEANUP(strv_release) struct strv dropped = STRV_INIT;
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    const struct json *settings = NULL;
    const char *text = args_get(&c->args, OPT_MANAGED_SETTINGS);

    if (!text || !*text)
        return 0;
    if (json_parse(&arena, str_of(text), &settings, /*ret_info=*/NULL, err) < 0 ||
        conf_set_policy(c, settings, &dropped, err) < 0)
        return err_prefix(err, "--managed-settings");
    for (size_t i = 0; i < dropped.len; i++)
        buf_addf(&c->unheeded, "%s%s", i ? ", " : "", dropped.ptr[i]);
    c->is_stale = false; /* it is read now */
    return 0;
}

int conf_load(const struct conf_sources *from, struct conf **ret, struct err *err)
{
    CLEANUP(conf_unrefp) struct conf *c = conf_new(from);
    struct snapshot *s;

    if (conf_read_policy(c, err) < 0 || conf_read(c, &s, err) < 0)
        return -1;
    atomic_store(&c->now, s);
    c->from.ret_broken = NULL;
    stamps_copy(&c->counting, &c->stamps);
    *ret = TAKE_PTR(c);
    return 0;
}

static bool strv_same(const struct strv *a, const struct strv *b)
{
    for (size_t i = 0; i < a->len && i < b->len; i++) {
        if (strcmp(a->ptr[i], b->ptr[i]) != 0)
            return false;
    }
    return a->len == b->len;
}

static bool snapshot_same(const struct snapshot *a, const struct snapshot *b)
{
    return a->is_trusted == b->is_trusted && str_eq(json_raw(a->root), json_raw(b->root)) &&
           strv_same(&a->environment, &b->environment) && strv_same(&a->warnings, &b->warnings);
}

void conf_paths(const struct conf *c, struct strv *ret)
{
    VEC_EACH(&c->stamps.list, it) {
        strv_adds(ret, it->path);
    }
}

void conf_listen(struct conf *c, conf_change_fn fn, void *arg)
{
    conf_enter(c);
    vec_push(&c->listeners, ((struct listener){fn, arg}));
    conf_leave(c);
}

void conf_unlisten(struct conf *c, conf_change_fn fn, void *arg)
{
    conf_enter(c);
    for (size_t i = 0; i < c->listeners.len; i++) {
        if (c->listeners.ptr[i].fn == fn && c->listeners.ptr[i].arg == arg)
            c->listeners.ptr[i--] = c->listeners.ptr[--c->listeners.len];
    }
    conf_leave(c);
}

unsigned conf_version(const struct conf *c)
{
    return atomic_load(&c->refreshed);
}

/* A stamp_fn. */
static bool conf_may_change(void *arg, const struct stamp *it)
{
    static const char *const sources[] = {
        [LEVEL_USER] = "user_settings",
        [LEVEL_PROJECT] = "project_settings",
        [LEVEL_LOCAL] = "local_settings",
        [LEVEL_MANAGED] = "policy_settings",
    };
    struct conf *c = arg;
    const char *source = sources[it->level];
    bool may = true;

    if (!source)
        return true;
    VEC_EACH(&c->listeners, l) {
        may = l->fn(l->arg, source, it->path) && may;
    }
    return may || it->level == LEVEL_MANAGED;
}

static int conf_refresh_held(struct conf *c, struct strv *ret_notes, struct err *err)
{
    CLEANUP(snapshot_freep) struct snapshot *s = NULL;
    struct snapshot *old = atomic_load(&c->now);

    if (c->refreshed >= CONF_MAX_REFRESHES || (!c->is_stale && !stamps_changed(&c->stamps)))
        return 0;
    c->is_stale = false;
    if (conf_read(c, &s, err) < 0)
        return -1;
    if (c->refused && snapshot_same(c->refused, s))
        return 0;
    if (!snapshot_same(old, s) && c->listeners.len &&
        !stamps_compare(&c->counting, &c->stamps, conf_may_change, c)) {
        snapshot_free(c->refused);
        c->refused = TAKE_PTR(s);
        return 0;
    }
    snapshot_free(TAKE_PTR(c->refused));
    stamps_copy(&c->counting, &c->stamps);
    if (snapshot_same(old, s))
        return 0;
    for (size_t i = 0; i < s->warnings.len; i++) {
        if (!strv_has(&old->warnings, str_of(s->warnings.ptr[i])))
            strv_adds(ret_notes, s->warnings.ptr[i]);
    }
    if (atomic_fetch_add(&c->refreshed, 1) + 1 == CONF_MAX_REFRESHES)
        strv_addf(ret_notes,
                  "settings have changed %d times in this session; from now on changes count for "
                  "the next one",
                  CONF_MAX_REFRESHES);
    s->older = old;
    atomic_store_explicit(&c->now, TAKE_PTR(s), memory_order_release);
    return 1;
}

int conf_refresh(struct conf *c, struct strv *ret_notes, struct err *err)
{
    int r;

    conf_enter(c);
    r = conf_refresh_held(c, ret_notes, err);
    conf_leave(c);
    return r;
}

int conf_would_change(struct conf *c, struct err *err)
{
    CLEANUP(snapshot_freep) struct snapshot *s = NULL;
    int r = 0;

    conf_enter(c);
    if (c->refreshed < CONF_MAX_REFRESHES && (c->is_stale || stamps_changed(&c->stamps))) {
        c->is_stale = true; /* the next refresh finds it */
        r = conf_read(c, &s, err);
    }
    if (r == 0 && s)
        r = !snapshot_same(atomic_load(&c->now), s);
    conf_leave(c);
    return r;
}

void conf_trust(struct conf *c)
{
    conf_enter(c);
    c->from.trusted = true;
    c->is_stale = true;
    conf_leave(c);
}

const struct strv *conf_unapproved(const struct conf *c)
{
    return &conf_now(c)->unapproved;
}

void conf_approve(struct conf *c, const struct strv *digests)
{
    for (size_t i = 0; i < digests->len; i++) {
        struct str digest = str_of(digests->ptr[i]);

        digest = str_first(digest, str_chr(digest, ' '));
        if (!strv_has(&c->approved, digest))
            strv_add(&c->approved, digest);
    }
    c->is_stale = true;
}

int conf_lay_over(struct conf *c, const struct json *settings, struct err *err)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(SOURCE_MAX_BYTES);
    CLEANUP(strv_release) struct strv warnings = STRV_INIT; /* the refresh will tell */

    if (c->refreshed >= CONF_MAX_REFRESHES)
        return err_set(err, ERR_TOO_BIG, "settings have changed %d times in this session",
                       CONF_MAX_REFRESHES);
    if (overlay_merge(buf_str(&c->over), settings, &text, err) < 0 ||
        setting_check_all("settings", LEVEL_FLAG, buf_str(&text), &warnings, err) < 0)
        return -1;
    conf_enter(c);
    buf_move(&c->over, &text);
    c->from.over = buf_str(&c->over);
    c->is_stale = true;
    conf_leave(c);
    return 0;
}

struct conf *conf_ref(const struct conf *c)
{
    struct conf *shared = (struct conf *)c; /* only the count is written, and that is atomic */

    atomic_fetch_add_explicit(&shared->refs, 1, memory_order_relaxed);
    return shared;
}

void conf_unref(struct conf *c)
{
    if (!c || atomic_fetch_sub_explicit(&c->refs, 1, memory_order_acq_rel) > 1)
        return;
    snapshot_free(atomic_load(&c->now));
    snapshot_free(c->refused);
    plugin_cache_release(&c->plugins);
    vec_release(&c->listeners);
    gate_release(&c->gate);
    stamps_release(&c->stamps);
    stamps_release(&c->counting);
    args_release(&c->args);
    free(c->home);
    free(c->claude_home);
    free(c->user_home);
    free(c->dir);
    free(c->etc);
    buf_release(&c->over);
    buf_release(&c->policy);
    buf_release(&c->unheeded);
    strv_release(&c->without);
    strv_release(&c->approved);
    free(c);
}

void conf_unrefp(struct conf **c)
{
    conf_unref(*c);
}

const struct strv *conf_warnings(const struct conf *c)
{
    return &conf_now(c)->warnings;
}

const struct strv *conf_files(const struct conf *c)
{
    return &conf_now(c)->files;
}

const struct json *conf_get(const struct conf *c, const char *key)
{
    return json_path(conf_now(c)->root, key);
}

struct str conf_get_str(const struct conf *c, const char *key)
{
    return json_str(conf_get(c, key));
}

bool conf_get_bool(const struct conf *c, const char *key, bool otherwise)
{
    return json_bool(conf_get(c, key), otherwise);
}

int64_t conf_get_i64(const struct conf *c, const char *key, int64_t otherwise)
{
    int64_t n;

    return json_i64(conf_get(c, key), &n) ? n : otherwise;
}

struct str conf_origin(const struct conf *c, const char *key)
{
    const char *origin = map_get(&conf_now(c)->origins, str_of(key));

    return str_of(origin ? origin : "default");
}

/* Origins are "name:line:column". */
static bool conf_is_of(struct str origin, const struct strv *names)
{
    for (size_t i = 0; i < names->len; i++) {
        struct str name = str_of(names->ptr[i]);

        if (str_starts(origin, name) && str_starts(str_from(origin, name.len), STR(":")))
            return true;
    }
    return false;
}

bool conf_is_managed(const struct conf *c, const char *key)
{
    return conf_is_of(conf_origin(c, key), &conf_now(c)->managed);
}

bool conf_is_claudes(const struct conf *c, const char *key)
{
    return conf_is_of(conf_origin(c, key), &conf_now(c)->claudes);
}

bool conf_is_project(const struct conf *c, const char *key)
{
    return conf_is_of(conf_origin(c, key), &conf_now(c)->project);
}

const struct strv *conf_option(const struct conf *c, enum option_id id)
{
    return c->args.given[id] ? &c->args.values[id] : NULL;
}

const char *conf_env(const struct conf *c, const char *name)
{
    return environment_find(&conf_now(c)->environment, name);
}

char *const *conf_environ(const struct conf *c)
{
    return strv_get(&conf_now(c)->environment);
}

const char *conf_home(const struct conf *c)
{
    return c->home;
}

const char *conf_user_home(const struct conf *c)
{
    return c->user_home;
}

const char *conf_claude_home(const struct conf *c)
{
    return c->claude_home;
}

const char *conf_dir(const struct conf *c)
{
    return c->dir;
}

bool conf_lacks_file(const struct conf *c)
{
    return conf_now(c)->lacks_file;
}

bool conf_is_trusted(const struct conf *c)
{
    return conf_now(c)->is_trusted;
}

bool conf_lacks_trust(const struct conf *c)
{
    return conf_now(c)->lacks_trust;
}

const char *conf_etc(const struct conf *c)
{
    return c->etc ? c->etc : "/etc";
}

struct plugin_cache *conf_plugin_cache(const struct conf *c)
{
    return &((struct conf *)c)->plugins; /* it has a separate lock */
}
