/*
 * trust: which folders are trusted, and by what. Main thread.
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "cmd/cmd.h"
#include "conf/conf.h"
#include "host/trust.h"
#include "json/jw.h"
#include "store/store.h"

static int trust_run(struct cmd *c);

const struct command cmd_trust = {
    .usage =
        {
            .name = "trust",
            .args = "[status | add | remove] [DIR] | list",
            .words = "status add remove list",
            .only_words = true,
            .summary = "Show, grant or revoke trust in a folder",
            .details = "Settings of a trusted folder, and of all folders in it, may run programs "
                       "and grant permissions. DIR is this folder if omitted. 'trust status' exits "
                       "with 0 (trusted) or 1 (not).",
            .options = (const enum option_id[]){OPT_JSON, OPT_COUNT},
        },
    .run = trust_run,
};

static const char *const names[] = {
    [TRUST_UNKNOWN] = "not asked", [TRUST_YES] = "trusted", [TRUST_NO] = "not trusted"};

static int trust_failed(const struct err *err)
{
    say_error(err);
    return err->code == ERR_BAD_INPUT || err->code == ERR_NOT_FOUND ? EXIT_USAGE : EXIT_FAILED;
}

static int trust_status(struct cmd *c, const struct conf *conf, const char *dir)
{
    CLEANUP(trust_answer_release) struct trust_answer a = TRUST_ANSWER_INIT;
    CLEANUP(buf_release) struct buf out = BUF_INIT(1 << 20);
    struct err err = {0};
    struct jw w;
    int code;

    if (trust_look(conf, dir, c->cancel, &a, &err) < 0)
        return trust_failed(&err);
    if (c->args.given[OPT_JSON]) {
        jw_init(&w, &out, JW_PRETTY);
        jw_object(&w);
        jw_kcstr(&w, "directory", dir);
        jw_kcstr(&w, "trust",
                 a.trust == TRUST_YES  ? "yes"
                 : a.trust == TRUST_NO ? "no"
                                       : "unknown");
        if (a.trust)
            jw_kstr(&w, "by", buf_str(&a.dir));
        jw_kcstr(&w, "source", a.is_claudes ? "claude" : "tenax");
        jw_object_end(&w);
        buf_addc(&out, '\n');
    } else {
        buf_addf(&out, "%s: %s", dir, names[a.trust]);
        if (a.trust && !str_is(buf_str(&a.dir), dir))
            buf_addf(&out, ", because of %s", buf_cstr(&a.dir));
        buf_adds(&out, a.is_claudes ? " (by Claude Code's ~/.claude.json)\n" : "\n");
    }
    code = a.trust == TRUST_YES ? EXIT_OK : EXIT_FAILED;
    (void)(c->args.given[OPT_JSON] ? say_out : say_live)(buf_str(&out), c->cancel, &code);
    return code;
}

/* The settings of the folder that is trusted, which need not be this one. */
static int trust_load(struct cmd *c, const char *dir, struct conf **ret, struct err *err)
{
    struct conf_sources from = {
        .dir = dir, .environ = environ, .args = &c->args, .etc = "/etc", .trusted = true};

    return conf_load(&from, ret, err) < 0 || trust_approve(*ret, c->cancel, err) < 0 ? -1 : 0;
}

static int trust_change(struct cmd *c, const struct conf *conf, const char *dir, enum trust trust)
{
    CLEANUP(conf_unrefp) struct conf *own = NULL;
    struct err err = {0};
    int rc = 0;

    if (trust == TRUST_YES && trust_refuse_agents(conf, "trust a folder", &err) < 0)
        return trust_failed(&err);
    if (trust == TRUST_YES)
        rc = trust_load(c, dir, &own, &err);
    if (rc == 0)
        rc = trust_set(own ? own : conf, dir, trust, c->cancel, &err);
    for (size_t i = 0; rc >= 0 && own && i < conf_unapproved(own)->len; i++) {
        struct str line = str_of(conf_unapproved(own)->ptr[i]);

        say("approved: %.*s", STR_ARG(str_from(line, str_chr(line, ' ') + 1)));
    }
    if (rc < 0)
        return trust_failed(&err);
    if (trust == TRUST_UNKNOWN && !rc)
        say("no decision is stored for %s", dir);
    (void)trust_status(c, conf, dir);
    return trust == TRUST_UNKNOWN && !rc ? EXIT_FAILED : EXIT_OK;
}

static int trust_list(struct cmd *c, const struct conf *conf)
{
    CLEANUP(mem_freep) char *db = path_join(conf_home(conf), "state.db");
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    CLEANUP(store_freep) struct store *store = NULL;
    CLEANUP(buf_release) struct buf out = BUF_INIT((size_t)16 << 20);
    store_trust_vec rows = VEC_INIT;
    struct err err = {0};
    struct jw w;
    int code = EXIT_OK;

    if (file_exists(db) && (store_shared(conf_home(conf), c->cancel, &store, &err) < 0 ||
                            store_trust_list(store, &arena, &rows, c->cancel, &err) < 0)) {
        vec_release(&rows);
        return trust_failed(&err);
    }
    jw_init(&w, &out, JW_PRETTY);
    if (c->args.given[OPT_JSON])
        jw_array(&w);
    VEC_EACH(&rows, row) {
        char when[25];

        clock_iso(row->time_ms, when);
        if (c->args.given[OPT_JSON]) {
            jw_object(&w);
            jw_kstr(&w, "directory", row->dir);
            jw_kcstr(&w, "trust", row->trusted ? "yes" : "no");
            jw_kcstr(&w, "time", when);
            jw_object_end(&w);
        } else {
            buf_addf(&out, "%-12s %.10s  %.*s\n", names[row->trusted ? TRUST_YES : TRUST_NO], when,
                     STR_ARG(row->dir));
        }
    }
    if (c->args.given[OPT_JSON]) {
        jw_array_end(&w);
        buf_addc(&out, '\n');
    }
    vec_release(&rows);
    (void)(c->args.given[OPT_JSON] ? say_out : say_live)(buf_str(&out), c->cancel, &code);
    return code;
}

static int trust_run(struct cmd *c)
{
    CLEANUP(conf_unrefp) struct conf *conf = NULL;
    const struct strv *words = &c->args.words; /* "trust", what, DIR */
    struct str what = words->len > 1 ? str_of(words->ptr[1]) : STR("status");
    const char *want = words->len > 2 ? words->ptr[2] : ".";
    CLEANUP(mem_freep) char *path = path_join(c->dir, want);
    char dir[PATH_MAX];
    struct err err = {0};

    if (!str_is_word_of(what, cmd_trust.usage.words) || words->len > 3) {
        say("usage: tenax trust %s", cmd_trust.usage.args);
        return EXIT_USAGE;
    }
    if (cmd_conf_load(c, &conf, &err) < 0)
        return trust_failed(&err);
    if (str_is(what, "list"))
        return trust_list(c, conf);
    if (!realpath(path, dir) || !file_is_dir(dir)) {
        if (!str_is(what, "remove")) { /* a missing folder can still be forgotten */
            say("there is no folder '%s'", path);
            return EXIT_USAGE;
        }
        snprintf(dir, sizeof(dir), "%s", path);
    }
    if (str_is(what, "status"))
        return trust_status(c, conf, dir);
    return trust_change(c, conf, dir, str_is(what, "add") ? TRUST_YES : TRUST_UNKNOWN);
}
