/*
 * config: shows the settings and their sources, and changes tenax's own files. conf/setting.h
 * defines the output and the changes. Main thread.
 */
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/file.h"
#include "cmd/cmd.h"
#include "conf/conf.h"
#include "conf/keys.h"
#include "conf/keys_docs.h"
#include "conf/levels.h"
#include "conf/setting.h"
#include "conf/settings_file.h"
#include "conf/source.h"
#include "json/json.h"
#include "json/jw.h"

#define OUT_MAX ((size_t)16 << 20)

static int config_run(struct cmd *c);

const struct command cmd_config = {
    .usage =
        {
            .name = "config",
            .args = "[list] | get KEY | set KEY VALUE... | unset KEY | path",
            .words = "list get set unset path",
            .only_words = true,
            .summary = "Show or change settings",
            .details =
                "list shows where each value comes from. set and unset change your own file, with "
                "--project the project's, and with --local yours for this project.",
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

    (void)(c->args.given[OPT_JSON] ? say_out : say_live)(buf_str(out), c->cancel, &code);
    return code;
}

/* ---- Showing ---- */

struct listing {
    const struct conf *conf;
    struct buf out;
    struct jw w;
    bool json;
};

static void listing_add(void *arg, const char *path, struct str value, struct str origin)
{
    const char *unused = setting_unused(path);
    struct listing *l = arg;

    if (!l->json) {
        buf_addf(&l->out, "%s = %.*s  (%.*s)%s%s\n", path, STR_ARG(value), STR_ARG(origin),
                 unused ? "; " : "", unused ? unused : "");
        return;
    }
    jw_object(&l->w);
    jw_kcstr(&l->w, "key", path);
    jw_kraw(&l->w, "value", value);
    jw_kstr(&l->w, "origin", origin);
    if (unused)
        jw_kcstr(&l->w, "unused", unused);
    jw_kbool(&l->w, "managed", conf_is_managed(l->conf, path));
    jw_object_end(&l->w);
}

static int listing_print(struct cmd *c, struct listing *l, const char *key)
{
    const struct json *one = key ? conf_get(l->conf, key) : NULL;
    bool is_list = !key || json_is(one, JSON_OBJECT) || json_is(one, JSON_ARRAY);
    int code;

    l->out = (struct buf)BUF_INIT(OUT_MAX);
    l->json = c->args.given[OPT_JSON];
    jw_init(&l->w, &l->out, JW_PRETTY);
    if (l->json && is_list)
        jw_array(&l->w);
    setting_each(l->conf, key, listing_add, l);
    if (l->json && is_list)
        jw_array_end(&l->w);
    if (l->json)
        buf_addc(&l->out, '\n');
    if (!key && !l->out.len)
        buf_adds(&l->out, "No settings are set. Defaults apply. docs/settings.md lists the "
                          "keys.\n");
    code = config_print(c, &l->out);
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
    struct listing l = {0};

    if (!setting_row(str_of(key), &err) || cmd_conf_load(c, &conf, &err) < 0)
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

/* The file to be changed: according to --local or --project, else the user's. */
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

/* A higher level may win; the user should know when changing a value. */
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
    CLEANUP(strv_release) struct strv warnings = STRV_INIT;
    struct err err = {0};
    const struct key *k = setting_row(str_of(key), &err);
    const struct strv *words = &c->args.words;
    const struct source *target;

    if (!k || config_levels(c, /*args=*/NULL, &arena, &levels, &err) < 0)
        return config_failed(&err);
    target = config_target(c, &levels);
    if (setting_value(key, k, words->ptr + 3, words->len - 3, &value, &err) < 0 ||
        setting_write(target, key, buf_str(&value), &warnings, &err) < 0)
        return config_failed(&err);
    for (size_t i = 0; i < warnings.len; i++)
        say("%s", warnings.ptr[i]);
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
