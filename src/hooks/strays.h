/*
 * Commands that nobody waits for ("async"): they run beside the session and have no say, but what
 * they add for the model and for people is heard when the next prompt comes.
 *
 * At most STRAYS_MAX run at once. They end with the session. Any thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "agent/hook.h"

struct err;
struct hook_handler;
struct program_place;
struct strays;

#define STRAYS_MAX 32

struct strays *strays_new(void);
void strays_free(struct strays *s); /* ends what still runs; NULL is fine */

int strays_start(struct strays *s, const struct program_place *place, struct hook_handler *h,
                 enum hook_event event, int64_t timeout_ms, struct str line, struct err *err);

/* Whether one of them has left something to be told, and telling it. */
bool strays_have_news(struct strays *s);
void strays_tell(struct strays *s, struct hook_outcome *io);
