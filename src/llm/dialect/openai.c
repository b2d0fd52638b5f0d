/*
 * Shared by the two OpenAI dialects. The meaning of an error is read from its code, then its type,
 * then its text, and last from the HTTP status: proxies change the status, but rarely the text.
 * Pure; runs on the thread of the agent that made the call.
 */
#include "llm/dialect/openai.h"

#include "base/arena.h"
#include "base/err.h"
#include "base/strv.h"
#include "json/json.h"
#include "llm/dialect/dialect.h"

struct code_row {
    const char *code;
    enum err_code means;
    bool retry;
    bool overloaded;
};

static const struct code_row code_rows[] = {
    {"context_length_exceeded", ERR_CONTEXT_FULL},
    {"exceed_context_size_error", ERR_CONTEXT_FULL},
    {"insufficient_quota", ERR_QUOTA},
    {"billing_hard_limit_reached", ERR_QUOTA},
    {"usage_limit_reached", ERR_QUOTA},
    {"usage_not_included", ERR_QUOTA},
    {"rate_limit_exceeded", ERR_RETRY_LATER, .retry = true},
    {"rate_limit_error", ERR_RETRY_LATER, .retry = true},
    {"server_is_overloaded", ERR_RETRY_LATER, .retry = true, .overloaded = true},
    {"slow_down", ERR_RETRY_LATER, .retry = true, .overloaded = true},
    {"overloaded_error", ERR_RETRY_LATER, .retry = true, .overloaded = true},
    {"unavailable_error", ERR_NETWORK, .retry = true}, /* llama.cpp while it is loading the model */
    {"server_error", ERR_NETWORK, .retry = true},
    {"InternalServerError", ERR_NETWORK, .retry = true},
    {"internal_server_error", ERR_NETWORK, .retry = true},
    {"invalid_api_key", ERR_AUTH},
    {"authentication_error", ERR_AUTH},
    {"model_not_found", ERR_NOT_FOUND},
    {"not_found_error", ERR_NOT_FOUND},
    {"not_supported_error", ERR_UNSUPPORTED},
    {"bio_policy", ERR_DENIED},
    {"cyber_policy", ERR_DENIED},
    {"content_policy_violation", ERR_DENIED},
    {"invalid_prompt", ERR_BAD_INPUT},
    {"invalid_request_error", ERR_BAD_INPUT},
    {"BadRequestError", ERR_BAD_INPUT},
};

void openai_headers(const struct llm_request *req, struct str key, bool bearer, struct strv *out)
{
    (void)req;
    (void)bearer;
    if (key.len)
        strv_addf(out, "authorization: Bearer %.*s", STR_ARG(key));
}

static const struct code_row *code_find(struct str code)
{
    for (size_t i = 0; i < ARRAY_LEN(code_rows); i++)
        if (str_is(code, code_rows[i].code))
            return &code_rows[i];
    return NULL;
}

const struct json *openai_error_in(const struct json *v)
{
    const struct json *error = json_get(v, "error");

    if (json_is(error, JSON_OBJECT) || json_str(error).len)
        return error;
    if (str_is(json_get_str(v, "object"), "error") || str_is(json_get_str(v, "type"), "error"))
        return v;
    return NULL;
}

/* The code, or else the type, is more specific than the status. What was recognized from the text
 * (full context, no tools, no credit left) takes precedence. */
static void refine(struct llm_fault *f, const struct json *error, int status)
{
    const struct code_row *row = code_find(json_get_str(error, "code"));

    if (!row)
        row = code_find(json_get_str(error, "type"));
    if (!row || f->code == ERR_CONTEXT_FULL || f->code == ERR_UNSUPPORTED || f->code == ERR_QUOTA)
        return;
    if (row->means == ERR_BAD_INPUT && status) /* no more specific than the status */
        return;
    if (row->means == ERR_NETWORK && f->overloaded) /* neither is "server_error" with 529 */
        return;
    f->code = row->means;
    f->retry = row->retry;
    f->overloaded = row->overloaded;
}

void openai_fault(int status, struct str body, struct str retry_after, struct str retry_after_ms,
                  struct str should_retry, struct llm_fault *ret)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;

    *ret = (struct llm_fault){.wait_ms = -1};
    fault_from_status(ret, status, body, retry_after, retry_after_ms);
    refine(ret, fault_find(body, &arena), status);
    if ((status == 400 || status == 422) && str_has(body, STR("stream_options")))
        ret->drop_stream_options = true;
    /* OpenAI gives summaries only to verified organizations; other servers do not support them. */
    if (status == 400 &&
        (str_has(body, STR("reasoning.summary")) || str_has(body, STR("reasoning summaries"))))
        ret->drop_summaries = true;
    if (str_is(should_retry, "false"))
        ret->retry = false;
    else if (str_is(should_retry, "true") && ret->code != ERR_CONTEXT_FULL)
        ret->retry = true;
}

int openai_error(const struct json *error, struct llm_fault *fault, struct err *err)
{
    int status = fault_status(error); /* the error's own status, inside of it */
    struct str text = json_str(error);

    *fault = (struct llm_fault){.wait_ms = -1};
    fault_from_status(fault, status ? status : 500, json_raw(error), STR(""), STR(""));
    refine(fault, error, status);
    if (text.len)
        fault_text(fault, text);
    else if (!fault_message(error).len)
        fault->text[0] = '\0'; /* only the body is left, which has nothing more */
    if (!fault->text[0])       /* nothing readable */
        fault_text(fault, STR("the server did not say what went wrong"));
    return err_set(err, fault->code, "%s", fault->text);
}
