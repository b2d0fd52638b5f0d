/*
 * Shared by the two OpenAI dialects: headers and error answers.
 *
 * Servers with these dialects report errors in many forms: {"error":{…}}, {"error":"text"}, a flat
 * {"object":"error",…}, {"detail":…}, HTML, nothing. One reader handles all of them, whether they
 * come with an error status or inside a stream with status 200.
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

/* The error inside an event or an answer of status 200: the object or text under "error", or the
 * flat form itself. NULL if v is not an error. */
const struct json *openai_error_in(const struct json *v);

/* Fills *fault and *err from the result of openai_error_in(); returns -1. */
int openai_error(const struct json *error, struct llm_fault *fault, struct err *err);
