/*
 * Shared by the tools that ask the user; for src/tools only.
 */
#pragma once

#include "agent/ask.h"

struct err;
struct tool_call;
struct tool_result;

/* Puts the call, with its arguments unchanged, to the user, and waits. ERR_UNSUPPORTED: there is
 * none. reason_type as ask.h's. */
int user_ask(struct tool_call *call, enum ask_kind kind, const char *reason,
             const char *reason_type, struct ask_answer *ret, struct err *err);

/* The person said no: what that means, then their words. */
void user_ask_refused(struct tool_result *ret, const struct ask_answer *answer,
                      const char *meaning);
