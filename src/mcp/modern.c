/*
 * Pure functions of texts; any thread.
 */
#include "mcp/modern.h"

#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/strv.h"
#include "json/json.h"
#include "json/jw.h"
#include "net/net.h"

#define MAX_DEPTH 16 /* of properties that are looked at for headers */
#define MAX_INTEGER ((int64_t)1 << 53)

void modern_write_meta(struct str capabilities, struct buf *ret)
{
    buf_addf(ret,
             "\"io.modelcontextprotocol/protocolVersion\":\"" MODERN_VERSION "\","
             "\"io.modelcontextprotocol/clientInfo\":{\"name\":\"tenax\",\"title\":\"tenax\","
             "\"version\":\"" TENAX_VERSION
             "\"},\"io.modelcontextprotocol/clientCapabilities\":%.*s",
             STR_ARG(capabilities));
}

/* What a header cannot hold is sent as base64 of its bytes. */
static void add_header(struct strv *ret, const char *prefix, struct str name, struct str value)
{
    CLEANUP(buf_release) struct buf line = BUF_INIT(1 << 20);
    bool is_plain = str_eq(str_trim(value), value) &&
                    !(str_starts(value, STR("=?base64?")) && str_ends(value, STR("?=")));

    for (size_t i = 0; i < value.len; i++)
        is_plain =
            is_plain && ((value.ptr[i] >= ' ' && value.ptr[i] <= '~') || value.ptr[i] == '\t');
    buf_addf(&line, "%s%.*s: ", prefix, STR_ARG(name));
    if (is_plain) {
        buf_add(&line, value);
    } else {
        buf_adds(&line, "=?base64?");
        buf_add_base64(&line, value);
        buf_adds(&line, "?=");
    }
    if (!line.over)
        strv_add(ret, buf_str(&line));
}

static void add_params(const struct json *schema, const struct json *args, int depth,
                       struct strv *ret)
{
    JSON_EACH(json_get(schema, "properties"), p) {
        const struct json *value = json_get_key(args, json_key(p));
        struct str name = json_get_str(p, "x-mcp-header");

        if (depth < MAX_DEPTH)
            add_params(p, value, depth + 1, ret);
        if (!name.len)
            continue;
        if (json_is(value, JSON_STRING))
            add_header(ret, "Mcp-Param-", name, json_str(value));
        else if (json_is(value, JSON_NUMBER) || json_is(value, JSON_BOOL))
            add_header(ret, "Mcp-Param-", name, json_raw(value));
    }
}

void modern_headers(const char *method, const struct json *params, const struct json *schema,
                    struct strv *ret)
{
    struct str name = strcmp(method, "resources/read") == 0 ? json_get_str(params, "uri")
                                                            : json_get_str(params, "name");

    strv_adds(ret, "MCP-Protocol-Version: " MODERN_VERSION);
    strv_addf(ret, "Mcp-Method: %s", method);
    if (name.len && str_is_word_of(str_of(method), "tools/call resources/read prompts/get"))
        add_header(ret, "Mcp-Name", STR(""), name);
    add_params(schema, json_get(params, "arguments"), 0, ret);
}

/* seen: the names so far. */
static bool params_are_fine(const struct json *schema, int depth, struct strv *seen)
{
    JSON_EACH(json_get(schema, "properties"), p) {
        const struct json *mark = json_get(p, "x-mcp-header");
        struct str name = json_str(mark);

        if (depth < MAX_DEPTH && !params_are_fine(p, depth + 1, seen))
            return false;
        if (!mark)
            continue;
        if (!name.len || !net_is_token(name) ||
            !str_is_word_of(json_get_str(p, "type"), "string integer boolean"))
            return false;
        for (size_t i = 0; i < seen->len; i++) {
            if (str_eq_nocase(str_of(seen->ptr[i]), name))
                return false;
        }
        strv_add(seen, name);
    }
    return true;
}

bool modern_schema_is_fine(const struct json *schema)
{
    CLEANUP(strv_release) struct strv seen = STRV_INIT;

    return params_are_fine(schema, 0, &seen);
}

bool modern_is_hello(const struct json *result)
{
    JSON_EACH(json_get(result, "supportedVersions"), v) {
        if (str_is(json_str(v), MODERN_VERSION))
            return true;
    }
    return false;
}

bool modern_is_error(const struct json *error)
{
    int64_t code = json_get_i64(error, "code", 0);

    return code <= -32020 && code >= -32022;
}

bool modern_asks(const struct json *result, const struct json **ret_questions)
{
    *ret_questions = json_get(result, "inputRequests");
    return str_is(json_get_str(result, "resultType"), "input_required");
}
