/*
 * What a command has to say to the model, sent in the place of what was typed.
 *
 * In the conversation it stands as viewers of transcripts know it: which command it was, then its
 * words. What holds for its turn alone (rules, model, effort) goes with it. The commands' thread.
 */
#pragma once

#include "base/str.h"

struct agent_input;
struct err;
struct slash_call;

/* name: of the command; typed: its input, whose message is left alone. */
int prompt_send(struct slash_call *call, struct str name, const struct agent_input *typed,
                struct err *err);
