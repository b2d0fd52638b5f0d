/*
 * What a server heard: the recorded requests of one conversation, held against the rules that every
 * provider relies on.
 */
#pragma once

#include "base/str.h"

struct err;

/*
 * record: one JSON line a request, as tests/fake writes them; dialect: "anthropic" or
 * "openai-chat". For every request: user and assistant take turns, beginning and ending with the
 * user; every call has exactly one result, directly after it, in the order of the calls; no result
 * is without a call; no id is used twice. Over all of them: system prompt and tools are the same
 * bytes, and earlier messages never change.
 */
int heard_check(struct str record, const char *dialect, size_t *ret_requests, struct err *err);
