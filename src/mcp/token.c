/*
 * {"mcpOAuth": {"<name>|<16 hex of SHA-256 of type and URL>": {…}}}: a server whose URL changes
 * does not get the token of the old one. A change reads everything, replaces one member, and writes
 * everything.
 */
#include "mcp/token.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/secret.h"
#include "base/sha256.h"
#include "json/json.h"
#include "json/jw.h"
#include "mcp/server_conf.h"
#include "sync/cancel.h"

#define TOKEN_FILE ((size_t)4 << 20)

void mcp_token_release(struct mcp_token *t)
{
    buf_release(&t->access);
    buf_release(&t->refresh);
    buf_release(&t->scope);
    buf_release(&t->client_id);
    buf_release(&t->client_secret);
    buf_release(&t->method);
    buf_release(&t->issuer);
    buf_release(&t->endpoint);
    buf_release(&t->resource);
    buf_release(&t->redirect);
}

static void token_key(const struct mcp_server *s, struct buf *ret)
{
    CLEANUP(buf_release) struct buf about = BUF_INIT(BUF_NO_LIMIT);
    char hex[SHA256_HEX + 1];

    buf_addf(&about, "%s,%s", mcp_type_name(s->type), s->url ? s->url : "");
    sha256_hex(buf_str(&about), hex);
    buf_addf(ret, "%s|%.16s", s->name, hex);
}

int mcp_token_lock(const char *home, struct cancel *cancel, struct err *err)
{
    CLEANUP(mem_freep) char *path = path_join(home, "mcp-auth.lock");
    CLEANUP(fd_closep) int fd = -1;
    int ret;

    if (file_mkdirs(home, 0700, err) < 0)
        return -1;
    fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return err_sys(err, ERR_IO, "cannot open '%s'", path);
    while (flock(fd, LOCK_EX | LOCK_NB) < 0) {
        if (errno != EWOULDBLOCK && errno != EINTR)
            return err_sys(err, ERR_IO, "cannot lock '%s'", path);
        if (cancel_wait(cancel, 30, err) < 0)
            return -1;
    }
    ret = fd;
    fd = -1;
    return ret;
}

static int read_all(const char *path, struct arena *arena, const struct json **ret, struct err *err)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(TOKEN_FILE);

    *ret = NULL;
    if (!file_exists(path))
        return 0;
    if (file_slurp(path, TOKEN_FILE, &text, err) < 0 ||
        json_parse_copy(arena, buf_str(&text), ret, NULL, err) < 0)
        return err_prefix(err, "%s", path);
    return 0;
}

int mcp_token_load(const char *home, const struct mcp_server *s, struct mcp_token *ret,
                   struct err *err)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    CLEANUP(mem_freep) char *path = path_join(home, "mcp-auth.json");
    CLEANUP(buf_release) struct buf key = BUF_INIT(BUF_NO_LIMIT);
    const struct json *root = NULL;
    const struct json *t;

    if (read_all(path, &arena, &root, err) < 0)
        return -1;
    token_key(s, &key);
    t = json_get_key(json_get(root, "mcpOAuth"), buf_str(&key));
    if (!json_get_str(t, "accessToken").len)
        return err_set(err, ERR_NOT_FOUND, "there is no token for %s", s->name);
    buf_add(&ret->access, json_get_str(t, "accessToken"));
    buf_add(&ret->refresh, json_get_str(t, "refreshToken"));
    buf_add(&ret->scope, json_get_str(t, "scope"));
    buf_add(&ret->client_id, json_get_str(t, "clientId"));
    buf_add(&ret->client_secret, json_get_str(t, "clientSecret"));
    buf_add(&ret->method, json_get_str(t, "authMethod"));
    buf_add(&ret->issuer, json_get_str(t, "issuer"));
    buf_add(&ret->endpoint, json_get_str(t, "tokenEndpoint"));
    buf_add(&ret->resource, json_get_str(t, "resource"));
    buf_add(&ret->redirect, json_get_str(t, "redirectUri"));
    ret->expires_ms = json_get_i64(t, "expiresAt", 0);
    secret_add(buf_str(&ret->access));
    secret_add(buf_str(&ret->refresh));
    secret_add(buf_str(&ret->client_secret));
    return 0;
}

static void write_token(const struct mcp_server *s, const struct mcp_token *t, struct jw *w)
{
    jw_object(w);
    jw_kcstr(w, "serverName", s->name);
    jw_kcstr(w, "serverUrl", s->url);
    jw_kstr(w, "clientId", buf_str(&t->client_id));
    if (t->client_secret.len)
        jw_kstr(w, "clientSecret", buf_str(&t->client_secret));
    jw_kstr(w, "authMethod", buf_str(&t->method));
    jw_kstr(w, "issuer", buf_str(&t->issuer));
    jw_kstr(w, "tokenEndpoint", buf_str(&t->endpoint));
    if (t->resource.len)
        jw_kstr(w, "resource", buf_str(&t->resource));
    jw_kstr(w, "redirectUri", buf_str(&t->redirect));
    jw_kstr(w, "accessToken", buf_str(&t->access));
    if (t->refresh.len)
        jw_kstr(w, "refreshToken", buf_str(&t->refresh));
    jw_ki64(w, "expiresAt", t->expires_ms);
    jw_kstr(w, "scope", buf_str(&t->scope));
    jw_object_end(w);
}

int mcp_token_save(const char *home, const struct mcp_server *s, const struct mcp_token *t,
                   struct err *err)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    CLEANUP(mem_freep) char *path = path_join(home, "mcp-auth.json");
    CLEANUP(buf_release) struct buf key = BUF_INIT(BUF_NO_LIMIT);
    CLEANUP(buf_release) struct buf out = BUF_INIT(TOKEN_FILE);
    const struct json *root = NULL;
    struct jw w;

    if (read_all(path, &arena, &root, err) < 0)
        return -1;
    token_key(s, &key);
    if (t) {
        secret_add(buf_str(&t->access));
        secret_add(buf_str(&t->refresh));
        secret_add(buf_str(&t->client_secret));
    }
    jw_init(&w, &out, JW_PRETTY);
    jw_object(&w);
    JSON_EACH(root, member) {
        if (!str_is(json_key(member), "mcpOAuth")) {
            jw_key_str(&w, json_key(member));
            jw_json(&w, member);
        }
    }
    jw_key(&w, "mcpOAuth");
    jw_object(&w);
    JSON_EACH(json_get(root, "mcpOAuth"), member) {
        if (!str_eq(json_key(member), buf_str(&key))) {
            jw_key_str(&w, json_key(member));
            jw_json(&w, member);
        }
    }
    if (t) {
        jw_key_str(&w, buf_str(&key));
        write_token(s, t, &w);
    }
    jw_object_end(&w);
    jw_object_end(&w);
    buf_addc(&out, '\n');
    return buf_check(&out, err) < 0 ? -1 : file_replace(path, buf_str(&out), 0600, err);
}
