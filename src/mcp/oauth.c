/*
 * A login is one page, oauth_login(): find out who issues tokens, become a client there, get a
 * code, exchange it. Renewing takes the lock that all processes share, checks whether another one
 * was faster, and has the new token on the disk before it is used.
 */
#include "mcp/oauth.h"

#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/id.h"
#include "base/mem.h"
#include "base/secret.h"
#include "base/sha256.h"
#include "base/strv.h"
#include "json/json.h"
#include "json/jw.h"
#include "mcp/oauth_http.h"
#include "mcp/oauth_listen.h"
#include "mcp/server_conf.h"
#include "mcp/token.h"
#include "net/net.h"
#include "net/url.h"

#define OAUTH_EARLY_MS (60 * 1000) /* a token that ends so soon is renewed */

struct login {
    const struct oauth *o;
    const struct oauth_login *spec;
    struct arena arena;
    const struct json *resource; /* metadata of the server; NULL: it has none */
    const struct json *as;       /* metadata of the authorization server; NULL: it has none */
    struct buf issuer, scope, redirect, verifier;
    struct mcp_token token;
    int fd; /* for the browser's redirect; -1 = the user pastes the URL */
};

/* ---- Small things ---- */

void oauth_challenge(struct str header, const char *name, struct buf *ret)
{
    while (header.len) {
        size_t at = str_find_nocase(header, str_of(name));
        struct str rest = str_from(header, at + strlen(name));
        bool begins = at == 0 || strchr(" ,\t", header.ptr[at - 1]);

        if (at == header.len)
            return;
        header = rest;
        if (!begins || !rest.len || rest.ptr[0] != '=')
            continue;
        rest = str_from(rest, 1);
        if (rest.len && rest.ptr[0] == '"')
            buf_add(ret, str_first(str_from(rest, 1), str_chr(str_from(rest, 1), '"')));
        else
            buf_add(ret, str_trim(str_first(rest, str_chr(rest, ','))));
        return;
    }
}

/* "https://host:1/a/b?c" → "https://host:1" and "/a/b" */
static void split_url(struct str url, struct str *ret_origin, struct str *ret_path)
{
    size_t host = str_find(url, STR("://")) + 3;
    size_t path = host + str_chr(str_from(url, host), '/');
    struct str rest = str_from(url, path);

    *ret_origin = str_first(url, path < url.len ? path : host + str_chr(str_from(url, host), '?'));
    rest = str_first(rest, str_chr(rest, '?'));
    while (rest.len && rest.ptr[rest.len - 1] == '/')
        rest.len--;
    *ret_path = rest;
}

static void base64url(struct str bytes, struct buf *ret)
{
    size_t from = ret->len;

    buf_add_base64(ret, bytes);
    for (size_t i = from; i < ret->len; i++)
        ret->ptr[i] = ret->ptr[i] == '+' ? '-' : ret->ptr[i] == '/' ? '_' : ret->ptr[i];
    while (ret->len > from && ret->ptr[ret->len - 1] == '=')
        buf_cut(ret, ret->len - 1, 1);
}

static void pkce_challenge(struct str verifier, struct buf *ret)
{
    char hex[SHA256_HEX + 1];
    char bytes[SHA256_HEX / 2];

    sha256_hex(verifier, hex);
    for (size_t i = 0; i < sizeof(bytes); i++) {
        char pair[3] = {hex[2 * i], hex[2 * i + 1], '\0'};

        bytes[i] = (char)strtol(pair, NULL, 16);
    }
    base64url(str_make(bytes, sizeof(bytes)), ret);
}

static bool lists(const struct json *list, const char *word)
{
    JSON_EACH(list, v) {
        if (str_is(json_str(v), word))
            return true;
    }
    return false;
}

/* "invalid_grant: it has expired", of an answer with an error. */
static void say_refusal(const struct json *answer, int status, struct buf *ret)
{
    struct str error = str_clip(json_get_str(answer, "error"), 100);
    struct str about = str_clip(json_get_str(answer, "error_description"), 200);

    if (!error.len)
        buf_addf(ret, "HTTP %d", status);
    for (size_t i = 0; i < error.len; i++)
        buf_addc(ret, (unsigned char)error.ptr[i] < ' ' ? ' ' : error.ptr[i]);
    if (about.len)
        buf_adds(ret, ": ");
    for (size_t i = 0; i < about.len; i++)
        buf_addc(ret, (unsigned char)about.ptr[i] < ' ' ? ' ' : about.ptr[i]);
    secret_scrub(ret);
}

/* ---- Who issues tokens ---- */

/* Sends a request without a token, so that the server says what it requires. */
static int ask_server(struct login *l, struct buf *ret_metadata, struct err *err)
{
    CLEANUP(oauth_answer_release) struct oauth_answer answer = OAUTH_ANSWER_INIT;
    struct str body = STR("{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{"
                          "\"protocolVersion\":\"2025-11-25\",\"capabilities\":{},\"clientInfo\":{"
                          "\"name\":\"tenax\",\"version\":\"" TENAX_VERSION "\"}}}");
    struct str header;

    if (oauth_send(l->o, l->o->server->url, "application/json", body, &l->o->server->headers,
                   &answer, err) < 0)
        return -1;
    header = net_mail_header(&answer.headers, "www-authenticate");
    oauth_challenge(header, "resource_metadata", ret_metadata);
    oauth_challenge(header, "scope", &l->scope);
    return 0;
}

/* Whether the metadata are for our server, or for a parent of its URL. */
static bool covers(struct str resource, struct str url)
{
    struct str origin, path, own_origin, own_path;

    split_url(resource, &origin, &path);
    split_url(url, &own_origin, &own_path);
    return str_eq_nocase(origin, own_origin) && str_starts(own_path, path) &&
           (own_path.len == path.len || !path.len || own_path.ptr[path.len] == '/');
}

static int find_resource(struct login *l, struct err *err)
{
    CLEANUP(buf_release) struct buf said = BUF_INIT(TOKEN_MAX);
    CLEANUP(buf_release) struct buf below = BUF_INIT(TOKEN_MAX);
    CLEANUP(buf_release) struct buf top = BUF_INIT(TOKEN_MAX);
    const struct buf *const urls[] = {&said, &below, &top};
    struct str origin, path;
    struct str named;

    if (ask_server(l, &said, err) < 0)
        return -1;
    split_url(str_of(l->o->server->url), &origin, &path);
    buf_addf(&below, "%.*s/.well-known/oauth-protected-resource%.*s", STR_ARG(origin),
             STR_ARG(path));
    buf_addf(&top, "%.*s/.well-known/oauth-protected-resource", STR_ARG(origin));
    for (size_t i = 0; i < 3 && !l->resource; i++) {
        if (urls[i]->len &&
            oauth_get_json(l->o, buf_cstr(urls[i]), &l->arena, &l->resource, err) < 0)
            return -1;
    }
    if (!l->resource)
        return 0;
    named = json_get_str(l->resource, "resource");
    if (!covers(named, str_of(l->o->server->url)))
        return err_set(err, ERR_DENIED,
                       "the login would be for another server: its metadata name %.*s",
                       STR_ARG(str_clip(named, 200)));
    buf_add(&l->token.resource, named);
    return 0;
}

/* The metadata of who issues tokens; without any the server itself does, at the usual paths. */
static int find_issuer(struct login *l, struct err *err)
{
    struct str named = json_str(json_at(json_get(l->resource, "authorization_servers"), 0));
    struct str origin, path, claimed, said;

    split_url(named.len ? named : str_of(l->o->server->url), &origin, &path);
    buf_add(&l->issuer, named.len ? named : origin);
    if (!named.len)
        path = STR("");
    for (int i = 0; i < 3 && !l->as; i++) {
        CLEANUP(buf_release) struct buf url = BUF_INIT(TOKEN_MAX);

        buf_add(&url, origin);
        if (i < 2)
            buf_addf(&url, "/.well-known/%s%.*s",
                     i ? "openid-configuration" : "oauth-authorization-server", STR_ARG(path));
        else
            buf_addf(&url, "%.*s/.well-known/openid-configuration", STR_ARG(path));
        if ((i < 2 || path.len) && oauth_get_json(l->o, buf_cstr(&url), &l->arena, &l->as, err) < 0)
            return -1;
    }
    if (!l->as && named.len)
        return err_set(err, ERR_PROTOCOL, "%.*s says nothing of how to log in",
                       STR_ARG(str_clip(named, 200)));
    claimed = json_get_str(l->as, "issuer");
    split_url(claimed, &said, &path);
    if (claimed.len && !str_eq(said, origin)) /* an honest one's login, with another's token door */
        return err_set(err, ERR_DENIED, "%.*s describes the login of another server",
                       STR_ARG(str_clip(buf_str(&l->issuer), 200)));
    if (l->as && json_get(l->as, "code_challenge_methods_supported") &&
        !lists(json_get(l->as, "code_challenge_methods_supported"), "S256"))
        return err_set(err, ERR_UNSUPPORTED, "%.*s does not support PKCE with S256",
                       STR_ARG(str_clip(buf_str(&l->issuer), 200)));
    return 0;
}

static void endpoint(const struct login *l, const char *name, const char *usual, struct buf *ret)
{
    struct str origin, path;

    split_url(buf_str(&l->issuer), &origin, &path);
    if (l->as)
        buf_add(ret, json_get_str(l->as, name));
    else
        buf_addf(ret, "%.*s/%s", STR_ARG(origin), usual);
}

/* ---- Who we are ---- */

static void choose_method(struct login *l, struct str said)
{
    const struct json *may = json_get(l->as, "token_endpoint_auth_methods_supported");
    struct mcp_token *t = &l->token;

    if (said.len && (!may || lists(may, "none") == false || str_is(said, "none") ||
                     lists(may, "client_secret_basic") || lists(may, "client_secret_post")))
        buf_add(&t->method, said);
    else if (!t->client_secret.len)
        buf_adds(&t->method, "none");
    else if (!may || lists(may, "client_secret_basic"))
        buf_adds(&t->method, "client_secret_basic");
    else
        buf_adds(&t->method, "client_secret_post");
    if (!t->client_secret.len) {
        buf_clear(&t->method);
        buf_adds(&t->method, "none");
    }
}

static int register_client(struct login *l, struct err *err)
{
    CLEANUP(oauth_answer_release) struct oauth_answer answer = OAUTH_ANSWER_INIT;
    CLEANUP(buf_release) struct buf url = BUF_INIT(TOKEN_MAX);
    CLEANUP(buf_release) struct buf body = BUF_INIT(TOKEN_MAX);
    CLEANUP(buf_release) struct buf why = BUF_INIT(1000);
    const struct json *may = json_get(l->as, "token_endpoint_auth_methods_supported");
    const struct json *client = NULL;
    struct jw w;

    endpoint(l, "registration_endpoint", "register", &url);
    if (!url.len)
        return err_set(err, ERR_AUTH,
                       "%.*s registers no clients by itself: give --client-id to tenax mcp add",
                       STR_ARG(str_clip(buf_str(&l->issuer), 200)));
    jw_init(&w, &body, 0);
    jw_object(&w);
    jw_kcstr(&w, "client_name", "tenax");
    jw_kcstr(&w, "application_type", "native");
    jw_key(&w, "redirect_uris");
    jw_array(&w);
    jw_str(&w, buf_str(&l->redirect));
    jw_array_end(&w);
    jw_kraw(&w, "grant_types", STR("[\"authorization_code\",\"refresh_token\"]"));
    jw_kraw(&w, "response_types", STR("[\"code\"]"));
    jw_kcstr(&w, "token_endpoint_auth_method",
             !may || lists(may, "none")          ? "none"
             : lists(may, "client_secret_basic") ? "client_secret_basic"
                                                 : "client_secret_post");
    if (l->scope.len)
        jw_kstr(&w, "scope", buf_str(&l->scope));
    jw_object_end(&w);
    if (oauth_send(l->o, buf_cstr(&url), "application/json", buf_str(&body), NULL, &answer, err) <
        0)
        return -1;
    (void)json_parse(&l->arena, arena_str(&l->arena, buf_str(&answer.body)), &client, NULL, NULL);
    if (answer.status / 100 != 2 || !json_get_str(client, "client_id").len) {
        say_refusal(client, answer.status, &why);
        return err_set(err, ERR_AUTH, "tenax could not be registered as a client: %s",
                       buf_cstr(&why));
    }
    buf_add(&l->token.client_id, json_get_str(client, "client_id"));
    buf_add(&l->token.client_secret, json_get_str(client, "client_secret"));
    secret_add(buf_str(&l->token.client_secret));
    choose_method(l, json_get_str(client, "token_endpoint_auth_method"));
    return 0;
}

static int become_client(struct login *l, struct err *err)
{
    const struct mcp_server *s = l->o->server;

    if (s->oauth_client_id) {
        buf_adds(&l->token.client_id, s->oauth_client_id);
        if (l->spec->client_secret)
            buf_adds(&l->token.client_secret, l->spec->client_secret);
        secret_add(buf_str(&l->token.client_secret));
        choose_method(l, STR(""));
        return 0;
    }
    if (s->oauth_metadata_url &&
        json_get_bool(l->as, "client_id_metadata_document_supported", false)) {
        buf_adds(&l->token.client_id, s->oauth_metadata_url);
        choose_method(l, STR(""));
        return 0;
    }
    return register_client(l, err);
}

/* What the server has asked for, else what it lists, else nothing. */
static void choose_scope(struct login *l)
{
    const struct json *offered = json_get(l->as, "scopes_supported");

    if (l->o->server->oauth_scopes) {
        buf_clear(&l->scope);
        buf_adds(&l->scope, l->o->server->oauth_scopes);
    }
    if (!l->scope.len) {
        JSON_EACH(json_get(l->resource, "scopes_supported"), v) {
            buf_addf(&l->scope, "%s%.*s", l->scope.len ? " " : "", STR_ARG(json_str(v)));
        }
    }
    if (l->spec->scope.len) {
        struct str rest = l->spec->scope;
        struct str word;

        while (str_cut(&rest, ' ', &word)) {
            if (word.len && !str_is_word_of(word, buf_cstr(&l->scope)))
                buf_addf(&l->scope, "%s%.*s", l->scope.len ? " " : "", STR_ARG(word));
        }
    }
    if (lists(offered, "offline_access") &&
        !str_is_word_of(STR("offline_access"), buf_cstr(&l->scope)))
        buf_addf(&l->scope, "%soffline_access", l->scope.len ? " " : "");
}

/* ---- The code, and what it is good for ---- */

static int send_user(struct login *l, struct str state, struct err *err)
{
    CLEANUP(buf_release) struct buf url = BUF_INIT(TOKEN_MAX * 2);
    CLEANUP(buf_release) struct buf query = BUF_INIT(TOKEN_MAX * 2);
    CLEANUP(buf_release) struct buf challenge = BUF_INIT(200);

    pkce_challenge(buf_str(&l->verifier), &challenge);
    oauth_add_param(&query, "response_type", STR("code"));
    oauth_add_param(&query, "client_id", buf_str(&l->token.client_id));
    oauth_add_param(&query, "code_challenge", buf_str(&challenge));
    oauth_add_param(&query, "code_challenge_method", STR("S256"));
    oauth_add_param(&query, "redirect_uri", buf_str(&l->redirect));
    oauth_add_param(&query, "state", state);
    if (l->scope.len)
        oauth_add_param(&query, "scope", buf_str(&l->scope));
    if (str_is_word_of(STR("offline_access"), buf_cstr(&l->scope)))
        oauth_add_param(&query, "prompt", STR("consent"));
    if (l->token.resource.len)
        oauth_add_param(&query, "resource", buf_str(&l->token.resource));
    endpoint(l, "authorization_endpoint", "authorize", &url);
    if (net_check_url(buf_str(&url), err) < 0)
        return err_prefix(err, "authorization_endpoint");
    buf_addc(&url, str_chr(buf_str(&url), '?') < url.len ? '&' : '?');
    buf_add(&url, buf_str(&query));
    return l->spec->open(l->spec->arg, buf_cstr(&url), err);
}

static int await_query(struct login *l, struct str state, struct buf *ret, struct err *err)
{
    CLEANUP(buf_release) struct buf pasted = BUF_INIT(TOKEN_MAX);
    CLEANUP(buf_release) struct buf theirs = BUF_INIT(TOKEN_MAX);
    struct str text;

    if (!l->spec->pasted)
        return oauth_await(l->fd, state, l->o->cancel, ret, err);
    if (l->spec->pasted(l->spec->arg, &pasted, err) < 0)
        return -1;
    text = str_trim(buf_str(&pasted));
    text = str_from(text, str_chr(text, '?') + 1);
    text = str_first(text, str_chr(text, '#'));
    oauth_query_get(text, "state", &theirs);
    if (!str_eq(buf_str(&theirs), state))
        return err_set(err, ERR_DENIED, "that address is not of this login");
    buf_add(ret, text);
    return 0;
}

static int await_code(struct login *l, struct str state, struct buf *ret, struct err *err)
{
    CLEANUP(buf_release) struct buf query = BUF_INIT(TOKEN_MAX);
    CLEANUP(buf_release) struct buf issuer = BUF_INIT(TOKEN_MAX);
    CLEANUP(buf_release) struct buf refused = BUF_INIT(TOKEN_MAX);
    struct str named = json_get_str(l->as, "issuer");

    if (await_query(l, state, &query, err) < 0)
        return -1;
    oauth_query_get(buf_str(&query), "iss", &issuer);
    if (issuer.len ? !str_eq(buf_str(&issuer), named.len ? named : buf_str(&l->issuer))
                   : json_get_bool(l->as, "authorization_response_iss_parameter_supported", false))
        return err_set(err, ERR_DENIED, "the login came back from another server than it began at");
    oauth_query_get(buf_str(&query), "error", &refused);
    if (refused.len)
        return err_set(err, ERR_DENIED, "the login was refused: %.*s",
                       STR_ARG(str_clip(buf_str(&refused), 100)));
    oauth_query_get(buf_str(&query), "code", ret);
    secret_add(buf_str(ret));
    return ret->len ? 0 : err_set(err, ERR_PROTOCOL, "the login came back without a code");
}

/* The tokens of an answer. */
static int take_tokens(const struct json *answer, struct mcp_token *t, struct err *err)
{
    struct str access = json_get_str(answer, "access_token");
    int64_t seconds = json_get_i64(answer, "expires_in", 0);

    for (size_t i = 0; i < access.len; i++) {
        if (access.ptr[i] <= ' ' || access.ptr[i] > '~')
            return err_set(err, ERR_PROTOCOL, "the token has a character that no token has");
    }
    if (!access.len || access.len > TOKEN_MAX / 2)
        return err_set(err, ERR_PROTOCOL, "the answer has no token");
    buf_clear(&t->access);
    buf_add(&t->access, access);
    if (json_get_str(answer, "refresh_token").len) {
        buf_clear(&t->refresh);
        buf_add(&t->refresh, json_get_str(answer, "refresh_token"));
    }
    if (json_get_str(answer, "scope").len) {
        buf_clear(&t->scope);
        buf_add(&t->scope, json_get_str(answer, "scope"));
    }
    t->expires_ms =
        seconds > 0 && seconds < 10LL * 365 * 86400 ? clock_wall_ms() + seconds * 1000 : 0;
    secret_add(buf_str(&t->access));
    secret_add(buf_str(&t->refresh));
    return 0;
}

/* body: the grant. *ret_gone: the server says that it is not valid any more. */
static int ask_tokens(const struct oauth *o, struct mcp_token *t, struct buf *body, bool *ret_gone,
                      struct err *err)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    CLEANUP(oauth_answer_release) struct oauth_answer answer = OAUTH_ANSWER_INIT;
    CLEANUP(strv_release) struct strv headers = STRV_INIT;
    CLEANUP(buf_release) struct buf pair = BUF_INIT(TOKEN_MAX * 4);
    CLEANUP(buf_release) struct buf basic = BUF_INIT(TOKEN_MAX * 8);
    CLEANUP(buf_release) struct buf why = BUF_INIT(1000);
    const struct json *root = NULL;

    if (str_is(buf_str(&t->method), "client_secret_basic")) {
        oauth_add_encoded(&pair, buf_str(&t->client_id));
        buf_addc(&pair, ':');
        oauth_add_encoded(&pair, buf_str(&t->client_secret));
        buf_add_base64(&basic, buf_str(&pair));
        secret_add(buf_str(&basic));
        strv_addf(&headers, "authorization: Basic %s", buf_cstr(&basic));
    } else {
        oauth_add_param(body, "client_id", buf_str(&t->client_id));
        if (t->client_secret.len)
            oauth_add_param(body, "client_secret", buf_str(&t->client_secret));
    }
    if (t->resource.len)
        oauth_add_param(body, "resource", buf_str(&t->resource));
    if (oauth_send(o, buf_cstr(&t->endpoint), "application/x-www-form-urlencoded", buf_str(body),
                   &headers, &answer, err) < 0)
        return -1;
    (void)json_parse(&arena, buf_str(&answer.body), &root, NULL, NULL);
    if (answer.status == 200 && json_is(root, JSON_OBJECT))
        return take_tokens(root, t, err);
    /* Only these say that it is of no more use: a 429, or a proxy's 403, is about this attempt. */
    *ret_gone = str_is_word_of(json_get_str(root, "error"), "invalid_grant invalid_client");
    say_refusal(root, answer.status, &why);
    return err_set(err, ERR_AUTH, "the authorization server gave no token: %s", buf_cstr(&why));
}

static int exchange_code(struct login *l, struct str code, struct err *err)
{
    CLEANUP(buf_release) struct buf body = BUF_INIT(TOKEN_MAX * 4);
    bool gone = false;

    oauth_add_param(&body, "grant_type", STR("authorization_code"));
    oauth_add_param(&body, "code", code);
    oauth_add_param(&body, "redirect_uri", buf_str(&l->redirect));
    oauth_add_param(&body, "code_verifier", buf_str(&l->verifier));
    endpoint(l, "token_endpoint", "token", &l->token.endpoint);
    buf_add(&l->token.scope, buf_str(&l->scope));
    return ask_tokens(l->o, &l->token, &body, &gone, err);
}

/* ---- From outside ---- */

static int login_all(struct login *l, struct err *err)
{
    CLEANUP(buf_release) struct buf code = BUF_INIT(TOKEN_MAX);
    CLEANUP(fd_closep) int lock = -1;
    char secret[65] = "";
    char state[33] = "";
    int port = l->o->server->oauth_port;

    if (!l->spec->pasted || !port) {
        l->fd = oauth_listen(port, &port, err);
        if (l->fd < 0)
            return -1;
    }
    buf_addf(&l->redirect, "http://localhost:%d/callback", port);
    id_fill(secret, 64);
    id_fill(state, 32);
    buf_adds(&l->verifier, secret);
    if (find_resource(l, err) < 0 || find_issuer(l, err) < 0)
        return -1;
    choose_scope(l);
    if (become_client(l, err) < 0 || send_user(l, str_of(state), err) < 0 ||
        await_code(l, str_of(state), &code, err) < 0 || exchange_code(l, buf_str(&code), err) < 0)
        return -1;
    buf_add(&l->token.issuer, buf_str(&l->issuer));
    buf_add(&l->token.redirect, buf_str(&l->redirect));
    lock = mcp_token_lock(l->o->home, l->o->cancel, err);
    return lock < 0 ? -1 : mcp_token_save(l->o->home, l->o->server, &l->token, err);
}

int oauth_login(const struct oauth *o, const struct oauth_login *spec, struct err *err)
{
    struct login l = {
        .o = o,
        .spec = spec,
        .arena = ARENA_INIT,
        .issuer = BUF_INIT(TOKEN_MAX),
        .scope = BUF_INIT(TOKEN_MAX),
        .redirect = BUF_INIT(TOKEN_MAX),
        .verifier = BUF_INIT(200),
        .token = MCP_TOKEN_INIT,
        .fd = -1,
    };
    int r = login_all(&l, err);

    if (l.fd >= 0)
        close(l.fd);
    mcp_token_release(&l.token);
    buf_release(&l.issuer);
    buf_release(&l.scope);
    buf_release(&l.redirect);
    buf_release(&l.verifier);
    arena_release(&l.arena);
    return r;
}

static bool is_fresh(const struct mcp_token *t, struct str stale)
{
    return !str_eq(buf_str(&t->access), stale) &&
           (!t->expires_ms || t->expires_ms > clock_wall_ms() + OAUTH_EARLY_MS);
}

static int renew(const struct oauth *o, struct mcp_token *t, struct err *err)
{
    bool gone = false;
    int r = -1;

    /* A lost answer may have used up the token: tries once more. */
    for (int i = 0; i < 2 && r < 0 && !gone; i++) {
        CLEANUP(buf_release) struct buf body = BUF_INIT(TOKEN_MAX * 4);

        oauth_add_param(&body, "grant_type", STR("refresh_token"));
        oauth_add_param(&body, "refresh_token", buf_str(&t->refresh));
        r = ask_tokens(o, t, &body, &gone, err);
        if (r < 0 && err->code == ERR_CANCELLED)
            return -1;
    }
    if (r == 0)
        return mcp_token_save(o->home, o->server, t, err);
    if (!gone)
        return err_prefix(err, "the login could not be renewed");
    (void)mcp_token_save(o->home, o->server, NULL, NULL);
    return err_set(err, ERR_AUTH, "the login has expired");
}

int oauth_token(const struct oauth *o, struct str stale, struct mcp_token *ret, struct err *err)
{
    CLEANUP(fd_closep) int lock = -1;
    struct mcp_token empty = MCP_TOKEN_INIT;

    if (mcp_token_load(o->home, o->server, ret, err) < 0)
        return -1;
    if (is_fresh(ret, stale))
        return 0;
    lock = mcp_token_lock(o->home, o->cancel, err);
    mcp_token_release(ret);
    *ret = empty;
    if (lock < 0 || mcp_token_load(o->home, o->server, ret, err) < 0)
        return -1;
    if (is_fresh(ret, stale)) /* another process was faster */
        return 0;
    if (!ret->refresh.len)
        return err_set(err, ERR_AUTH, "the login has expired");
    return renew(o, ret, err);
}
