/*
 * mcp serve: our tools for other programs, over standard input and output or over HTTP on this
 * machine. Main thread.
 */
#include "cmd/mcp_serve.h"

#include <stdlib.h>

#include "base/err.h"
#include "base/strv.h"
#include "cmd/cmd.h"
#include "cmd/session_options.h"
#include "conf/conf.h"
#include "proto/mcp/serve.h"

/* What may be offered, and whether a client without a token may use it. */
static const struct {
    const char *name;
    bool reads;
} offered[] = {
    {"Read", true},          {"Write", false},    {"Edit", false},       {"Glob", true},
    {"Grep", true},          {"Bash", false},     {"BashOutput", false}, {"KillShell", false},
    {"NotebookEdit", false}, {"WebFetch", false},
};

/* -1: a tool is asked for that is not offered. */
static int choose_tools(const struct args *args, struct strv *ret)
{
    const struct strv *wanted = &args->values[OPT_TOOLS];
    bool all = !args->given[OPT_TOOLS] || strv_has(wanted, STR("default"));
    bool reads_only = args->given[OPT_NO_TOKEN];

    for (size_t i = 0; i < ARRAY_LEN(offered); i++) {
        if (!all && !strv_has(wanted, str_of(offered[i].name)))
            continue;
        if (!reads_only || offered[i].reads) {
            strv_adds(ret, offered[i].name);
        } else if (!all) {
            say("--no-token: only Read, Glob and Grep can be used without a token, not %s",
                offered[i].name);
            return -1;
        }
    }
    for (size_t i = 0; !all && i < wanted->len; i++) {
        bool known = false;

        for (size_t k = 0; k < ARRAY_LEN(offered); k++)
            known = known || str_is(str_of(wanted->ptr[i]), offered[k].name);
        if (!known) {
            say("--tools: mcp serve does not offer '%s'", wanted->ptr[i]);
            return -1;
        }
    }
    return 0;
}

static int serve(struct cmd *c, struct session_options *o, struct err *err)
{
    CLEANUP(strv_release) struct strv notes = STRV_INIT;
    const char *http = args_get(&c->args, OPT_HTTP);
    struct serve_http spec = {
        .address = http, .home = conf_home(o->conf), .no_token = c->args.given[OPT_NO_TOKEN]};
    struct host *host = NULL;
    struct serve *s;
    int r;

    r = host_new(&o->host, &notes, &host, err);
    for (size_t i = 0; i < notes.len; i++)
        say("%s", notes.ptr[i]);
    if (r < 0)
        return -1;
    s = serve_new(host, /*never_asks=*/spec.no_token, c->cancel, err);
    if (!s)
        r = -1;
    else
        r = http ? serve_http(s, &spec, c->cancel, err) : serve_stdio(s, c->cancel, err);
    serve_free(s);
    host_free(host);
    return r;
}

int mcp_serve(struct cmd *c)
{
    CLEANUP(session_options_release) struct session_options options = {0};
    CLEANUP(strv_release) struct strv tools = STRV_INIT;
    struct err err = {0};

    if (c->args.given[OPT_NO_TOKEN] && !c->args.given[OPT_HTTP]) {
        say("--no-token belongs to --http");
        return EXIT_USAGE;
    }
    if (choose_tools(&c->args, &tools) < 0)
        return EXIT_USAGE;
    if (session_options_read(&options, c, /*is_interactive=*/false, &err) < 0) {
        say_error(&err);
        return EXIT_USAGE;
    }
    options.host.tools = &tools;
    options.host.only_calls = true;
    options.host.session.is_unkept = true;
    if (serve(c, &options, &err) < 0) {
        say_error(&err);
        return err.code == ERR_BAD_INPUT ? EXIT_USAGE : EXIT_FAILED;
    }
    return EXIT_OK;
}
