/*
 * The file is read once, and each new line written at once; another process adds its own.
 */
#include "mcp/known.h"

#include <stdlib.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/file.h"
#include "base/map.h"
#include "base/mem.h"
#include "json/json.h"
#include "json/jw.h"
#include "mcp/server_conf.h"
#include "sync/thread.h"

#define KNOWN_TEXT ((size_t)2000) /* of a description */
#define SERVER_DIGITS 16

struct record {
    char digest[SHA256_HEX + 1];
    struct str text;
};

struct mcp_known {
    char *path;
    struct lock lock; /* of the rest */
    bool is_read;
    struct arena arena;
    struct map records; /* of struct record, by "server tool" */
};

struct mcp_known *mcp_known_new(const char *path)
{
    struct mcp_known *k = mem_zalloc(sizeof(*k));

    k->path = mem_dup(path, strlen(path));
    lock_init(&k->lock);
    return k;
}

void mcp_known_free(struct mcp_known *k)
{
    if (!k)
        return;
    map_release(&k->records);
    arena_release(&k->arena);
    lock_release(&k->lock);
    free(k->path);
    free(k);
}

static void add(struct mcp_known *k, struct str key, struct str digest, struct str text)
{
    struct record *r = arena_new(&k->arena, struct record);

    memcpy(r->digest, digest.ptr, SHA256_HEX);
    r->text = arena_str(&k->arena, text);
    (void)map_set(&k->records, key, r);
}

static void read_file(struct mcp_known *k)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(MCP_MAX_FILE);
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    const struct json *root = NULL;

    if (k->is_read)
        return;
    k->is_read = true;
    if (file_slurp(k->path, MCP_MAX_FILE, &text, NULL) < 0 ||
        json_parse(&arena, buf_str(&text), &root, NULL, NULL) < 0)
        return;
    JSON_EACH(root, server) {
        JSON_EACH(server, tool) {
            CLEANUP(buf_release) struct buf key = BUF_INIT(64 << 10);

            buf_addf(&key, "%.*s %.*s", STR_ARG(json_key(server)), STR_ARG(json_key(tool)));
            if (json_get_str(tool, "digest").len == SHA256_HEX)
                add(k, buf_str(&key), json_get_str(tool, "digest"), json_get_str(tool, "text"));
        }
    }
}

static void digest_of(const struct json *tool, char ret_hex[SHA256_HEX + 1])
{
    static const char *const members[] = {"title", "description", "inputSchema", "annotations"};
    CLEANUP(buf_release) struct buf all = BUF_INIT(BUF_NO_LIMIT);

    for (size_t i = 0; i < ARRAY_LEN(members); i++) {
        buf_add(&all, json_raw(json_get(tool, members[i])));
        buf_addc(&all, '\0');
    }
    sha256_hex(buf_str(&all), ret_hex);
}

static void key_of(const struct mcp_server *s, const struct json *tool, struct buf *ret)
{
    char server[SHA256_HEX + 1];

    mcp_server_digest(s, server);
    buf_addf(ret, "%.*s %.*s", SERVER_DIGITS, server, STR_ARG(json_get_str(tool, "name")));
}

bool mcp_known_differs(struct mcp_known *k, const struct mcp_server *s, const struct json *tool,
                       struct buf *ret_before)
{
    CLEANUP(buf_release) struct buf key = BUF_INIT(64 << 10);
    char now[SHA256_HEX + 1];
    const struct record *r = NULL;
    bool differs = false;

    lock_take(&k->lock);
    read_file(k);
    if (k->records.len) {
        key_of(s, tool, &key);
        r = map_get(&k->records, buf_str(&key));
    }
    if (r) {
        digest_of(tool, now);
        differs = strcmp(now, r->digest) != 0;
        if (differs)
            buf_add(ret_before, r->text);
    }
    lock_give(&k->lock);
    return differs;
}

void mcp_known_keep(struct mcp_known *k, const struct mcp_server *s, const struct json *tool)
{
    CLEANUP(buf_release) struct buf key = BUF_INIT(64 << 10);
    CLEANUP(buf_release) struct buf value = BUF_INIT(64 << 10);
    CLEANUP(mem_freep) char *name = NULL;
    struct str raw = json_get_str(tool, "name");
    struct str text = str_clip(json_get_str(tool, "description"), KNOWN_TEXT);
    char digest[SHA256_HEX + 1];
    char server[SERVER_DIGITS + 1];
    const struct record *r;
    bool is_new;
    struct jw w;

    digest_of(tool, digest);
    key_of(s, tool, &key);
    lock_take(&k->lock);
    read_file(k);
    r = map_get(&k->records, buf_str(&key));
    is_new = !r || strcmp(r->digest, digest) != 0;
    if (is_new)
        add(k, buf_str(&key), str_of(digest), text);
    lock_give(&k->lock);
    if (!is_new || str_chr(raw, '\0') < raw.len)
        return;
    name = mem_dup(raw.ptr, raw.len);
    memcpy(server, key.ptr, SERVER_DIGITS);
    server[SERVER_DIGITS] = '\0';
    jw_init(&w, &value, JW_CLEAN);
    jw_object(&w);
    jw_kcstr(&w, "digest", digest);
    jw_kstr(&w, "text", text);
    jw_object_end(&w);
    (void)mcp_file_change(k->path, 0600, (const char *const[]){server, name, NULL}, buf_str(&value),
                          NULL); /* it is asked about again then */
}
