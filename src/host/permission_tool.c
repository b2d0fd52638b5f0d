/*
 * The call is made on the thread that asks, which waits anyway, and ends with its cancel.
 */
#include "host/permission_tool.h"

#include <stdlib.h>

#include "agent/event.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"
#include "host/asks.h"
#include "host/host_state.h"
#include "json/json.h"
#include "json/jw.h"
#include "mcp/client.h"
#include "mcp/reach.h"
#include "sync/cancel.h"

#define MAX_RESULT ((size_t)16 << 20)

struct permission_tool {
    struct asker asker; /* must be first: askers have a pointer to it */
    struct host *host;
    const char *name;
};

static struct mcp_client *reach(struct permission_tool *t, struct cancel *cancel,
                                struct buf *ret_raw, struct err *err)
{
    struct mcp_client *c =
        t->host->mcp ? mcp_reach_tool(t->host->mcp, str_of(t->name), cancel, ret_raw, err) : NULL;

    if (!c && !t->host->mcp)
        err_set(err, ERR_NOT_FOUND, "no MCP server has the tool %s", t->name);
    return c;
}

static int call_tool(struct permission_tool *t, const struct ask *ask, struct cancel *cancel,
                     struct buf *ret_text, struct err *err)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    CLEANUP(buf_release) struct buf raw = BUF_INIT(4096);
    CLEANUP(buf_release) struct buf params = BUF_INIT(MAX_RESULT);
    CLEANUP(buf_release) struct buf answer = BUF_INIT(MAX_RESULT);
    struct mcp_request request = {.method = "tools/call"};
    struct mcp_client *client = reach(t, cancel, &raw, err);
    const struct json *result = NULL;
    struct jw w;

    if (!client)
        return -1;
    jw_init(&w, &params, 0);
    jw_object(&w);
    jw_kstr(&w, "name", buf_str(&raw));
    jw_key(&w, "arguments");
    jw_object(&w);
    jw_kstr(&w, "tool_name", ask->tool_name);
    jw_kraw(&w, "input", ask->input.len ? ask->input : STR("{}"));
    jw_kstr(&w, "tool_use_id", ask->tool_use_id);
    jw_object_end(&w);
    jw_object_end(&w);
    if (buf_check(&params, err) < 0)
        return -1;
    request.params = buf_str(&params);
    if (mcp_client_call(client, &request, cancel, &answer, err) < 0 ||
        json_parse(&arena, buf_str(&answer), &result, NULL, err) < 0)
        return -1;
    JSON_EACH(json_get(result, "content"), block) {
        if (str_is(json_get_str(block, "type"), "text"))
            buf_add(ret_text, json_get_str(block, "text"));
    }
    if (json_get_bool(result, "isError", false))
        return err_set(err, ERR_DENIED, "%.*s", STR_ARG(str_clip(buf_str(ret_text), 400)));
    return 0;
}

static int put(struct asker *self, const struct ask *ask, struct cancel *cancel,
               struct ask_answer *ret, struct err *err)
{
    struct permission_tool *t = (struct permission_tool *)self;
    struct asker *others = asks_asker(t->host->asks);
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    CLEANUP(buf_release) struct buf text = BUF_INIT(MAX_RESULT);
    const struct json *root = NULL;
    struct err why = {0};

    if (ask->kind != ASK_PERMISSION && ask->kind != ASK_QUESTION)
        return others->put(others, ask, cancel, ret, err);
    if (call_tool(t, ask, cancel, &text, &why) == 0 &&
        json_parse(&arena, buf_str(&text), &root, NULL, &why) == 0 &&
        ask_answer_read(root, ret, &why) == 0)
        return 0;
    if (why.code == ERR_CANCELLED) {
        *err = why;
        return -1;
    }
    return err_set(err, ERR_DENIED, "Tool permission request failed: %s: %s", t->name, why.text);
}

/* No user is asked, so none is notified. */
static bool is_there(struct asker *self)
{
    (void)self;
    return false;
}

struct permission_tool *permission_tool_new(struct host *h, const char *name)
{
    struct permission_tool *t = mem_zalloc(sizeof(*t));

    t->asker = (struct asker){.put = put, .is_there = is_there};
    t->host = h;
    t->name = name;
    return t;
}

void permission_tool_free(struct permission_tool *t)
{
    free(t);
}

struct asker *permission_tool_asker(struct permission_tool *t)
{
    return &t->asker;
}

void permission_tool_await(struct permission_tool *t, struct cancel *cancel)
{
    CLEANUP(buf_release) struct buf raw = BUF_INIT(4096);
    CLEANUP(buf_release) struct buf text = BUF_INIT(2000);
    struct err err = {0};

    if (reach(t, cancel, &raw, &err) || cancel_is_set(cancel))
        return;
    buf_addf(&text, "--permission-prompt-tool: %s; what would ask is refused", err.text);
    host_notice(t->host, LEVEL_ERROR, buf_str(&text));
}
