/*
 * plugin: plugins and marketplaces, installed, changed and listed. Main thread.
 */
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/strv.h"
#include "cmd/cmd.h"
#include "conf/conf.h"
#include "host/plugins/plugins.h"
#include "host/trust.h"
#include "json/jw.h"

static int plugin_run(struct cmd *c);

const struct command cmd_plugin = {
    .usage =
        {
            .name = "plugin",
            .args = "list | install SOURCE | uninstall ID | enable ID | disable ID | update ID | "
                    "details ID | validate DIR | marketplace list | marketplace add SOURCE | "
                    "marketplace remove NAME | marketplace update [NAME]",
            .words = "list install uninstall remove enable disable update details validate "
                     "marketplace",
            .summary = "Manage plugins and marketplaces",
            .options = (const enum option_id[]){OPT_SCOPE, OPT_CONFIG_VALUE, OPT_YES, OPT_ALL,
                                                OPT_AVAILABLE, OPT_KEEP_DATA, OPT_JSON, OPT_COUNT},
        },
    .run = plugin_run,
};

static int plugin_usage(void)
{
    say("usage: tenax plugin %s", cmd_plugin.usage.args);
    return EXIT_USAGE;
}

/* ---- Questions ---- */

/* Programs it can run are shown even without a question. */
static int confirm(void *arg, struct str title, struct str what, struct err *err)
{
    struct cmd *c = arg;
    CLEANUP(buf_release) struct buf line = BUF_INIT(1000);
    struct str rest = what;
    struct str one;

    if (!c->args.given[OPT_JSON]) {
        say_plain("%.*s", STR_ARG(title));
        while (rest.len && str_cut(&rest, '\n', &one))
            say_plain("  %.*s", STR_ARG(one));
        if (!what.len)
            say_plain("  It runs nothing by itself.");
    }
    if (c->args.given[OPT_YES])
        return 0;
    if (!isatty(STDIN_FILENO) || !isatty(STDERR_FILENO))
        return err_set(err, ERR_DENIED, "there is no user to ask here; --yes allows it");
    say_plain("Continue? [y/N]");
    if (cmd_read_line(c, &line, err) < 0)
        return -1;
    if (str_is_word_of(str_trim(buf_str(&line)), "y Y yes"))
        return 0;
    return err_set(err, ERR_DENIED, "not confirmed; nothing was changed");
}

/* ---- Answers ---- */

static int plugin_print(struct cmd *c, struct str text)
{
    int code = EXIT_OK;

    (void)(c->args.given[OPT_JSON] ? say_out : say_live)(text, c->cancel, &code);
    return code;
}

/* How it went: a line, or an object on one line. */
static int plugin_told(struct cmd *c, const char *command, struct str asked,
                       const struct plugin_done *d, const struct err *err)
{
    CLEANUP(buf_release) struct buf out = BUF_INIT(256 << 10);
    struct str id = d->id.len ? buf_str(&d->id) : asked;
    int code = EXIT_OK;
    struct jw w;

    for (size_t i = 0; i < d->warnings.len; i++)
        say("%s", d->warnings.ptr[i]);
    if (err && !c->args.given[OPT_JSON]) {
        say_error(err);
        return err->code == ERR_BAD_INPUT ? EXIT_USAGE : EXIT_FAILED;
    }
    if (c->args.given[OPT_JSON]) {
        jw_init(&w, &out, 0);
        jw_object(&w);
        jw_kcstr(&w, "command", command);
        jw_kcstr(&w, "outcome", err ? "failed" : "ok");
        jw_kstr(&w, "plugin", str_first(id, str_chr(id, '@')));
        jw_kstr(&w, "pluginId", id);
        jw_kcstr(&w, "scope", plugin_scope_name(d->scope));
        if (err)
            jw_kcstr(&w, "message", err->text);
        else
            jw_kstr(&w, "message", buf_str(&d->message));
        jw_object_end(&w);
    } else {
        buf_add(&out, buf_str(&d->message));
    }
    buf_addc(&out, '\n');
    code = plugin_print(c, buf_str(&out));
    return code ? code : err ? EXIT_FAILED : EXIT_OK;
}

/* ---- Verbs ---- */

static int plugin_show(struct cmd *c, const struct conf *conf, struct str verb)
{
    CLEANUP(buf_release) struct buf out = BUF_INIT((size_t)16 << 20);
    CLEANUP(strv_release) struct strv problems = STRV_INIT;
    const struct strv *words = &c->args.words;
    bool is_json = c->args.given[OPT_JSON];
    struct err err = {0};
    struct jw w;
    int rc = 0;

    jw_init(&w, &out, JW_PRETTY);
    if (str_is(verb, "list")) {
        rc = plugin_write_list(conf, c->args.given[OPT_AVAILABLE], is_json ? &w : NULL, &out, &err);
    } else if (str_is(verb, "marketplace")) {
        rc = market_write_list(conf, is_json ? &w : NULL, &out, &err);
    } else if (words->len < 3) {
        return plugin_usage();
    } else if (str_is(verb, "details")) {
        rc = plugin_write_details(conf, str_of(words->ptr[2]), is_json ? &w : NULL, &out, &err);
    } else {
        CLEANUP(mem_freep) char *path = path_join(c->dir, words->ptr[2]);

        rc = plugin_validate(path, &problems, &err);
        for (size_t i = 0; i < problems.len && !is_json; i++)
            buf_addf(&out, "%s\n", problems.ptr[i]);
        if (!is_json && !problems.len)
            buf_addf(&out, "%s is fine\n", path);
        if (is_json) {
            jw_object(&w);
            jw_kbool(&w, "valid", !problems.len);
            jw_key(&w, "problems");
            jw_array(&w);
            for (size_t i = 0; i < problems.len; i++)
                jw_cstr(&w, problems.ptr[i]);
            jw_array_end(&w);
            jw_object_end(&w);
        }
    }
    if (rc < 0) {
        say_error(&err);
        return EXIT_FAILED;
    }
    if (is_json)
        buf_addc(&out, '\n');
    rc = plugin_print(c, buf_str(&out));
    return rc ? rc : problems.len ? EXIT_FAILED : EXIT_OK;
}

typedef int (*change_fn)(const struct plugin_job *job, struct str what, struct plugin_done *ret,
                         struct err *err);

static int enable(const struct plugin_job *job, struct str id, struct plugin_done *ret,
                  struct err *err)
{
    return plugin_switch(job, id, true, ret, err);
}

static int disable(const struct plugin_job *job, struct str id, struct plugin_done *ret,
                   struct err *err)
{
    return plugin_switch(job, id, false, ret, err);
}

static const struct {
    const char *verb; /* of a marketplace: after that word */
    change_fn fn;
    bool of_market;
} changes[] = {
    {"install", plugin_install, false},  {"uninstall", plugin_uninstall, false},
    {"remove", plugin_uninstall, false}, {"enable", enable, false},
    {"disable", disable, false},         {"update", plugin_update, false},
    {"add", market_add, true},           {"remove", market_remove, true},
    {"update", market_update, true},
};

static int plugin_change(struct cmd *c, const struct plugin_job *job, const char *command,
                         change_fn fn, struct str what)
{
    CLEANUP(plugin_done_release) struct plugin_done done = {0};
    bool is_less = fn == disable || fn == plugin_uninstall || fn == market_remove;
    struct err err = {0};

    if ((!is_less && trust_refuse_agents(job->conf, "install or change plugins", &err) < 0) ||
        fn(job, what, &done, &err) < 0)
        return plugin_told(c, command, what, &done, &err);
    return plugin_told(c, command, what, &done, NULL);
}

/* One after the other; returns the exit code of the first failure. */
static int plugin_change_all(struct cmd *c, const struct plugin_job *job, const char *command,
                             change_fn fn, const struct strv *what)
{
    int code = EXIT_OK;

    for (size_t i = 0; i < what->len; i++) {
        int one = plugin_change(c, job, command, fn, str_of(what->ptr[i]));

        code = code ? code : one;
    }
    return code;
}

/* `update --all`, `marketplace update` without a name. */
static int plugin_every(struct cmd *c, const struct plugin_job *job, bool of_market, change_fn fn)
{
    CLEANUP(strv_release) struct strv all = STRV_INIT;
    struct err err = {0};

    if ((of_market ? market_names : plugin_installed)(job->conf, &all, &err) < 0) {
        say_error(&err);
        return EXIT_FAILED;
    }
    if (!all.len && !c->args.given[OPT_JSON])
        say(of_market ? "no marketplaces are known" : "no plugins are installed");
    return plugin_change_all(c, job, of_market ? "marketplace update" : "update", fn, &all);
}

static int plugin_run(struct cmd *c)
{
    CLEANUP(conf_unrefp) struct conf *conf = NULL;
    const struct strv *words = &c->args.words; /* "plugin", verb, what */
    struct str verb = words->len > 1 ? str_of(words->ptr[1]) : STR("list");
    bool of_market = str_is(verb, "marketplace");
    size_t at = of_market ? 3 : 2;
    const char *scope = args_get(&c->args, OPT_SCOPE);
    struct plugin_job job = {.cancel = c->cancel,
                             .config = &c->args.values[OPT_CONFIG_VALUE],
                             .keeps_data = c->args.given[OPT_KEEP_DATA],
                             .confirm = confirm,
                             .arg = c};
    struct err err = {0};

    if (of_market)
        verb = words->len > 2 ? str_of(words->ptr[2]) : STR("list");
    if (scope)
        (void)plugin_scope_parse(str_of(scope), &job.scope);
    if (cmd_conf_load_careful(c, &conf, &err) < 0) {
        say_error(&err);
        return err.code == ERR_BAD_INPUT ? EXIT_USAGE : EXIT_FAILED;
    }
    job.conf = conf;
    if (of_market && str_is(verb, "list"))
        return plugin_show(c, conf, STR("marketplace"));
    if (!of_market && str_is_word_of(verb, "list details validate"))
        return plugin_show(c, conf, verb);
    for (size_t i = 0; i < ARRAY_LEN(changes); i++) {
        if (changes[i].of_market != of_market || !str_is(verb, changes[i].verb))
            continue;
        if (words->len == at && str_is(verb, "update") && (of_market || c->args.given[OPT_ALL]))
            return plugin_every(c, &job, of_market, changes[i].fn);
        return words->len == at + 1
                   ? plugin_change(c, &job, changes[i].verb, changes[i].fn, str_of(words->ptr[at]))
                   : plugin_usage();
    }
    return plugin_usage();
}
