/*
 * Notices: messages to an agent in place of a user's: the end of a task, a message of another
 * agent. The transcript has the bare text; the model sees it in a reminder that explains it. Pure
 * functions, any thread.
 */
#pragma once

#include <stdbool.h>

#include "base/str.h"

struct buf;

#define NOTICE_ORIGIN "task-notification" /* origin.kind of its line */

void notice_wrap(struct str bare, struct buf *ret);
/* The bare text of what notice_wrap() gave, a slice of it; false: it is something else. */
bool notice_bare(struct str wrapped, struct str *ret);
