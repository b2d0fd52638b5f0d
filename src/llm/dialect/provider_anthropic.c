/*
 * The Anthropic Messages API and compatible servers: row, headers, errors. Pure; any thread.
 *
 * No beta header is ever sent: nothing used here needs one, and compatible servers reject unknown
 * ones.
 */
#include <stdio.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/mem.h"
#include "json/json.h"
#include "llm/dialect/anthropic.h"
#include "llm/dialect/dialect.h"

static void anthropic_path(const struct llm_request *req, struct buf *out)
{
    (void)req;
    buf_adds(out, "/v1/messages");
}

static void anthropic_headers(const struct llm_request *req, struct str key, bool bearer,
                              struct strv *out)
{
    (void)req;
    strv_adds(out, "anthropic-version: 2023-06-01");
    if (key.len)
        strv_addf(out, "%s%.*s", bearer ? "authorization: Bearer " : "x-api-key: ", STR_ARG(key));
}

/* Error types and their HTTP status, if they have one. */
static const struct {
    const char *type;
    int status;
} error_types[] = {
    {"invalid_request_error", 400}, {"authentication_error", 401}, {"billing_error", 402},
    {"permission_error", 403},      {"not_found_error", 404},      {"conflict_error", 409},
    {"request_too_large", 413},     {"rate_limit_error", 429},     {"api_error", 500},
    {"timeout_error", 504},         {"overloaded_error", 529},
};

static int status_of(struct str type)
{
    for (size_t i = 0; i < ARRAY_LEN(error_types); i++) {
        if (str_is(type, error_types[i].type))
            return error_types[i].status;
    }
    return 0;
}

static void read_request_id(struct llm_fault *ret, struct str body, struct arena *arena)
{
    const struct json *v = NULL;
    struct str id;
    size_t n = 0;

    if (json_parse(arena, body, &v, /*ret_info=*/NULL, /*err=*/NULL) < 0)
        return;
    id = json_get_str(v, "request_id");
    for (size_t i = 0; i < id.len && n + 1 < sizeof(ret->request_id); i++) {
        if (id.ptr[i] > ' ' && id.ptr[i] < 0x7f)
            ret->request_id[n++] = id.ptr[i];
    }
}

static void anthropic_fault(int status, struct str body, struct str retry_after,
                            struct str retry_after_ms, struct str should_retry,
                            struct llm_fault *ret)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    struct str type = json_get_str(fault_find(body, &arena), "type");

    *ret = (struct llm_fault){0};
    /* Proxies wrap an overload in a status of their own. */
    fault_from_status(ret, str_is(type, "overloaded_error") ? 529 : status, body, retry_after,
                      retry_after_ms);
    read_request_id(ret, body, &arena);

    ret->cap_at_home = str_is(type, "rate_limit_error") && ret->code == ERR_RETRY_LATER &&
                       ret->wait_ms < 0 && !str_is(should_retry, "true");
    if (str_is(should_retry, "true")) {
        ret->retry = true;
        if (ret->code == ERR_QUOTA && status == 429)
            ret->code = ERR_RETRY_LATER;
    } else if (str_is(should_retry, "false")) {
        ret->retry = false;
    }
}

void anthropic_fault_event(struct str body, struct llm_fault *ret)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    int status = status_of(json_get_str(fault_find(body, &arena), "type"));

    *ret = (struct llm_fault){0};
    fault_from_status(ret, status ? status : 500, body, STR(""), STR(""));
    read_request_id(ret, body, &arena);
}

const struct dialect dialect_anthropic = {
    .name = "anthropic",
    .searches = true,
    .filters_blocked = true,
    .path = anthropic_path,
    .headers = anthropic_headers,
    .body = anthropic_body,
    .decoder_new = anthropic_decoder_new,
    .event = anthropic_event,
    .end = anthropic_end,
    .whole = anthropic_whole,
    .decoder_free = anthropic_decoder_free,
    .fault = anthropic_fault,
};
