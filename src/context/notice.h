/*
 * Notices: messages to an agent that do not come from the user, such as the end of a task or a
 * message from another agent. The transcript has the bare text; the model sees it inside a reminder
 * that explains it. Pure functions, any thread.
 */
#pragma once

#include <stdbool.h>

#include "base/str.h"

struct buf;
struct jw;

#define NOTICE_ORIGIN "task-notification" /* origin.kind of its line */

void notice_wrap(struct str bare, struct buf *ret);
/* Extracts the bare text, as a slice, from the output of notice_wrap(); false for any other text.
 */
bool notice_bare(struct str wrapped, struct str *ret);
/* Writes the member "origin" of its line, and of the result of a turn that it began. run: of the
 * task; or empty. */
void notice_write_origin(struct jw *w, struct str run);
