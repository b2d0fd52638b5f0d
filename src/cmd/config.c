/*
 * config: what the settings are, where each value comes from, and changes to tenax's own files.
 *
 * A new value is judged by the same rows and the same check as a file would be, before anything is
 * written; the file keeps every other byte (conf/settings_file.h). Main thread.
 */
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/file.h"
#include "base/secret.h"
#include "cmd/cmd.h"
#include "conf/check.h"
#include "conf/conf.h"
#include "conf/keys.h"
#include "conf/keys_docs.h"
#include "conf/levels.h"
#include "conf/settings_file.h"
#include "conf/source.h"
#include "json/json.h"
#include "json/jw.h"

#define OUT_MAX ((size_t)16 << 20)
#define MAX_DEPTH 32

static int config_run(struct cmd *c);

const struct command cmd_config = {
    .usage =
        {
            .name = "config",
            .args = "[list] | get KEY | set KEY VALUE... | unset KEY | path",
            .words = "list get set unset path",
            .summary = "Show settings and where each comes from; change one in your own file (or "
                       "the project's, --project, or yours for this project, --local); list the "
                       "files",
            .options = (const enum option_id[]){OPT_USER, OPT_PROJECT, OPT_LOCAL, OPT_JSON,
                                                OPT_SETTINGS, OPT_SETTING_SOURCES, OPT_COUNT},
        },
    .run = config_run,
};

static int config_failed(const struct err *err)
{
    say_error(err);
    return err->code == ERR_BAD_INPUT || err->code == ERR_TOO_BIG ? EXIT_USAGE : EXIT_FAILED;
}

static int config_print(struct cmd *c, const struct buf *out)
{
    int code = EXIT_OK;

    (void)say_out(buf_str(out), c->cancel, &code);
    return code;
}

/* The row of a key as people write it, "env.PATH"; NULL with the nearest one in the error. */
static const struct key *config_key(struct str path, struct err *err)
{
    const struct key *k = NULL;
    struct str rest = path;
    struct str part;

    while (str_cut(&rest, '.', &part)) {
        const struct key *child = key_child(k, part);
        struct str near = key_suggest(k, part);

        if (!child && k && !key_has_children(k))
            return k; /* its members are anybody's */
        if (!child) {
            err_set(err, ERR_BAD_INPUT, "'%.*s' is not a setting%s%.*s%s",
                    STR_ARG(str_clip(path, 80)), near.len ? "; did you mean '" : "", STR_ARG(near),
                    near.len ? "'?" : "");
            return NULL;
        }
        k = child;
    }
    if (!k)
        err_set(err, ERR_BAD_INPUT, "which setting?");
    return k;
}

/* ---- Showing ---- */

/* Values that are often secret are not shown unless they are asked for by name. */
static bool config_hides(const char *path)
{
    return strncmp(path, "env.", 4) == 0 || strstr(path, ".headers.");
}

struct listing {
    const struct conf *conf;
    struct buf path;
    struct buf out;
    struct jw w;
    bool json;
    bool by_name; /* one value was asked for */
};

static void listing_add(struct listing *l, const struct json *v)
{
    const char *path = buf_cstr(&l->path);
    struct str origin = conf_origin(l->conf, path);
    CLEANUP(buf_release) struct buf value = BUF_INIT(OUT_MAX);
    CLEANUP(buf_release) struct buf masked = BUF_INIT(OUT_MAX);
    struct jw w;

    jw_init(&w, &value, 0);
    if (config_hides(path) && !l->by_name) {
        secret_mask(json_is(v, JSON_STRING) ? json_str(v) : json_raw(v), &masked);
        jw_str(&w, buf_str(&masked));
    } else {
        jw_json(&w, v);
    }
    if (!l->json) {
        buf_addf(&l->out, "%s = %s  (%.*s)\n", path, buf_cstr(&value), STR_ARG(origin));
        return;
    }
    jw_object(&l->w);
    jw_kcstr(&l->w, "key", path);
    jw_kraw(&l->w, "value", buf_str(&value));
    jw_kstr(&l->w, "origin", origin);
    jw_kbool(&l->w, "managed", conf_is_managed(l->conf, path));
    jw_object_end(&l->w);
}

/* Every value and every element has its own origin, so each has its own line. */
static void listing_walk(struct listing *l, const struct json *v, unsigned depth)
{
    size_t len = l->path.len;
    size_t i = 0;

    if ((!json_is(v, JSON_OBJECT) && !json_is(v, JSON_ARRAY)) || !json_len(v) ||
        depth == MAX_DEPTH) {
        listing_add(l, v);
        return;
    }
    JSON_EACH(v, child) {
        if (json_is(v, JSON_OBJECT))
            buf_addf(&l->path, "%s%.*s", len ? "." : "", STR_ARG(json_key(child)));
        else
            buf_addf(&l->path, ".%zu", i++);
        if (json_is(v, JSON_OBJECT))
            listing_walk(l, child, depth + 1);
        else
            listing_add(l, child);
        buf_cut(&l->path, len, l->path.len - len);
    }
}

static int listing_print(struct cmd *c, struct listing *l, const char *key)
{
    size_t count;
    const struct key *keys = key_table(&count);
    const struct json *one = key ? conf_get(l->conf, key) : NULL;
    bool is_list = !key || json_is(one, JSON_OBJECT) || json_is(one, JSON_ARRAY);
    int code;

    l->path = (struct buf)BUF_INIT(BUF_NO_LIMIT);
    l->out = (struct buf)BUF_INIT(OUT_MAX);
    l->json = c->args.given[OPT_JSON];
    jw_init(&l->w, &l->out, JW_PRETTY);
    if (l->json && is_list)
        jw_array(&l->w);
    if (key) {
        buf_adds(&l->path, key);
        listing_walk(l, one, 0);
    }
    for (size_t i = 0; !key && i < count; i++) {
        const struct json *v = strchr(keys[i].path, '.') ? NULL : conf_get(l->conf, keys[i].path);

        if (!v)
            continue;
        buf_clear(&l->path);
        buf_adds(&l->path, keys[i].path);
        listing_walk(l, v, 0);
    }
    if (l->json && is_list)
        jw_array_end(&l->w);
    if (l->json)
        buf_addc(&l->out, '\n');
    code = config_print(c, &l->out);
    buf_release(&l->path);
    buf_release(&l->out);
    return code;
}

static int config_list(struct cmd *c)
{
    CLEANUP(conf_unrefp) struct conf *conf = NULL;
    int code = cmd_conf(c, &conf);
    struct listing l = {.conf = conf};

    return code ? code : listing_print(c, &l, /*key=*/NULL);
}

static int config_get(struct cmd *c, const char *key)
{
    CLEANUP(conf_unrefp) struct conf *conf = NULL;
    struct err err = {0};
    struct listing l = {.by_name = true};

    if (!config_key(str_of(key), &err) || cmd_conf_load(c, &conf, &err) < 0)
        return config_failed(&err);
    l.conf = conf;
    if (!conf_get(conf, key)) {
        say("'%s' is not set", key);
        return EXIT_FAILED;
    }
    return listing_print(c, &l, key);
}

/* ---- Files ---- */

static const char *const level_names[] = {[LEVEL_USER] = "user",
                                          [LEVEL_PROJECT] = "project",
                                          [LEVEL_LOCAL] = "local",
                                          [LEVEL_FLAG] = "command line",
                                          [LEVEL_MANAGED] = "managed"};

static int config_levels(struct cmd *c, const struct args *args, struct arena *arena,
                         struct levels *ret, struct err *err)
{
    struct conf_sources from = {
        .dir = c->dir, .environ = environ, .args = args, .etc = "/etc", .trusted = true};

    return levels_find(&from, arena, ret, err);
}

static int config_path(struct cmd *c)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    CLEANUP(levels_release) struct levels levels = {0};
    CLEANUP(buf_release) struct buf out = BUF_INIT(OUT_MAX);
    struct err err = {0};
    struct jw w;

    if (config_levels(c, &c->args, &arena, &levels, &err) < 0)
        return config_failed(&err);
    jw_init(&w, &out, JW_PRETTY);
    if (c->args.given[OPT_JSON])
        jw_array(&w);
    VEC_EACH(&levels.list, s) {
        bool exists = s->path && file_exists(s->path);

        if (!s->path)
            continue;
        if (c->args.given[OPT_JSON]) {
            jw_object(&w);
            jw_kcstr(&w, "level", level_names[s->level]);
            jw_kcstr(&w, "home", s->ours ? "tenax" : "claude");
            jw_kcstr(&w, "path", s->path);
            jw_kbool(&w, "exists", exists);
            jw_object_end(&w);
        } else {
            buf_addf(&out, "%-12s %-8s %s\n", level_names[s->level], exists ? "" : "missing",
                     s->name);
        }
    }
    if (c->args.given[OPT_JSON]) {
        jw_array_end(&w);
        buf_addc(&out, '\n');
    }
    return config_print(c, &out);
}

/* The file of ours that a change goes to: of --local, --project, or the user's. */
static const struct source *config_target(const struct cmd *c, const struct levels *levels)
{
    enum source_level level = c->args.given[OPT_LOCAL]     ? LEVEL_LOCAL
                              : c->args.given[OPT_PROJECT] ? LEVEL_PROJECT
                                                           : LEVEL_USER;

    VEC_EACH(&levels->list, s) {
        if (s->ours && s->level == level)
            return s;
    }
    BUG("no settings file of ours");
}

/* ---- Changing ---- */

/* What was typed, as JSON: several words or a word for a list are its elements; a word that is no
 * JSON of the right type is a string where one may stand. */
static int config_value(const struct key *k, const struct strv *words, struct buf *ret,
                        struct err *err)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    CLEANUP(buf_release) struct buf reason = BUF_INIT(1024);
    struct str first = str_of(words->ptr[3]);
    const struct json *v = NULL;
    struct jw w;

    jw_init(&w, ret, 0);
    if (words->len == 4 && json_parse(&arena, first, &v, /*ret_info=*/NULL, /*err=*/NULL) == 0 &&
        key_accepts(k, v, &reason)) {
        buf_add(ret, str_trim(first));
    } else if (k->types & KEY_STRINGS) {
        jw_array(&w);
        for (size_t i = 3; i < words->len; i++)
            jw_cstr(&w, words->ptr[i]);
        jw_array_end(&w);
    } else if (words->len > 4) {
        return err_set(err, ERR_BAD_INPUT, "'%s' takes one value", words->ptr[2]);
    } else if ((k->types & KEY_STRING) || !v) {
        jw_str(&w, first);
    } else {
        buf_add(ret, str_trim(first));
    }
    return buf_check(ret, err);
}

/* As if the file had it: what would be left out there is refused here. */
static int config_check(const struct source *target, const char *key, struct str value,
                        struct err *err)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    CLEANUP(check_release) struct check check = {.trusted = true};
    CLEANUP(strv_release) struct strv warnings = STRV_INIT;
    CLEANUP(buf_release) struct buf text = BUF_INIT(SOURCE_MAX_BYTES);
    struct source s = {.level = target->level, .ours = true, .name = target->name};

    if (settings_text_set(STR("{}"), key, value, &text, err) < 0)
        return -1;
    s.text = buf_str(&text);
    if (source_load(&s, &arena, &check.warnings, err) < 0)
        return -1;
    check_source(&check, &s);
    check_take_warnings(&check, &warnings);
    if (check.left_out.len) {
        struct str why = str_of(warnings.ptr[0]);

        if (str_ends(why, STR("; ignored")))
            why.len -= strlen("; ignored");
        return err_set(err, ERR_BAD_INPUT, "%.*s; nothing was written", STR_ARG(why));
    }
    for (size_t i = 0; i < warnings.len; i++)
        say("%s", warnings.ptr[i]);
    return 0;
}

static int config_give(const struct json *old, struct buf *ret, void *arg, struct err *err)
{
    (void)old;
    buf_add(ret, *(struct str *)arg);
    return buf_check(ret, err);
}

/* Somebody above may have the last word; whoever changes a value should know. */
static void config_say_winner(struct cmd *c, const struct source *target, const char *key)
{
    CLEANUP(conf_unrefp) struct conf *conf = NULL;
    struct err err = {0};
    struct str origin;

    if (cmd_conf_load(c, &conf, &err) < 0) {
        say_error(&err);
        return;
    }
    origin = conf_origin(conf, key);
    if (!str_starts(origin, str_of(target->name)) && !str_is(origin, "default"))
        say("%s: '%s' has its value from %.*s, which beats this file", target->name, key,
            STR_ARG(origin));
}

static int config_set(struct cmd *c, const char *key)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    CLEANUP(levels_release) struct levels levels = {0};
    CLEANUP(buf_release) struct buf value = BUF_INIT(SOURCE_MAX_BYTES);
    struct err err = {0};
    const struct key *k = config_key(str_of(key), &err);
    const struct source *target;
    struct str text;

    if (!k || config_levels(c, /*args=*/NULL, &arena, &levels, &err) < 0)
        return config_failed(&err);
    target = config_target(c, &levels);
    if (config_value(k, &c->args.words, &value, &err) < 0)
        return config_failed(&err);
    text = buf_str(&value);
    if (config_check(target, key, text, &err) < 0 ||
        settings_file_change(target->path, key, config_give, &text, &err) < 0)
        return config_failed(&err);
    config_say_winner(c, target, key);
    return EXIT_OK;
}

static int config_unset(struct cmd *c, const char *key)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    CLEANUP(levels_release) struct levels levels = {0};
    struct err err = {0};
    const struct source *target;
    int rc;

    if (config_levels(c, /*args=*/NULL, &arena, &levels, &err) < 0)
        return config_failed(&err);
    target = config_target(c, &levels);
    rc = settings_file_remove(target->path, key, &err);
    if (rc < 0)
        return config_failed(&err);
    if (!rc) {
        say("%s: '%s' is not set there", target->name, key);
        return EXIT_FAILED;
    }
    config_say_winner(c, target, key);
    return EXIT_OK;
}

static int config_run(struct cmd *c)
{
    const struct strv *words = &c->args.words; /* "config", what, KEY, VALUE... */
    struct str what = words->len > 1 ? str_of(words->ptr[1]) : STR("list");
    bool one_place =
        c->args.given[OPT_USER] + c->args.given[OPT_PROJECT] + c->args.given[OPT_LOCAL] <= 1;

    if (str_is(what, "docs") && words->len == 2) { /* for scripts/settings-docs */
        CLEANUP(buf_release) struct buf out = BUF_INIT(OUT_MAX);

        keys_write_docs(&out);
        return config_print(c, &out);
    }
    if (str_is(what, "list") && words->len <= 2)
        return config_list(c);
    if (str_is(what, "path") && words->len == 2)
        return config_path(c);
    if (str_is(what, "get") && words->len == 3)
        return config_get(c, words->ptr[2]);
    if (str_is(what, "set") && words->len >= 4 && one_place)
        return config_set(c, words->ptr[2]);
    if (str_is(what, "unset") && words->len == 3 && one_place)
        return config_unset(c, words->ptr[2]);
    say("usage: tenax config %s", cmd_config.usage.args);
    return EXIT_USAGE;
}
