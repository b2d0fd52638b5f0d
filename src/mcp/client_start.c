/*
 * Connecting and disconnecting: connects, determines the protocol version, reads the lists page by
 * page; and handles a lost connection.
 *
 * A process that does not answer the request of the newer protocol is also greeted with the older
 * one: the first success decides. One that exits on it is started again without.
 */
#include "mcp/client_inside.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/id.h"
#include "json/json.h"
#include "json/jw.h"
#include "mcp/modern.h"
#include "mcp/server_conf.h"
#include "mcp/wire.h"

#define CLIENT_VERSION "2025-11-25"
#define PROBE_MS 1000       /* before a process is greeted in the older way, too */
#define LONG_MS (60 * 1000) /* a process that ran so long is started again at once */

static const char *const era_names[] = {"", "legacy", "modern"};

/* Everything of a connection but the calls. */
static void client_reset(struct mcp_client *c)
{
    c->probe_id = c->probe_due_ms = 0;
    c->start_id = c->start_due_ms = 0;
    c->listen_id = c->listen_due_ms = 0;
    c->refresh_ms = 0;
    c->is_refresh = false;
    c->is_lost = false;
    c->connected_ms = 0;
    mcp_lists_unref(TAKE_PTR(c->building));
}

void client_fail(struct mcp_client *c, enum mcp_state state, const struct err *why)
{
    struct wire *wire = TAKE_PTR(c->wire);

    client_reset(c);
    client_abandon(c, /*refused_id=*/0, why);
    for (size_t i = 0; i < c->waiting.len; i++) {
        err_set(c->waiting.ptr[i]->err, why->code, "the MCP server \"%s\" cannot be used: %s",
                c->spec.server->name, why->text);
        buf_release(&c->waiting.ptr[i]->more);
        inquiry_answer(&c->waiting.ptr[i]->inquiry, -1);
    }
    c->waiting.len = 0;
    wire_free(wire);
    if (c->is_recalled) { /* what it had once is no longer to be had */
        gate_take(&c->gate);
        mcp_lists_unref(TAKE_PTR(c->lists));
        gate_give(&c->gate);
        c->is_recalled = false;
    }
    client_show(c, state, why, NULL);
    client_tell(c, why);
}

void client_listen(struct mcp_client *c)
{
    const struct mcp_lists *l = c->lists;
    CLEANUP(buf_release) struct buf params = BUF_INIT(400);

    c->listen_due_ms = 0;
    if (!c->wire->is_modern)
        return;
    buf_addf(&params, "{\"notifications\":{%s%s%s",
             l->has_tools ? "\"toolsListChanged\":true," : "",
             l->has_prompts ? "\"promptsListChanged\":true," : "",
             l->has_resources ? "\"resourcesListChanged\":true," : "");
    if (params.ptr[params.len - 1] != ',')
        return;
    params.len--;
    buf_adds(&params, "}}");
    c->listen_id = ++c->next_id;
    (void)client_send(c, "subscriptions/listen", buf_str(&params), c->listen_id, NULL);
}

static void client_connected(struct mcp_client *c)
{
    bool was_refresh = c->is_refresh;

    c->start_id = 0;
    c->start_due_ms = 0;
    c->is_refresh = false;
    c->is_recalled = c->is_era_recalled = false;
    c->retries = 0;
    if (!c->connected_ms)
        c->connected_ms = clock_mono_ms();
    client_show(c, MCP_CONNECTED, NULL, TAKE_PTR(c->building));
    if (c->spec.cache)
        mcp_lists_keep(c->lists, c->spec.cache, era_names[c->era]);
    if (!was_refresh)
        client_listen(c);
    for (size_t i = 0; i < c->waiting.len; i++)
        client_begin(c, c->waiting.ptr[i]);
    c->waiting.len = 0;
    client_tell(c, /*why=*/NULL);
}

static void client_initialize(struct mcp_client *c, struct err *err)
{
    CLEANUP(buf_release) struct buf params = BUF_INIT(4096);
    bool is_modern = c->wire->is_modern;

    c->probe_due_ms = 0;
    buf_adds(&params, "{\"protocolVersion\":\"" CLIENT_VERSION "\",\"capabilities\":");
    client_write_capabilities(c, &params);
    buf_adds(&params,
             ",\"clientInfo\":{\"name\":\"tenax\",\"title\":\"tenax\",\"version\":\"" TENAX_VERSION
             "\"}}");
    c->start_id = ++c->next_id;
    c->wire->is_modern = false; /* as long as this is written */
    (void)client_send(c, "initialize", buf_str(&params), c->start_id, err);
    c->wire->is_modern = is_modern && c->probe_id;
}

/* Which protocol does it speak? */
static void client_probe(struct mcp_client *c, struct err *err)
{
    c->wire->is_modern = true;
    c->probe_id = ++c->next_id;
    if (c->spec.server->type == MCP_STDIO && c->era == ERA_UNKNOWN)
        c->probe_due_ms = clock_mono_ms() + PROBE_MS;
    (void)client_send(c, "server/discover", STR(""), c->probe_id, err);
}

/* Scopes that the server has named are kept after the connection is closed. */
void client_note_scope(struct mcp_client *c)
{
    if (!c->wire || !c->wire->scope[0])
        return;
    gate_take(&c->gate);
    memcpy(c->scope, c->wire->scope, sizeof(c->scope));
    gate_give(&c->gate);
}

/* The wire is in use: client_run() frees it. The first reason is kept. */
void client_on_lost(void *arg, const struct err *err)
{
    struct mcp_client *c = arg;

    if (c->is_lost)
        return;
    client_note_scope(c);
    c->is_lost = true;
    c->lost = *err;
}

static int64_t start_due(const struct mcp_client *c)
{
    return clock_mono_ms() + (c->spec.server->start_ms ? c->spec.server->start_ms : MCP_START_MS);
}

void client_start(struct mcp_client *c)
{
    const struct mcp_server *s = c->spec.server;
    struct err err = {0};
    struct wire_spec spec = {
        .server = s,
        .dir = c->spec.dir,
        .env = c->spec.env,
        .home = c->spec.home,
        .sandbox = c->spec.sandbox,
        .log = c->spec.log,
        .net = c->spec.net,
        .link = c->spec.link,
        .mail = c->mail,
        .message = client_on_message,
        .undone = client_on_undone,
        .lost = client_on_lost,
        .arg = c,
    };

    client_show(c, MCP_CONNECTING, NULL, NULL);
    c->is_lost = false;
    c->retry_ms = 0;
    c->start_due_ms = start_due(c);
    c->wire = s->type == MCP_STDIO ? wire_stdio_new(&spec, &err)
              : s->type == MCP_SDK ? wire_sdk_new(&spec, &err)
                                   : wire_http_new(&spec, &err);
    if (c->wire && c->era != ERA_LEGACY)
        client_probe(c, &err);
    else if (c->wire)
        client_initialize(c, &err);
    if (err.code)
        client_fail(c, MCP_FAILED, &err);
}

static void start_failed(struct mcp_client *c, enum err_code code, const char *what, struct str why)
{
    CLEANUP(buf_release) struct buf clean = BUF_INIT(1000);
    struct err err = {0};

    client_add_line(&clean, str_clip(why, 200));
    err_set(&err, code, "%s%s%s", what, why.len ? ": " : "", buf_cstr(&clean));
    client_on_lost(c, &err);
}

static void client_next_list(struct mcp_client *c, struct str cursor);

static void client_greeted(struct mcp_client *c, const struct json *hello)
{
    mcp_lists_unref(c->building);
    c->building = mcp_lists_new();
    mcp_lists_greet(c->building, hello);
    c->reading = MCP_TOOLS;
    c->pages = 0;
    buf_clear(&c->cursor);
}

/* initialize was answered. */
static void take_hello(struct mcp_client *c, const struct json *result)
{
    static const char versions[] = "2024-11-05 2025-03-26 2025-06-18 2025-11-25";
    struct str version = json_get_str(result, "protocolVersion");

    if (!str_is_word_of(version, versions) || version.len >= sizeof(c->wire->version)) {
        start_failed(c, ERR_PROTOCOL, "it speaks a version that is not supported", version);
        return;
    }
    c->era = ERA_LEGACY;
    c->probe_id = c->probe_due_ms = 0;
    c->wire->is_modern = false;
    memcpy(c->wire->version, version.ptr, version.len);
    client_greeted(c, result);
    (void)client_send(c, "notifications/initialized", STR(""), 0, NULL);
    if (c->wire->kind->ready)
        c->wire->kind->ready(c->wire);
    client_next_list(c, STR(""));
}

/* Greets it with the older protocol, unless that was already done. */
void client_probe_failed(struct mcp_client *c)
{
    struct err err = {0};

    c->probe_id = 0;
    c->era = ERA_LEGACY;
    c->wire->is_modern = false;
    if (c->start_id)
        return;
    client_initialize(c, &err);
    if (err.code)
        client_on_lost(c, &err);
}

/* server/discover was answered. */
void client_take_probe(struct mcp_client *c, const struct json *message)
{
    const struct json *result = json_get(message, "result");
    const struct json *error = json_get(message, "error");

    if (!modern_is_hello(result)) {
        const struct json *versions = json_get(json_get(error, "data"), "supported");
        bool has_older = !modern_is_error(error);

        JSON_EACH(versions ? versions : json_get(result, "supportedVersions"), v) {
            has_older = has_older || str_cmp(json_str(v), STR("2026")) < 0;
        }
        if (has_older)
            client_probe_failed(c);
        else
            start_failed(c, ERR_PROTOCOL, "it speaks a version that is not supported",
                         json_get_str(error, "message"));
        return;
    }
    c->era = ERA_MODERN;
    c->probe_id = c->probe_due_ms = 0;
    c->wire->is_modern = true;
    memcpy(c->wire->version, MODERN_VERSION, sizeof(MODERN_VERSION));
    client_greeted(c, result);
    c->building->is_strict = c->spec.server->type == MCP_HTTP;
    client_next_list(c, STR(""));
}

/* The next page, or the next list that the server has, or the end. */
static void client_next_list(struct mcp_client *c, struct str cursor)
{
    CLEANUP(buf_release) struct buf params = BUF_INIT(WIRE_MAX_MESSAGE);
    struct err err = {0};
    struct jw w;

    while (c->reading < MCP_LISTS && !mcp_lists_offers(c->building, c->reading))
        c->reading++;
    if (c->reading == MCP_LISTS) {
        client_connected(c);
        return;
    }
    if (cursor.len) {
        jw_init(&w, &params, 0);
        jw_object(&w);
        jw_kstr(&w, "cursor", cursor);
        jw_object_end(&w);
    }
    c->start_id = ++c->next_id;
    if (client_send(c, mcp_list_method(c->reading), buf_str(&params), c->start_id, &err) < 0)
        client_on_lost(c, &err);
}

static void next_kind(struct mcp_client *c)
{
    c->pages = 0;
    c->reading++;
    client_next_list(c, STR(""));
}

static void take_page(struct mcp_client *c, const struct json *result)
{
    struct str cursor = mcp_lists_add_page(c->building, c->reading, result);
    bool is_new = cursor.len && !str_eq(cursor, buf_str(&c->cursor));

    buf_clear(&c->cursor);
    if (is_new && cursor.len <= MCP_MAX_CURSOR && ++c->pages < MCP_MAX_PAGES) {
        buf_add(&c->cursor, cursor);
        client_next_list(c, cursor);
        return;
    }
    if (is_new)
        mcp_lists_note(c->building, "the answer to %s is cut after page %u: %s",
                       mcp_list_method(c->reading), c->pages ? c->pages : 1,
                       cursor.len > MCP_MAX_CURSOR ? "the cursor is too long"
                                                   : "there are too many pages");
    next_kind(c);
}

/* A list that cannot be read is empty, and its reason is shown. */
static void take_list_error(struct mcp_client *c, const struct json *error)
{
    CLEANUP(buf_release) struct buf why = BUF_INIT(1000);

    client_add_line(&why, str_clip(json_get_str(error, "message"), 200));
    /* Many servers with resources have no list of templates. */
    if (c->reading == MCP_TOOLS || json_get_i64(error, "code", 0) != -32601)
        mcp_lists_note(c->building, "%s failed: %s", mcp_list_method(c->reading),
                       why.len ? buf_cstr(&why) : "the server gives no reason");
    buf_clear(&c->cursor);
    next_kind(c);
}

/* The lists of a live connection, read again. */
void client_refresh(struct mcp_client *c)
{
    c->refresh_ms = 0;
    c->is_refresh = true;
    c->start_due_ms = start_due(c);
    c->building = mcp_lists_again(c->lists);
    c->reading = MCP_TOOLS;
    c->pages = 0;
    client_next_list(c, STR(""));
}

void client_refresh_failed(struct mcp_client *c)
{
    c->start_id = c->start_due_ms = 0;
    c->is_refresh = false;
    mcp_lists_unref(TAKE_PTR(c->building));
}

void client_greet(struct mcp_client *c)
{
    struct err err = {0};

    client_initialize(c, &err);
    if (err.code)
        client_on_lost(c, &err);
}

void client_take_start(struct mcp_client *c, const struct json *message)
{
    const struct json *error = json_get(message, "error");
    const struct json *result = json_get(message, "result");

    c->start_id = 0;
    if (!c->building && error)
        start_failed(c, ERR_PROTOCOL, "it refuses to start", json_get_str(error, "message"));
    else if (!c->building)
        take_hello(c, result);
    else if (error && c->is_refresh)
        client_refresh_failed(c);
    else if (error)
        take_list_error(c, error);
    else
        take_page(c, result);
}

/* Handles a lost connection. */
void client_lost(struct mcp_client *c)
{
    const struct mcp_server *s = c->spec.server;
    bool is_remote = s->type == MCP_HTTP || s->type == MCP_SSE;
    bool was_up = c->connected_ms;
    bool ran_long = was_up && clock_mono_ms() - c->connected_ms >= LONG_MS;
    bool was_probed = c->probe_id && c->era == ERA_UNKNOWN && s->type == MCP_STDIO;
    struct err why = c->lost;

    if (c->wire && c->wire->has_ended_session) {
        int64_t refused = c->wire->refused_id;

        client_abandon(c, refused, &why);
        client_reset(c);
        wire_free(TAKE_PTR(c->wire));
        client_start(c);
    } else if ((was_probed && why.code == ERR_NETWORK) || /* it could not bear the question */
               (c->is_era_recalled && !was_up && why.code == ERR_PROTOCOL)) {
        client_reset(c);
        wire_free(TAKE_PTR(c->wire));
        c->era = was_probed ? ERA_LEGACY : ERA_UNKNOWN;
        c->is_era_recalled = false;
        client_start(c);
    } else if (is_remote && (was_up || c->retries) && why.code != ERR_AUTH &&
               c->retries < CLIENT_RETRIES) {
        int64_t wait_ms = 1000LL << c->retries++;

        client_fail(c, MCP_CONNECTING, &why);
        c->retry_ms = clock_mono_ms() + wait_ms * (80 + (int64_t)(id_random() % 41)) / 100;
    } else {
        if (was_up && s->type == MCP_STDIO)
            c->deaths_ms[c->deaths++ % CLIENT_DEATHS] = clock_mono_ms();
        c->retries = 0;
        client_fail(c, why.code == ERR_AUTH ? MCP_NEEDS_AUTH : MCP_FAILED, &why);
        if (ran_long && s->type == MCP_STDIO)
            client_start(c);
    }
}
