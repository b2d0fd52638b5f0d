/*
 * A name leads to the server with the longest matching prefix. The thread waits at the clients'
 * gates; it holds nothing.
 */
#include "mcp/reach.h"

#include "base/buf.h"
#include "base/err.h"
#include "json/json.h"
#include "mcp/client.h"
#include "mcp/mcp.h"
#include "mcp/names.h"
#include "mcp/server_conf.h"
#include "mcp/token.h"
#include "sync/cancel.h"

static enum extra_state state_of(const struct mcp_look *look)
{
    switch (look->state) {
    case MCP_IDLE: /* its tools are known from the last time, or come when it starts */
        return look->lists ? EXTRA_CONNECTED : EXTRA_CONNECTING;
    case MCP_CONNECTING:
        return EXTRA_CONNECTING;
    case MCP_NEEDS_AUTH:
        return EXTRA_NEEDS_LOGIN;
    case MCP_FAILED: /* one that was lost is started again by the next call */
        return look->lists ? EXTRA_CONNECTED : EXTRA_FAILED;
    case MCP_CONNECTED:
        break;
    }
    return EXTRA_CONNECTED;
}

void mcp_reach_servers(const struct mcp *m, struct extra_servers *ret)
{
    for (size_t i = 0; i < mcp_count(m); i++) {
        struct mcp_client *c = mcp_client_at(m, i);
        struct extra_server *s;
        struct mcp_look look;

        if (!c)
            continue;
        mcp_client_look(c, &look);
        s = vec_add(&ret->list);
        *s = (struct extra_server){
            .name = arena_str(&ret->arena, str_of(mcp_server_at(m, i)->name)),
            .state = state_of(&look),
        };
        if (s->state == EXTRA_FAILED) {
            s->code = str_of(look.code);
            s->error = arena_str(&ret->arena, str_of(look.error));
        }
        if (look.lists)
            s->instructions = arena_str(&ret->arena, look.lists->instructions);
        mcp_lists_unref(look.lists);
    }
}

/* mcp_count(): none. */
static size_t server_of(const struct mcp *m, struct str tool)
{
    size_t found = mcp_count(m);
    size_t longest = 0;

    for (size_t i = 0; i < mcp_count(m); i++) {
        CLEANUP(buf_release) struct buf prefix = BUF_INIT(BUF_NO_LIMIT);

        if (!mcp_client_at(m, i))
            continue;
        mcp_name_prefix(str_of(mcp_server_at(m, i)->name), &prefix);
        if (prefix.len > longest && str_starts(tool, buf_str(&prefix))) {
            longest = prefix.len;
            found = i;
        }
    }
    return found;
}

enum extra_state mcp_reach_state(const struct mcp *m, struct str tool)
{
    size_t i = server_of(m, tool);
    enum extra_state state;
    struct mcp_look look;

    if (i == mcp_count(m))
        return EXTRA_CONNECTED;
    mcp_client_look(mcp_client_at(m, i), &look);
    state = look.state == MCP_IDLE ? EXTRA_CONNECTING : state_of(&look);
    mcp_lists_unref(look.lists);
    return state;
}

static void await_client(struct mcp_client *c, bool tries_again, struct cancel *cancel)
{
    struct mcp_look look;

    mcp_client_look(c, &look);
    mcp_lists_unref(look.lists);
    if (look.state == MCP_IDLE ||
        (tries_again && state_of(&look) == EXTRA_FAILED && mcp_client_has_rested(c)))
        mcp_client_reconnect(c);
    (void)mcp_client_wait(c, MCP_START_MAX_MS, cancel, /*err=*/NULL);
}

void mcp_reach_await(struct mcp *m, struct str tools, struct cancel *cancel)
{
    struct str name;

    for (size_t i = 0; !tools.len && i < mcp_count(m); i++) {
        if (mcp_client_at(m, i))
            await_client(mcp_client_at(m, i), /*tries_again=*/false, cancel);
    }
    while (str_cut(&tools, ' ', &name)) {
        size_t i = server_of(m, name);

        if (i < mcp_count(m))
            await_client(mcp_client_at(m, i), /*tries_again=*/true, cancel);
    }
}

static bool find_tool(struct mcp_client *c, struct str tool, struct buf *ret_raw)
{
    struct mcp_look look;

    mcp_client_look(c, &look);
    for (size_t i = 0; look.lists && !ret_raw->len && i < look.lists->tools.len; i++) {
        struct mcp_named one = {.server = str_of(mcp_client_server(c)->name),
                                .tool = json_get_str(look.lists->tools.ptr[i], "name")};

        mcp_names_make(&one, 1);
        if (str_is(tool, one.name))
            buf_add(ret_raw, one.tool);
    }
    mcp_lists_unref(look.lists);
    return ret_raw->len;
}

struct mcp_client *mcp_reach_tool(struct mcp *m, struct str tool, struct cancel *cancel,
                                  struct buf *ret_raw, struct err *err)
{
    size_t i = server_of(m, tool);
    struct mcp_client *c = i < mcp_count(m) ? mcp_client_at(m, i) : NULL;

    if (!c) {
        err_set(err, ERR_NOT_FOUND, "no MCP server has the tool %.*s", STR_ARG(tool));
        return NULL;
    }
    await_client(c, /*tries_again=*/true, cancel);
    if (cancel_check(cancel, err) < 0)
        return NULL;
    if (find_tool(c, tool, ret_raw))
        return c;
    if (mcp_client_wait(c, 0, cancel, err) == 0)
        err_set(err, ERR_NOT_FOUND, "the MCP server %s has no tool %.*s",
                mcp_client_server(c)->name, STR_ARG(tool));
    else
        err_prefix(err, "the MCP server %s", mcp_client_server(c)->name);
    return NULL;
}

void mcp_reach_scope(struct mcp_client *c, const char *home, struct buf *ret)
{
    struct mcp_token old = MCP_TOKEN_INIT;
    struct mcp_look look;

    mcp_client_look(c, &look);
    mcp_lists_unref(look.lists);
    buf_adds(ret, look.scope);
    if (look.scope[0] && mcp_token_load(home, mcp_client_server(c), &old, NULL) == 0 &&
        old.scope.len)
        buf_addf(ret, " %s", buf_cstr(&old.scope));
    mcp_token_release(&old);
}
