/*
 * Gemini requests. provider_gemini.c reads the answers.
 *
 * Parts of the API that our blocks cannot represent are kept in provider_data: "id" is the call's
 * id, "thoughtSignature" belongs to the part itself, "trailingSignature" to an empty part after it.
 * A signature must be sent back in the same part and is never merged into another. Parts of unknown
 * kinds are kept as {"type":"gemini_part","part":{…}}.
 */
#pragma once

#include "base/str.h"

struct buf;
struct err;
struct llm_request;

int gemini_body(const struct llm_request *req, struct buf *out, struct err *err);

/* 2 for gemini-2.5-pro, 3 for gemini-3-flash; names without a number ("gemini-flash-latest") count
 * as 3, the newest; 0 for other models. */
int gemini_generation(struct str model);
