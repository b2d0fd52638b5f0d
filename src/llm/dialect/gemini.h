/*
 * Gemini, the request. provider_gemini.c reads the answers.
 *
 * What our blocks cannot hold of a part travels in provider_data: "id" is the call's id,
 * "thoughtSignature" belongs to the part itself, "trailingSignature" to an empty part that followed
 * it. A signature goes back in the very part it came in, never merged into a neighbour. Parts of
 * kinds that have no block are kept as {"type":"gemini_part","part":{…}}.
 */
#pragma once

#include "base/str.h"

struct buf;
struct err;
struct llm_request;

int gemini_body(const struct llm_request *req, struct buf *out, struct err *err);

/* 2 for gemini-2.5-pro, 3 for gemini-3-flash; names without a number ("gemini-flash-latest") follow
 * the newest and count as 3; 0 for other models. */
int gemini_generation(struct str model);
