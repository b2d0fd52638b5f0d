/*
 * A command's prompt for the model, sent in place of the typed text.
 *
 * In the conversation it stands as viewers of transcripts know it: which command it was, then its
 * words. What holds for its turn alone (rules, model, effort) goes with it. The commands' thread.
 */
#pragma once

#include "base/str.h"

struct agent_command;
struct agent_input;
struct err;
struct slash_call;

/* What holds for the turn of the prompt, to be freed by the caller. Fails when there is no such
 * model. */
int prompt_command(const struct slash_call *call, struct str name, struct agent_command **ret,
                   struct err *err);
/* name: of the command; typed: its input, whose message is left alone. */
int prompt_send(struct slash_call *call, struct str name, const struct agent_input *typed,
                struct err *err);
