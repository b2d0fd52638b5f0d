/*
 * Names are made in two passes: what each would like to have, then who has to give way.
 */
#include "mcp/names.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/map.h"
#include "base/sha256.h"

static void add_part(struct buf *ret, struct str raw)
{
    size_t from = ret->len;
    bool says_something = false;

    for (size_t i = 0; i < raw.len; i++) {
        bool fine = str_is_alnum(raw.ptr[i]) || raw.ptr[i] == '_' || raw.ptr[i] == '-';

        buf_addc(ret, fine ? raw.ptr[i] : '_');
        says_something = says_something || (fine && raw.ptr[i] != '_');
    }
    if (!says_something) {
        char digest[SHA256_HEX + 1];

        sha256_hex(raw, digest);
        buf_cut(ret, from, ret->len - from);
        buf_addf(ret, "t_%.6s", digest);
    }
}

void mcp_name_prefix(struct str server, struct buf *ret)
{
    buf_adds(ret, "mcp__");
    add_part(ret, server);
    buf_adds(ret, "__");
}

static void raw_pair(const struct mcp_named *n, struct buf *ret)
{
    buf_add(ret, n->server);
    buf_addc(ret, '\0');
    buf_add(ret, n->tool);
}

static void plain_name(const struct mcp_named *n, struct buf *ret)
{
    mcp_name_prefix(n->server, ret);
    add_part(ret, n->tool);
}

static bool is_unchanged(const struct mcp_named *n)
{
    CLEANUP(buf_release) struct buf made = BUF_INIT(BUF_NO_LIMIT);
    CLEANUP(buf_release) struct buf raw = BUF_INIT(BUF_NO_LIMIT);

    plain_name(n, &made);
    buf_addf(&raw, "mcp__%.*s__%.*s", STR_ARG(n->server), STR_ARG(n->tool));
    return str_eq(buf_str(&made), buf_str(&raw));
}

static bool comes_before(const struct mcp_named *a, const struct mcp_named *b)
{
    bool a_fine = is_unchanged(a), b_fine = is_unchanged(b);
    int order = str_cmp(a->server, b->server);

    if (a_fine != b_fine)
        return a_fine;
    return order ? order < 0 : str_cmp(a->tool, b->tool) < 0;
}

static void cut_name(struct buf *name, const char *digest)
{
    if (name->len <= MCP_MAX_NAME)
        return;
    buf_cut(name, 55, name->len - 55);
    buf_addf(name, "_%.8s", digest);
}

void mcp_names_make(struct mcp_named *list, size_t count)
{
    struct map keepers = MAP_INIT;
    struct map taken = MAP_INIT;

    for (size_t i = 0; i < count; i++) {
        CLEANUP(buf_release) struct buf name = BUF_INIT(BUF_NO_LIMIT);
        struct mcp_named *other;

        plain_name(&list[i], &name);
        other = map_get(&keepers, buf_str(&name));
        if (!other || comes_before(&list[i], other))
            map_set(&keepers, buf_str(&name), &list[i]);
    }
    for (size_t i = 0; i < count; i++) {
        CLEANUP(buf_release) struct buf name = BUF_INIT(BUF_NO_LIMIT);
        CLEANUP(buf_release) struct buf raw = BUF_INIT(BUF_NO_LIMIT);
        char digest[SHA256_HEX + 1];
        bool keeps;

        plain_name(&list[i], &name);
        keeps = map_get(&keepers, buf_str(&name)) == &list[i];
        raw_pair(&list[i], &raw);
        sha256_hex(buf_str(&raw), digest);
        if (!keeps)
            buf_addf(&name, "_%.6s", digest);
        cut_name(&name, digest);
        /* Six digits may be the name of another tool, which has been chosen for that. */
        while (map_has(keeps ? &taken : &keepers, buf_str(&name)) ||
               map_has(&taken, buf_str(&name))) {
            sha256_hex(buf_str(&name), digest);
            buf_addf(&name, "_%.8s", digest);
            cut_name(&name, digest);
        }
        map_set(&taken, buf_str(&name), &list[i]);
        snprintf(list[i].name, sizeof(list[i].name), "%s", buf_cstr(&name));
    }
    map_release(&taken);
    map_release(&keepers);
}
