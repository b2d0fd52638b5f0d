/*
 * hooks: lists all handlers in the settings, their positions, and whether they run.
 *
 * The list is that of a run in this folder. To find the hooks of the project's own files, the
 * settings are read again as if the folder were not trusted: those missing then need that trust in
 * interactive runs. Main thread.
 */
#include <stdbool.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/secret.h"
#include "base/strv.h"
#include "base/utf8.h"
#include "cmd/cmd.h"
#include "conf/conf.h"
#include "hooks/settings.h"
#include "host/trust.h"
#include "json/jw.h"

static int hooks_list(struct cmd *c);

const struct command cmd_hooks = {
    .usage =
        {
            .name = "hooks",
            .args = "[list]",
            .words = "list",
            .only_words = true,
            .summary = "List the hooks that apply in this folder",
            .details =
                "Shows event, matcher, what runs, where it is configured, and whether it runs.",
            .options = (const enum option_id[]){OPT_JSON, OPT_TRUST, OPT_COUNT},
        },
    .run = hooks_list,
};

/* What there is to list. */
struct listing {
    struct settings_rows rows;
    struct settings_rows plain; /* without what the project brings */
    enum trust trust;           /* of the folder */
    bool is_trusted;            /* for this run */
};

static void listing_release(struct listing *l)
{
    settings_rows_release(&l->rows);
    settings_rows_release(&l->plain);
}

static bool row_same(const struct settings_row *a, const struct settings_row *b)
{
    return str_eq(a->origin, b->origin) && str_eq(a->event, b->event) && str_eq(a->what, b->what);
}

static bool rows_have(const struct settings_rows *rows, const struct settings_row *wanted)
{
    VEC_EACH(&rows->list, row) {
        if (row_same(row, wanted))
            return true;
    }
    return false;
}

static bool is_left_out(const struct listing *l, const struct settings_row *row)
{
    return !l->is_trusted && !rows_have(&l->plain, row);
}

static void write_json(const struct listing *l, struct buf *out)
{
    static const char *const trusts[] = {
        [TRUST_UNKNOWN] = "unknown", [TRUST_YES] = "trusted", [TRUST_NO] = "untrusted"};
    struct jw w;

    jw_init(&w, out, JW_PRETTY);
    jw_object(&w);
    jw_kcstr(&w, "trust", trusts[l->trust]);
    jw_key(&w, "hooks");
    jw_array(&w);
    VEC_EACH(&l->rows.list, row) {
        jw_object(&w);
        jw_kstr(&w, "event", row->event);
        jw_kstr(&w, "matcher", row->matcher);
        jw_kstr(&w, "type", row->type);
        jw_kstr(&w, "what", row->what);
        jw_kstr(&w, "source", row->origin);
        jw_kbool(&w, "managed", row->is_managed);
        jw_kbool(&w, "needs_trust", !rows_have(&l->plain, row));
        jw_kbool(&w, "runs", !row->why_not.len && !is_left_out(l, row));
        if (row->why_not.len)
            jw_kstr(&w, "why_not", row->why_not);
        else if (is_left_out(l, row))
            jw_kcstr(&w, "why_not", "the folder is not trusted");
        jw_object_end(&w);
    }
    jw_array_end(&w);
    jw_object_end(&w);
    buf_addc(out, '\n');
}

/* PreToolUse Bash|Edit: command ./guard.sh
 *     .claude/settings.json:3:9, runs */
static void write_text(const struct listing *l, struct buf *out)
{
    VEC_EACH(&l->rows.list, row) {
        buf_add(out, row->event);
        if (row->matcher.len)
            buf_addf(out, " %.*s", STR_ARG(row->matcher));
        buf_addf(out, ": %.*s %.*s\n    %.*s%s: ", STR_ARG(row->type), STR_ARG(row->what),
                 STR_ARG(row->origin), row->is_managed ? " (managed)" : "");
        if (row->why_not.len)
            buf_addf(out, "%s%.*s\n",
                     str_starts(row->why_not, STR("not yet run")) ? "" : "does not run: ",
                     STR_ARG(row->why_not));
        else if (is_left_out(l, row))
            buf_adds(out,
                     "does not run: the folder is not trusted (tenax trust add, or --trust)\n");
        else
            buf_adds(out, "runs\n");
    }
    if (!l->rows.list.len)
        buf_adds(out, "There are no hooks here.\n");
}

static int hooks_list(struct cmd *c)
{
    CLEANUP(trust_answer_release) struct trust_answer known = TRUST_ANSWER_INIT;
    CLEANUP(listing_release) struct listing l = {0};
    CLEANUP(conf_unrefp) struct conf *conf = NULL;
    CLEANUP(conf_unrefp) struct conf *all = NULL;
    CLEANUP(conf_unrefp) struct conf *untrusted = NULL;
    CLEANUP(buf_release) struct buf out = BUF_INIT(BUF_NO_LIMIT); /* settings are bounded */
    struct conf_sources from = {.dir = c->dir, .environ = environ, .args = &c->args};
    const struct strv *words = &c->args.words; /* "hooks", verb */
    struct err err = {0};
    int code;

    if (words->len > 2 || (words->len == 2 && !str_is(str_of(words->ptr[1]), "list"))) {
        say("hooks: the only thing to do with them here is 'list'");
        return EXIT_USAGE;
    }
    code = cmd_conf(c, &conf);
    if (code)
        return code;
    if (conf_load(&from, &untrusted, &err) < 0) {
        say_error(&err);
        return EXIT_USAGE;
    }
    from.trusted = true;
    if (conf_load(&from, &all, &err) < 0) {
        say_error(&err);
        return EXIT_USAGE;
    }
    settings_list(all, &l.rows);
    settings_list(untrusted, &l.plain);
    l.is_trusted = conf_is_trusted(conf);
    if (trust_look(conf, c->dir, c->cancel, &known, /*err=*/NULL) == 0)
        l.trust = known.trust;
    if (c->args.given[OPT_JSON])
        write_json(&l, &out);
    else
        write_text(&l, &out);
    secret_scrub(&out);
    (void)(c->args.given[OPT_JSON] ? say_out : say_live)(buf_str(&out), c->cancel, &code);
    return code;
}
