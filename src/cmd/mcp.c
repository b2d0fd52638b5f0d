/*
 * mcp: the MCP servers that are configured: shown, written, and tried without a model. Main thread.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/strv.h"
#include "cmd/cmd.h"
#include "cmd/mcp_login.h"
#include "cmd/mcp_serve.h"
#include "cmd/place.h"
#include "conf/conf.h"
#include "host/connect.h"
#include "host/mcp.h"
#include "host/trust.h"
#include "json/json.h"
#include "json/jw.h"
#include "mcp/client.h"
#include "mcp/mcp.h"
#include "mcp/server_conf.h"
#include "net/net.h"

#define LIST_WAIT_MS (30 * 1000)

static int mcp_run(struct cmd *c);

const struct command cmd_mcp = {
    .usage =
        {
            .name = "mcp",
            .args = "list | get NAME | add NAME COMMAND|URL [-- ARGS] | add-json NAME JSON | "
                    "remove NAME | enable NAME | disable NAME | approve NAME | tools NAME | "
                    "call NAME TOOL [JSON] | login NAME | logout NAME | serve",
            .words =
                "list get add add-json remove enable disable approve tools call login logout serve",
            .summary = "Manage and try MCP servers; serve tenax's tools",
            .details = "tools and call need no model; with --url the server need not be "
                       "configured. serve offers the tools of tenax to other programs.",
            .options = (const enum option_id[]){OPT_SCOPE,
                                                OPT_TRANSPORT,
                                                OPT_ENV,
                                                OPT_HEADER,
                                                OPT_URL,
                                                OPT_ACCEPT_DEFAULTS,
                                                OPT_JSON,
                                                OPT_LOGIN,
                                                OPT_NO_BROWSER,
                                                OPT_CLIENT_ID,
                                                OPT_CLIENT_METADATA_URL,
                                                OPT_CALLBACK_PORT,
                                                OPT_HTTP,
                                                OPT_NO_TOKEN,
                                                OPT_TOOLS,
                                                OPT_PERMISSION_MODE,
                                                OPT_ALLOWED_TOOLS,
                                                OPT_DISALLOWED_TOOLS,
                                                OPT_DANGEROUSLY_SKIP_PERMISSIONS,
                                                OPT_ADD_DIR,
                                                OPT_SETTINGS,
                                                OPT_SETTING_SOURCES,
                                                OPT_TRUST,
                                                OPT_COUNT},
        },
    .run = mcp_run,
};

static int mcp_usage(void)
{
    say("usage: tenax mcp %s", cmd_mcp.usage.args);
    return EXIT_USAGE;
}

static int mcp_failed(const struct err *err)
{
    say_error(err);
    return err->code == ERR_BAD_INPUT ? EXIT_USAGE : EXIT_FAILED;
}

/* A line on standard output; the exit code. */
static int told(struct cmd *c, const char *fmt, ...) PRINTF_LIKE(2, 3);
static int told(struct cmd *c, const char *fmt, ...)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(64 << 10);
    int code = EXIT_OK;
    va_list args;

    va_start(args, fmt);
    buf_addv(&text, fmt, args);
    va_end(args);
    buf_addc(&text, '\n');
    (void)say_live(buf_str(&text), c->cancel, &code);
    return code;
}

/* ---- Written ---- */

static int is_url(const char *text)
{
    return str_starts(str_of(text), STR("http://")) || str_starts(str_of(text), STR("https://"));
}

static void write_pairs(struct jw *w, const char *key, const struct strv *pairs, char between)
{
    if (!pairs->len)
        return;
    jw_key(w, key);
    jw_object(w);
    for (size_t i = 0; i < pairs->len; i++) {
        struct str pair = str_of(pairs->ptr[i]);
        size_t at = str_chr(pair, between);

        jw_key_str(w, str_trim(str_first(pair, at)));
        jw_str(w, str_trim(str_from(pair, at + 1)));
    }
    jw_object_end(w);
}

/* "oauth" of an entry, of the options. */
static void write_oauth(struct jw *w, const struct args *args)
{
    const char *id = args_get(args, OPT_CLIENT_ID);
    const char *url = args_get(args, OPT_CLIENT_METADATA_URL);
    const char *port = args_get(args, OPT_CALLBACK_PORT);
    int64_t number = 0;

    if (!id && !url && !port)
        return;
    jw_key(w, "oauth");
    jw_object(w);
    if (id)
        jw_kcstr(w, "clientId", id);
    if (url)
        jw_kcstr(w, "clientMetadataUrl", url);
    if (port)
        jw_ki64(w, "callbackPort", str_to_i64(str_of(port), &number, NULL) == 0 ? number : -1);
    jw_object_end(w);
}

/* Builds the entry that options and words describe. */
static int describe(struct cmd *c, struct buf *ret)
{
    const struct strv *words = &c->args.words;
    const char *type = args_get(&c->args, OPT_TRANSPORT);
    const char *target = words->ptr[3];
    struct jw w;

    if (!type && is_url(target)) {
        say("%s is a URL: the server is added with --transport http", target);
        type = "http";
    }
    for (size_t i = 0; i < c->args.values[OPT_ENV].len; i++) {
        if (!strchr(c->args.values[OPT_ENV].ptr[i], '=')) {
            say("--env takes NAME=VALUE, not '%s'", c->args.values[OPT_ENV].ptr[i]);
            return EXIT_USAGE;
        }
    }
    for (size_t i = 0; i < c->args.values[OPT_HEADER].len; i++) {
        if (!strchr(c->args.values[OPT_HEADER].ptr[i], ':')) {
            say("--header takes 'NAME: VALUE'");
            return EXIT_USAGE;
        }
    }
    jw_init(&w, ret, 0);
    jw_object(&w);
    if (!type || strcmp(type, "stdio") == 0) {
        jw_kcstr(&w, "type", "stdio");
        jw_kcstr(&w, "command", target);
        jw_key(&w, "args");
        jw_array(&w);
        for (size_t i = 4; i < words->len; i++)
            jw_cstr(&w, words->ptr[i]);
        jw_array_end(&w);
    } else {
        jw_kcstr(&w, "type", type);
        jw_kcstr(&w, "url", target);
    }
    write_pairs(&w, "env", &c->args.values[OPT_ENV], '=');
    write_pairs(&w, "headers", &c->args.values[OPT_HEADER], ':');
    write_oauth(&w, &c->args);
    jw_object_end(&w);
    return EXIT_OK;
}

static int mcp_add(struct cmd *c, const struct conf *conf, struct str name, struct str entry)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    CLEANUP(buf_release) struct buf path = BUF_INIT(64 << 10);
    const char *said = args_get(&c->args, OPT_SCOPE);
    const struct json *root = NULL;
    struct mcp_server s = {0};
    enum mcp_scope scope = MCP_LOCAL;
    struct err err = {0};
    bool is_broken;

    if (said)
        (void)mcp_scope_parse(str_of(said), &scope);
    if (!mcp_name_is_fine(name)) {
        say("'%.*s' cannot be the name of a server: letters, digits, '-' and '_' only",
            STR_ARG(name));
        return EXIT_USAGE;
    }
    if (json_parse(&arena, entry, &root, NULL, &err) < 0)
        return mcp_failed(&err);
    mcp_server_read(&s, root, conf);
    is_broken = s.gate == MCP_BROKEN && !str_ends(str_of(s.problem), STR(" is not set"));
    if (is_broken)
        say("the server is not added: %s", s.problem);
    mcp_server_release(&s);
    if (is_broken)
        return EXIT_USAGE;
    if (mcp_servers_write(conf, scope, name, entry, &path, &err) < 0)
        return mcp_failed(&err);
    return told(c, "Added the MCP server %.*s (%s).\nFile modified: %s", STR_ARG(name),
                mcp_scope_name(scope), buf_cstr(&path));
}

static int mcp_remove(struct cmd *c, const struct conf *conf, const struct mcp_servers *servers,
                      struct str name)
{
    CLEANUP(buf_release) struct buf path = BUF_INIT(64 << 10);
    CLEANUP(buf_release) struct buf places = BUF_INIT(64 << 10);
    const char *said = args_get(&c->args, OPT_SCOPE);
    enum mcp_scope scope = MCP_LOCAL;
    struct err err = {0};
    size_t found = 0;

    VEC_EACH(&servers->list, s) {
        if (!str_is(name, s->name) || s->scope < MCP_LOCAL || s->scope == MCP_PLUGIN)
            continue;
        scope = s->scope;
        found++;
        buf_addf(&places, "  %s: %s\n", mcp_scope_name(s->scope), s->file);
    }
    if (said)
        (void)mcp_scope_parse(str_of(said), &scope);
    else if (found > 1) {
        say("\"%.*s\" is configured in several places; say which with --scope:\n%s", STR_ARG(name),
            buf_cstr(&places));
        return EXIT_FAILED;
    }
    if (mcp_servers_write(conf, scope, name, STR(""), &path, &err) < 0)
        return mcp_failed(&err);
    return told(c, "Removed the MCP server %.*s (%s).\nFile modified: %s", STR_ARG(name),
                mcp_scope_name(scope), buf_cstr(&path));
}

/* ---- Shown ---- */

static void target_of(const struct mcp_server *s, struct buf *ret)
{
    for (size_t i = 0; i < s->argv.len; i++)
        buf_addf(ret, "%s%s", i ? " " : "", s->argv.ptr[i]);
    if (s->url)
        buf_addf(ret, "%s (%s)", s->url, s->type == MCP_HTTP ? "HTTP" : "SSE");
}

static void list_one(const struct mcp *m, size_t i, struct buf *out)
{
    const struct mcp_server *s = mcp_server_at(m, i);
    CLEANUP(buf_release) struct buf why = BUF_INIT(2000);
    const char *status = mcp_status(m, i, &why);

    buf_addf(out, "%s: ", s->name);
    target_of(s, out);
    if (strcmp(status, "connected") == 0)
        buf_addf(out, " - ✔ Connected%s%s\n", why.len ? ", but " : "", buf_cstr(&why));
    else if (strcmp(status, "needs-auth") == 0)
        buf_adds(out, " - ! Needs authentication\n");
    else if (s->gate == MCP_UNAPPROVED)
        buf_addf(out, " - ⏸ Pending approval (tenax mcp approve %s)\n", s->name);
    else if (s->gate == MCP_REJECTED)
        buf_adds(out, " - ✘ Rejected\n");
    else if (strcmp(status, "disabled") == 0)
        buf_addf(out, " - ⏸ Not used: %s\n", buf_cstr(&why));
    else
        buf_addf(out, " - ✘ Failed to connect — %s\n",
                 why.len ? buf_cstr(&why) : "it is still connecting");
}

static int mcp_list(struct cmd *c, struct mcp *m)
{
    CLEANUP(buf_release) struct buf out = BUF_INIT(16 << 20);
    struct jw w;
    int code = EXIT_OK;

    mcp_wait(m, LIST_WAIT_MS, c->cancel);
    if (c->args.given[OPT_JSON]) {
        jw_init(&w, &out, JW_PRETTY);
        mcp_write(m, /*tools=*/true, &w);
        buf_addc(&out, '\n');
    } else if (!mcp_count(m)) {
        buf_adds(&out, "No MCP servers are configured. Add one with: tenax mcp add NAME COMMAND\n");
    } else {
        for (size_t i = 0; i < mcp_count(m); i++)
            list_one(m, i, &out);
    }
    (void)say_live(buf_str(&out), c->cancel, &code);
    return code;
}

static void add_masked(struct buf *out, const char *title, const struct strv *pairs, char between)
{
    for (size_t i = 0; i < pairs->len; i++) {
        struct str pair = str_of(pairs->ptr[i]);

        buf_addf(out, "%s  %.*s%c [hidden]\n", i ? "" : title,
                 STR_ARG(str_first(pair, str_chr(pair, between))), between);
    }
}

static int mcp_get(struct cmd *c, struct mcp *m, size_t i)
{
    const struct mcp_server *s = mcp_server_at(m, i);
    CLEANUP(buf_release) struct buf out = BUF_INIT(16 << 20);
    CLEANUP(buf_release) struct buf why = BUF_INIT(2000);
    CLEANUP(buf_release) struct buf target = BUF_INIT(64 << 10);
    const char *status;
    struct jw w;
    int code = EXIT_OK;

    if (mcp_client_at(m, i))
        (void)mcp_client_wait(mcp_client_at(m, i), LIST_WAIT_MS, c->cancel, NULL);
    status = mcp_status(m, i, &why);
    target_of(s, &target);
    if (c->args.given[OPT_JSON]) {
        jw_init(&w, &out, JW_PRETTY);
        jw_object(&w);
        jw_kcstr(&w, "name", s->name);
        jw_kcstr(&w, "scope", mcp_scope_name(s->scope));
        jw_kcstr(&w, "file", s->file);
        jw_kcstr(&w, "status", status);
        jw_kstr(&w, "error", buf_str(&why));
        jw_kcstr(&w, "type", mcp_type_name(s->type));
        jw_kstr(&w, "target", buf_str(&target));
        jw_object_end(&w);
        buf_addc(&out, '\n');
    } else {
        buf_addf(&out, "%s:\n  Scope: %s (%s)\n  Status: %s%s%s\n  Type: %s\n  %s: %s\n", s->name,
                 mcp_scope_name(s->scope), s->file, status, why.len ? ", " : "", buf_cstr(&why),
                 mcp_type_name(s->type), s->url ? "URL" : "Command", buf_cstr(&target));
        add_masked(&out, "  Environment:\n", &s->env, '=');
        add_masked(&out, "  Headers:\n", &s->headers, ':');
        buf_addf(&out, "\nRemove it with: tenax mcp remove %s\n", s->name);
    }
    (void)say_live(buf_str(&out), c->cancel, &code);
    return code;
}

/* ---- Tried ---- */

static void say_root(void *arg, struct strv *ret)
{
    const struct cmd *c = arg;

    strv_adds(ret, c->dir);
}

/* The default of each field of a form; a form with none is accepted empty. */
static int accept_defaults(void *arg, const char *server, struct str method,
                           const struct json *params, struct cancel *cancel, struct buf *ret_result,
                           struct err *err)
{
    const struct cmd *c = arg;
    struct jw w;

    (void)server;
    (void)method;
    (void)cancel;
    (void)err;
    jw_init(&w, ret_result, 0);
    jw_object(&w);
    if (!c->args.given[OPT_ACCEPT_DEFAULTS] || json_get(params, "url")) {
        jw_kcstr(&w, "action", "cancel");
    } else {
        jw_kcstr(&w, "action", "accept");
        jw_key(&w, "content");
        jw_object(&w);
        JSON_EACH(json_get(json_get(params, "requestedSchema"), "properties"), field) {
            if (json_get(field, "default")) {
                jw_key_str(&w, json_key(field));
                jw_json(&w, json_get(field, "default"));
            }
        }
        jw_object_end(&w);
    }
    jw_object_end(&w);
    return 0;
}

/* Connected, after a login where that is wanted. */
static int await_client(struct cmd *c, struct mcp_client *client, struct err *err)
{
    int r = mcp_client_wait(client, LIST_WAIT_MS, c->cancel, err);

    for (int i = 0;
         r < 0 && i < MCP_MAX_LOGINS && err->code == ERR_AUTH && c->args.given[OPT_LOGIN]; i++) {
        *err = (struct err){0};
        if (mcp_login_again(c, client, err) < 0)
            return -1;
        r = mcp_client_wait(client, LIST_WAIT_MS, c->cancel, err);
    }
    return r;
}

static int call_with_login(struct cmd *c, struct mcp_client *client,
                           const struct mcp_request *request, struct buf *ret, struct err *err)
{
    int r = mcp_client_call(client, request, c->cancel, ret, err);

    for (int i = 0;
         r < 0 && i < MCP_MAX_LOGINS && err->code == ERR_AUTH && c->args.given[OPT_LOGIN]; i++) {
        *err = (struct err){0};
        if (mcp_login_again(c, client, err) < 0 || await_client(c, client, err) < 0)
            return -1;
        buf_clear(ret);
        r = mcp_client_call(client, request, c->cancel, ret, err);
    }
    return r;
}

static int mcp_tools_of(struct cmd *c, struct mcp_client *client)
{
    CLEANUP(buf_release) struct buf out = BUF_INIT(32 << 20);
    CLEANUP(strv_release) struct strv problems = STRV_INIT;
    struct mcp_look look;
    struct err err = {0};
    struct jw w;
    int code = EXIT_OK;

    if (await_client(c, client, &err) < 0)
        return mcp_failed(&err);
    mcp_client_look(client, &look);
    mcp_lists_problems(look.lists, &problems);
    for (size_t i = 0; i < problems.len; i++)
        say("%s", problems.ptr[i]);
    if (c->args.given[OPT_JSON]) {
        jw_init(&w, &out, JW_PRETTY);
        jw_array(&w);
    }
    VEC_EACH(&look.lists->tools, tool) {
        struct str about = json_get_str(*tool, "description");

        if (c->args.given[OPT_JSON])
            jw_json(&w, *tool);
        else
            buf_addf(&out, "%.*s: %.*s\n", STR_ARG(json_get_str(*tool, "name")),
                     STR_ARG(str_clip(str_first(about, str_chr(about, '\n')), 100)));
    }
    if (c->args.given[OPT_JSON]) {
        jw_array_end(&w);
        buf_addc(&out, '\n');
    }
    mcp_lists_unref(look.lists);
    (void)say_live(buf_str(&out), c->cancel, &code);
    return code;
}

static int mcp_call_of(struct cmd *c, struct mcp_client *client, size_t at)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    CLEANUP(buf_release) struct buf params = BUF_INIT(16 << 20);
    CLEANUP(buf_release) struct buf answer = BUF_INIT(32 << 20);
    CLEANUP(buf_release) struct buf out = BUF_INIT(32 << 20);
    const struct strv *words = &c->args.words;
    struct str args = at + 1 < words->len ? str_of(words->ptr[at + 1]) : STR("{}");
    struct mcp_request request = {.method = "tools/call"};
    const struct json *result = NULL;
    struct err err = {0};
    struct jw w;
    int code = EXIT_OK;

    if (json_parse(&arena, args, &result, NULL, &err) < 0 || !json_is(result, JSON_OBJECT)) {
        say("the arguments are not a JSON object: %.*s", STR_ARG(str_clip(args, 200)));
        return EXIT_USAGE;
    }
    if (await_client(c, client, &err) < 0)
        return mcp_failed(&err);
    jw_init(&w, &params, 0);
    jw_object(&w);
    jw_kcstr(&w, "name", words->ptr[at]);
    jw_kraw(&w, "arguments", args);
    jw_object_end(&w);
    request.params = buf_str(&params);
    if (call_with_login(c, client, &request, &answer, &err) < 0 ||
        json_parse(&arena, buf_str(&answer), &result, NULL, &err) < 0) {
        say_error(&err);
        return EXIT_FAILED;
    }
    if (c->args.given[OPT_JSON]) {
        jw_init(&w, &out, JW_PRETTY);
        jw_json(&w, result);
        buf_addc(&out, '\n');
    } else {
        JSON_EACH(json_get(result, "content"), block) {
            if (str_is(json_get_str(block, "type"), "text"))
                buf_addf(&out, "%.*s\n", STR_ARG(json_get_str(block, "text")));
            else
                buf_addf(&out, "[%.*s]\n", STR_ARG(json_get_str(block, "type")));
        }
    }
    (void)say_live(buf_str(&out), c->cancel, &code);
    return code ? code : json_get_bool(result, "isError", false) ? EXIT_FAILED : EXIT_OK;
}

/* ---------------------------------------------------------------------------------------------- */

static int no_such(const struct mcp_servers *servers, const char *name)
{
    CLEANUP(buf_release) struct buf names = BUF_INIT(64 << 10);

    VEC_EACH(&servers->list, s) {
        if (!s->hidden)
            buf_addf(&names, "%s%s", names.len ? ", " : "", s->name);
    }
    say("No MCP server named \"%s\". Configured servers: %s", name,
        names.len ? buf_cstr(&names) : "none");
    return EXIT_FAILED;
}

/* Verbs that change files; -1: the verb is another one. */
static int mcp_change(struct cmd *c, struct conf *conf, struct str verb)
{
    CLEANUP(mcp_servers_release) struct mcp_servers servers = {0};
    CLEANUP(buf_release) struct buf entry = BUF_INIT(4 << 20);
    const struct strv *words = &c->args.words;
    struct str name = words->len > 2 ? str_of(words->ptr[2]) : STR("");
    const struct mcp_server *s;
    struct err err = {0};
    int code;

    if (!str_is_word_of(verb, "add add-json remove enable disable approve"))
        return -1;
    if (!name.len || (words->len < 4) == (str_is(verb, "add") || str_is(verb, "add-json")))
        return mcp_usage();
    if (str_is(verb, "add-json"))
        return mcp_add(c, conf, name, str_of(words->ptr[3]));
    if (str_is(verb, "add")) {
        code = describe(c, &entry);
        return code ? code : mcp_add(c, conf, name, buf_str(&entry));
    }
    if (mcp_servers_load(&(struct mcp_sources){.conf = conf}, &servers, &err) < 0)
        return mcp_failed(&err);
    s = mcp_servers_find(&servers, name);
    if (!s)
        return no_such(&servers, words->ptr[2]);
    if (str_is(verb, "remove"))
        return mcp_remove(c, conf, &servers, name);
    if (str_is(verb, "approve")) {
        if (trust_refuse_agents(conf, "approve an MCP server", &err) < 0 ||
            mcp_approve(conf, s, c->cancel, &err) < 0)
            return mcp_failed(&err);
        return told(c, "Approved the MCP server %s as it is configured in %s.", s->name, s->file);
    }
    if (mcp_servers_disable(conf, name, str_is(verb, "disable"), &err) < 0)
        return mcp_failed(&err);
    return told(c, "The MCP server %s is turned %s in this project.", s->name,
                str_is(verb, "disable") ? "off" : "on");
}

static int mcp_look_at(struct cmd *c, struct mcp *m, struct str verb)
{
    const struct strv *words = &c->args.words;
    bool has_url = c->args.given[OPT_URL];
    size_t at = has_url ? 2 : 3; /* the first word after the server */
    size_t i;

    if (str_is(verb, "list"))
        return mcp_list(c, m);
    if (!has_url && words->len < 3)
        return mcp_usage();
    i = mcp_find(m, has_url ? STR("url") : str_of(words->ptr[2]));
    if (i == mcp_count(m)) {
        CLEANUP(buf_release) struct buf names = BUF_INIT(64 << 10);

        for (size_t k = 0; k < mcp_count(m); k++)
            buf_addf(&names, "%s%s", k ? ", " : "", mcp_server_at(m, k)->name);
        say("No MCP server named \"%s\". Configured servers: %s", words->ptr[2],
            names.len ? buf_cstr(&names) : "none");
        return EXIT_FAILED;
    }
    if (str_is(verb, "get"))
        return mcp_get(c, m, i);
    if (str_is(verb, "login"))
        return mcp_login(c, mcp_server_at(m, i));
    if (str_is(verb, "logout"))
        return mcp_logout(c, mcp_server_at(m, i));
    if (!mcp_client_at(m, i)) {
        CLEANUP(buf_release) struct buf why = BUF_INIT(2000);
        const char *status = mcp_status(m, i, &why);

        say("the MCP server %s is not used: %s", mcp_server_at(m, i)->name,
            why.len ? buf_cstr(&why) : status);
        return EXIT_FAILED;
    }
    if (str_is(verb, "tools"))
        return mcp_tools_of(c, mcp_client_at(m, i));
    return at < words->len ? mcp_call_of(c, mcp_client_at(m, i), at) : mcp_usage();
}

/* The server that the command is about; "": it needs none. NULL: all. */
static const char *wanted_server(const struct args *args, struct str verb)
{
    if (str_is(verb, "list"))
        return NULL;
    if (!str_is_word_of(verb, "get tools call"))
        return "";
    return args->given[OPT_URL] ? "url" : args->words.len > 2 ? args->words.ptr[2] : "";
}

static int mcp_run(struct cmd *c)
{
    CLEANUP(conf_unrefp) struct conf *conf = NULL;
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    CLEANUP(buf_release) struct buf by_url = BUF_INIT(64 << 10);
    CLEANUP(strv_release) struct strv notes = STRV_INIT;
    CLEANUP(strv_release) struct strv approved = STRV_INIT;
    CLEANUP(strv_release) struct strv of_place = STRV_INIT; /* notes that a session shows */
    CLEANUP(place_release) struct cmd_place place = {0};
    const struct strv *words = &c->args.words;
    struct str verb = words->len > 1 ? str_of(words->ptr[1]) : STR("list");
    struct mcp_spec spec = {.roots = say_root,
                            .ask = accept_defaults,
                            .arg = c,
                            .approved = &approved,
                            .starts_all = true};
    struct net *net = NULL;
    struct mcp *m = NULL;
    struct err err = {0};
    struct jw w;
    int code = EXIT_OK;

    if (!str_is_word_of(verb, cmd_mcp.usage.words))
        return mcp_usage();
    if (str_is(verb, "serve"))
        return mcp_serve(c);
    if (cmd_conf_load_careful(c, &conf, &err) < 0)
        return mcp_failed(&err);
    code = mcp_change(c, conf, verb);
    if (code >= 0)
        return code;
    if (c->args.given[OPT_URL]) {
        jw_init(&w, &by_url, 0);
        jw_object(&w);
        jw_key(&w, "url");
        jw_object(&w);
        jw_kcstr(&w, "url", args_get(&c->args, OPT_URL));
        write_pairs(&w, "headers", &c->args.values[OPT_HEADER], ':');
        write_oauth(&w, &c->args);
        jw_object_end(&w);
        jw_object_end(&w);
        (void)json_parse(&arena, buf_str(&by_url), &spec.dynamic, NULL, NULL);
    }
    spec.conf = conf;
    if (place_make(&place, conf, c->dir, /*insists=*/false, &of_place, &err) < 0)
        return mcp_failed(&err);
    spec.sandbox = place.sandbox;
    spec.only = wanted_server(&c->args, verb);
    spec.net = net = connect_net(conf, &err);
    if (!net || mcp_approvals(conf, &approved, c->cancel, &err) < 0 ||
        mcp_new(&spec, &notes, &m, &err) < 0) {
        net_free(net);
        return mcp_failed(&err);
    }
    for (size_t i = 0; i < notes.len; i++)
        say("%s", notes.ptr[i]);
    mcp_login_use(net, conf);
    code = mcp_look_at(c, m, verb);
    mcp_free(m);
    net_free(net);
    return code;
}
