/*
 * What the two OpenAI dialects share: headers, and how their servers say no.
 *
 * The many servers with these dialects answer errors in many shapes: {"error":{…}},
 * {"error":"text"}, a flat {"object":"error",…}, {"detail":…}, HTML, nothing. One reader takes them
 * all, whether they come with a status or inside a stream that began with 200.
 */
#pragma once

#include <stdbool.h>

#include "base/str.h"

struct err;
struct json;
struct llm_fault;
struct llm_request;
struct strv;

void openai_headers(const struct llm_request *req, struct str key, bool bearer, struct strv *out);

void openai_fault(int status, struct str body, struct str retry_after, struct str retry_after_ms,
                  struct str should_retry, struct llm_fault *ret);

/* The error inside an event or an answer of status 200: the object or text found under "error", or
 * the flat form itself. NULL when v says nothing of the kind. */
const struct json *openai_error_in(const struct json *v);

/* Fills *fault and *err from what openai_error_in() found; returns -1. */
int openai_error(const struct json *error, struct llm_fault *fault, struct err *err);
