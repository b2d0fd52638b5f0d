/*
 * Runs on its own thread from credentials_start() until its mail is sent.
 */
#include "mcp/credentials.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/mem.h"
#include "base/secret.h"
#include "json/json.h"
#include "mcp/oauth.h"
#include "mcp/server_conf.h"
#include "mcp/token.h"
#include "mcp/wire.h"
#include "net/net.h"
#include "proc/proc.h"
#include "sync/cancel.h"
#include "sync/thread.h"

#define HELPER_MS (10 * 1000)
#define HELPER_MAX ((size_t)256 << 10)

struct credentials {
    struct credentials_spec spec;
    struct buf stale;
    struct cancel *cancel;
    struct thread *thread;
};

static void mail_release(struct mail *mail)
{
    struct credentials_mail *m = (struct credentials_mail *)mail;

    strv_release(&m->headers);
    buf_release(&m->token);
    free(m);
}

const struct mail_kind credentials_mail_kind = {"credentials", mail_release};

static bool has_header(const struct strv *headers, struct str name)
{
    for (size_t i = 0; i < headers->len; i++) {
        struct str line = str_of(headers->ptr[i]);

        if (str_eq_nocase(str_first(line, str_chr(line, ':')), name))
            return true;
    }
    return false;
}

static int take_helper(const struct json *root, struct strv *ret, struct err *err)
{
    if (!json_is(root, JSON_OBJECT))
        return err_set(err, ERR_BAD_INPUT, "headersHelper did not print a JSON object");
    JSON_EACH(root, v) {
        struct str value = json_str(v);

        if (!net_is_token(json_key(v)) || !json_is(v, JSON_STRING) ||
            str_chr(value, '\n') < value.len || str_chr(value, '\r') < value.len ||
            str_chr(value, '\0') < value.len)
            return err_set(err, ERR_BAD_INPUT, "headersHelper printed what is no header");
        secret_add(value);
        strv_addf(ret, "%.*s: %.*s", STR_ARG(json_key(v)), STR_ARG(value));
    }
    return 0;
}

static int run_helper(const struct credentials *c, struct strv *ret, struct err *err)
{
    const struct mcp_server *s = c->spec.server;
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    CLEANUP(strv_release) struct strv env = STRV_INIT;
    const char *const argv[] = {"/bin/sh", "-c", s->headers_helper, NULL};
    struct proc_spec spec = {
        .argv = argv, .dir = c->spec.dir, .max_output = HELPER_MAX, .timeout_ms = HELPER_MS};
    struct proc_result result = {0};
    const struct json *root = NULL;
    int r;

    wire_environment(s, c->spec.env, &env);
    strv_addf(&env, "CLAUDE_CODE_MCP_SERVER_NAME=%s", s->name);
    strv_addf(&env, "CLAUDE_CODE_MCP_SERVER_URL=%s", s->url);
    spec.envp = (const char *const *)strv_get(&env);
    if (proc_run(&spec, c->cancel, &result, err) < 0)
        return -1;
    if (result.how == PROC_TIMED_OUT)
        r = err_set(err, ERR_TIMEOUT, "headersHelper took longer than %d s", HELPER_MS / 1000);
    else if (result.how != PROC_EXITED || result.code != 0)
        r = err_set(err, ERR_AUTH, "headersHelper failed (%s %d)",
                    result.how == PROC_EXITED ? "exit code" : "signal", result.code);
    else if (json_parse(&arena, buf_str(&result.out), &root, NULL, NULL) < 0)
        r = err_set(err, ERR_BAD_INPUT, "headersHelper did not print a JSON object");
    else
        r = take_helper(root, ret, err);
    proc_result_release(&result);
    return r;
}

static int collect(const struct credentials *c, struct credentials_mail *m)
{
    const struct mcp_server *s = c->spec.server;
    struct oauth o = {.net = c->spec.net, .home = c->spec.home, .server = s, .cancel = c->cancel};
    struct mcp_token token = MCP_TOKEN_INIT;
    struct err *err = &m->err;
    int r = 0;

    if (s->headers_helper && run_helper(c, &m->headers, err) < 0)
        return -1;
    for (size_t i = 0; i < s->headers.len; i++) {
        struct str line = str_of(s->headers.ptr[i]);

        if (!has_header(&m->headers, str_first(line, str_chr(line, ':'))))
            strv_adds(&m->headers, s->headers.ptr[i]);
    }
    if (!has_header(&m->headers, STR("authorization"))) {
        r = oauth_token(&o, buf_str(&c->stale), &token, err);
        if (r == 0) {
            strv_addf(&m->headers, "authorization: Bearer %s", buf_cstr(&token.access));
            buf_add(&m->token, buf_str(&token.access));
        } else if (err->code == ERR_NOT_FOUND && !c->stale.len) {
            r = 0; /* no login yet: maybe it needs none */
            *err = (struct err){0};
        }
    }
    mcp_token_release(&token);
    return r;
}

static void credentials_run(void *arg)
{
    struct credentials *c = arg;
    struct credentials_mail *m = mem_zalloc(sizeof(*m));

    m->mail.kind = &credentials_mail_kind;
    m->from = c;
    buf_init(&m->token, TOKEN_MAX);
    if (collect(c, m) < 0 && !m->err.code)
        err_set(&m->err, ERR_AUTH, "there are no credentials");
    mailbox_send(c->spec.to, &m->mail);
}

bool credentials_are_needed(const struct credentials_spec *spec)
{
    struct mcp_token token = MCP_TOKEN_INIT;
    bool needed = spec->server->headers_helper ||
                  (spec->home && !has_header(&spec->server->headers, STR("authorization")) &&
                   mcp_token_load(spec->home, spec->server, &token, NULL) == 0);

    mcp_token_release(&token);
    return needed;
}

struct credentials *credentials_start(const struct credentials_spec *spec, struct str stale,
                                      struct err *err)
{
    struct credentials *c = mem_zalloc(sizeof(*c));

    c->spec = *spec;
    buf_init(&c->stale, TOKEN_MAX);
    buf_add(&c->stale, stale);
    c->cancel = cancel_new(NULL);
    c->thread = thread_start("mcp headers", credentials_run, c, err);
    if (c->thread)
        return c;
    credentials_free(c);
    return NULL;
}

void credentials_free(struct credentials *c)
{
    if (!c)
        return;
    cancel_set(c->cancel);
    thread_join(c->thread);
    cancel_unref(c->cancel);
    buf_release(&c->stale);
    free(c);
}
