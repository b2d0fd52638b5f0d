/*
 * oauth: a pretend MCP server with a login, and the authorization server for it, in one: fake-oauth
 * [KIND [PORT]]. Prints its port. One connection at a time.
 *
 *   (none)    tokens last an hour, but the first one of a login is stale at once; /count says how
 *             many were renewed; each token to renew with is good once
 *   expired   renewing is refused
 *   busy      renewing is refused for the moment, twice
 *   mute      asked for a token it prints that, and does not answer
 *   refuses   the browser comes back with an error
 *   iss       the browser comes back from another issuer
 *   other     its metadata are of another server
 *   header    wants the header "x-key: sesame" instead of a token
 *   scopes    a token covers the scopes that its login asked for; a call needs "write", too
 *   sessions  wants no token, but the id of the session, until /forget; /count says how many
 *             sessions and calls there were
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/buf.h"
#include "json/json.h"
#include "mcp/oauth_listen.h"

static const char *kind = "";
static int port;
static int issued, renewed, refused;
static bool is_kept; /* the connection is left open */
static char granted[1000] = "";
static int sessions, session, calls; /* session: the one that is known; 0: none */

static void answer(int fd, const char *status, const char *headers, const char *fmt, ...)
    PRINTF_LIKE(4, 5);
static void answer(int fd, const char *status, const char *headers, const char *fmt, ...)
{
    CLEANUP(buf_release) struct buf body = BUF_INIT(1 << 20);
    CLEANUP(buf_release) struct buf out = BUF_INIT(1 << 20);
    va_list args;

    va_start(args, fmt);
    buf_addv(&body, fmt, args);
    va_end(args);
    buf_addf(&out, "HTTP/1.1 %s\r\nConnection: close\r\n%sContent-Length: %zu\r\n\r\n%s", status,
             headers, body.len, buf_cstr(&body));
    (void)!write(fd, out.ptr, out.len);
}

#define JSON "Content-Type: application/json\r\n"

static void give_token(int fd, int seconds)
{
    issued++;
    answer(fd, "200 OK", JSON,
           "{\"access_token\":\"secret-access-%d\",\"refresh_token\":\"secret-refresh-%d\","
           "\"token_type\":\"Bearer\",\"expires_in\":%d}",
           issued, issued, seconds);
}

static void on_token(int fd, struct str body)
{
    CLEANUP(buf_release) struct buf grant = BUF_INIT(1000);
    CLEANUP(buf_release) struct buf code = BUF_INIT(1000);
    CLEANUP(buf_release) struct buf verifier = BUF_INIT(1000);
    CLEANUP(buf_release) struct buf old = BUF_INIT(1000);
    CLEANUP(buf_release) struct buf want = BUF_INIT(1000);

    oauth_query_get(body, "grant_type", &grant);
    oauth_query_get(body, "code", &code);
    oauth_query_get(body, "code_verifier", &verifier);
    oauth_query_get(body, "refresh_token", &old);
    buf_addf(&want, "secret-refresh-%d", issued);
    if (strcmp(kind, "mute") == 0) {
        is_kept = true;
        puts("asked");
        fflush(stdout);
    } else if (strcmp(kind, "busy") == 0 && str_is(buf_str(&grant), "refresh_token") &&
               refused++ < 2) {
        answer(fd, "429 Too Many Requests", "", "slow down");
    } else if (str_is(buf_str(&grant), "authorization_code") &&
               str_is(buf_str(&code), "secret-code") && verifier.len >= 43) {
        give_token(fd, 1);
    } else if (str_is(buf_str(&grant), "refresh_token") && str_eq(buf_str(&old), buf_str(&want)) &&
               strcmp(kind, "expired") != 0) {
        renewed++;
        give_token(fd, 3600);
    } else {
        answer(fd, "400 Bad Request", JSON,
               "{\"error\":\"invalid_grant\",\"error_description\":\"%s is no good\"}",
               buf_cstr(&old));
    }
}

static void on_authorize(int fd, struct str query)
{
    CLEANUP(buf_release) struct buf state = BUF_INIT(1000);
    CLEANUP(buf_release) struct buf scope = BUF_INIT(sizeof(granted) - 1);
    CLEANUP(buf_release) struct buf back = BUF_INIT(1000);
    CLEANUP(buf_release) struct buf challenge = BUF_INIT(1000);
    CLEANUP(buf_release) struct buf head = BUF_INIT(4000);

    oauth_query_get(query, "state", &state);
    oauth_query_get(query, "redirect_uri", &back);
    oauth_query_get(query, "code_challenge", &challenge);
    oauth_query_get(query, "scope", &scope);
    memcpy(granted, buf_cstr(&scope), scope.len + 1);
    if (challenge.len != 43) {
        answer(fd, "400 Bad Request", "", "no PKCE");
        return;
    }
    buf_addf(&head, "Location: %s?state=%s&%s", buf_cstr(&back), buf_cstr(&state),
             strcmp(kind, "refuses") == 0 ? "error=access_denied" : "code=secret-code");
    if (strcmp(kind, "iss") == 0)
        buf_adds(&head, "&iss=http%3A%2F%2Fevil.example");
    buf_adds(&head, "\r\n");
    answer(fd, "302 Found", buf_cstr(&head), " ");
}

static bool may_enter(struct str head)
{
    CLEANUP(buf_release) struct buf want = BUF_INIT(1000);

    if (strcmp(kind, "header") == 0)
        return str_has(head, STR("x-key: sesame\r\n"));
    if (strcmp(kind, "sessions") == 0)
        return true;
    buf_addf(&want, "secret-access-%d\r\n", issued);
    return issued && str_has(head, buf_str(&want));
}

static int forget(void)
{
    int was = session;

    session = 0;
    return was;
}

/* Refuses requests that the login does not cover, and requests for an unknown session. */
static bool is_refused(int fd, struct str head, struct str method)
{
    CLEANUP(buf_release) struct buf known = BUF_INIT(100);
    CLEANUP(buf_release) struct buf wants = BUF_INIT(1000);
    struct str scope = str_is(method, "tools/call") ? STR("write") : STR("read");

    buf_addf(&known, "mcp-session-id: s%d\r\n", session);
    if (strcmp(kind, "sessions") == 0 && !str_is_word_of(method, "initialize server/discover") &&
        !(session && str_has(head, buf_str(&known)))) {
        answer(fd, "404 Not Found", "", " ");
        return true;
    }
    if (strcmp(kind, "scopes") != 0 || str_is_word_of(scope, granted))
        return false;
    buf_addf(&wants,
             JSON "WWW-Authenticate: Bearer error=\"insufficient_scope\", scope=\"%.*s\"\r\n",
             STR_ARG(scope));
    answer(fd, "403 Forbidden", buf_cstr(&wants), "{}");
    return true;
}

static void on_message(int fd, struct str head, struct str body)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    CLEANUP(buf_release) struct buf wants = BUF_INIT(1000);
    CLEANUP(buf_release) struct buf hello = BUF_INIT(1000);
    const struct json *m = NULL;
    struct str method, id;

    buf_addf(&wants,
             JSON "WWW-Authenticate: Bearer resource_metadata=\"http://127.0.0.1:%d/metadata\", "
                  "scope=\"read\"\r\n",
             port);
    if (!may_enter(head)) {
        answer(fd, "401 Unauthorized", buf_cstr(&wants), "{}");
        return;
    }
    (void)json_parse(&arena, body, &m, NULL, NULL);
    method = json_get_str(m, "method");
    id = json_raw(json_get(m, "id"));
    if (is_refused(fd, head, method))
        return;
    calls += str_is(method, "tools/call");
    buf_adds(&hello, JSON);
    if (strcmp(kind, "sessions") == 0 && str_is(method, "initialize")) {
        session = ++sessions;
        buf_addf(&hello, "Mcp-Session-Id: s%d\r\n", session);
    }
    if (str_is(method, "initialize"))
        answer(
            fd, "200 OK", buf_cstr(&hello),
            "{\"jsonrpc\":\"2.0\",\"id\":%.*s,\"result\":{\"protocolVersion\":\"2025-11-25\","
            "\"capabilities\":{\"tools\":{}},\"serverInfo\":{\"name\":\"f\",\"version\":\"1\"}}}",
            STR_ARG(id));
    else if (str_is(method, "tools/list"))
        answer(fd, "200 OK", JSON,
               "{\"jsonrpc\":\"2.0\",\"id\":%.*s,\"result\":{\"tools\":[{\"name\":\"open\","
               "\"inputSchema\":{\"type\":\"object\"}}]}}",
               STR_ARG(id));
    else if (id.len)
        answer(fd, "200 OK", JSON,
               "{\"jsonrpc\":\"2.0\",\"id\":%.*s,\"result\":{\"content\":[{\"type\":\"text\","
               "\"text\":\"it is open\"}]}}",
               STR_ARG(id));
    else
        answer(fd, "202 Accepted", "", " ");
}

static void serve(int fd)
{
    CLEANUP(buf_release) struct buf in = BUF_INIT(1 << 20);
    struct str head, path, line;
    size_t end, want = 0;

    for (;;) {
        char piece[4096];
        ssize_t n;

        end = str_find(buf_str(&in), STR("\r\n\r\n"));
        if (end < in.len) {
            size_t at = str_find_nocase(buf_str(&in), STR("content-length: "));

            want = at < end ? (size_t)strtoul(in.ptr + at + 16, NULL, 10) : 0;
            if (in.len >= end + 4 + want)
                break;
        }
        n = read(fd, piece, sizeof(piece));
        if (n <= 0)
            return;
        buf_add(&in, str_make(piece, (size_t)n));
    }
    head = str_first(buf_str(&in), end + 2);
    line = str_first(head, str_chr(head, '\r'));
    path = str_from(line, str_chr(line, ' ') + 1);
    path = str_first(path, str_chr(path, ' '));
    if (str_is(path, "/mcp") && str_starts(head, STR("POST ")))
        on_message(fd, head, str_from(buf_str(&in), end + 4));
    else if (str_is(path, "/metadata"))
        answer(fd, "200 OK", JSON,
               "{\"resource\":\"http://%s:%d/mcp\",\"authorization_servers\":[\"http://"
               "localhost:%d\"]}",
               strcmp(kind, "other") == 0 ? "other.example" : "127.0.0.1", port, port);
    else if (str_has(path, STR("/.well-known/oauth-authorization-server")))
        answer(fd, "200 OK", JSON,
               "{\"issuer\":\"http://localhost:%d\",\"authorization_endpoint\":\"http://"
               "localhost:%d/authorize\",\"token_endpoint\":\"http://localhost:%d/token\","
               "\"registration_endpoint\":\"http://localhost:%d/register\","
               "\"code_challenge_methods_supported\":[\"S256\"]}",
               port, port, port, port);
    else if (str_is(path, "/register"))
        answer(fd, "201 Created", JSON, "{\"client_id\":\"me\"}");
    else if (str_starts(path, STR("/authorize?")))
        on_authorize(fd, str_from(path, 11));
    else if (str_is(path, "/token") && !str_has(head, STR("x-key")))
        on_token(fd, str_from(buf_str(&in), end + 4));
    else if (str_is(path, "/count") && strcmp(kind, "sessions") == 0)
        answer(fd, "200 OK", "", "%d sessions, %d calls", sessions, calls);
    else if (str_is(path, "/forget"))
        answer(fd, "200 OK", "", "it was session %d", forget());
    else if (str_is(path, "/count"))
        answer(fd, "200 OK", "", "%d", renewed);
    else if (str_is(path, "/mcp"))
        answer(fd, "405 Method Not Allowed", "", " ");
    else
        answer(fd, "404 Not Found", "", " ");
}

int main(int argc, char **argv)
{
    struct sockaddr_in at = {.sin_family = AF_INET};
    int yes = 1;
    socklen_t len = sizeof(at);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    kind = argc > 1 ? argv[1] : "";
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    at.sin_port = htons((uint16_t)(argc > 2 ? strtoul(argv[2], NULL, 10) : 0));
    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes)) < 0 ||
        bind(fd, (struct sockaddr *)&at, sizeof(at)) < 0 || listen(fd, 64) < 0 ||
        getsockname(fd, (struct sockaddr *)&at, &len) < 0)
        return 1;
    port = ntohs(at.sin_port);
    printf("%d\n", port);
    fflush(stdout);
    for (;;) {
        int client = accept(fd, NULL, NULL);

        if (client < 0)
            continue;
        is_kept = false;
        serve(client);
        if (is_kept)
            continue;
        shutdown(client, SHUT_WR);
        close(client);
    }
}
