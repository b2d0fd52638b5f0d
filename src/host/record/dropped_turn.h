/*
 * Checks what a client drops when it resumes a session at an earlier message.
 *
 * The client names the prompt of the turn that it drops. If there is more than that turn after the
 * message (a queued prompt that it has not seen), resuming there would lose it and is refused.
 */
#pragma once

#include "base/str.h"

struct cancel;
struct err;

#define DROPPED_TURN_REFUSED "Resume rejected by --resume-drops-turn:"

/* at: uuid or message.id of the last line that is kept; prompt: uuid of the turn's prompt. The text
 * of ERR_DENIED begins with DROPPED_TURN_REFUSED. Reads the transcript. */
int dropped_turn_check(const char *path, struct str at, struct str prompt, struct cancel *cancel,
                       struct err *err);
