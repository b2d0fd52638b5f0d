/*
 * Reminders: what tenax tells the model in a user message, between <system-reminder> tags.
 *
 * The system prompt says how they are meant. Each function appends one whole block, or nothing when
 * there is nothing to say; blocks are separated by a newline. What stands inside cannot close the
 * block (its tags are defused), and is valid UTF-8.
 */
#pragma once

#include "base/str.h"
#include "guard/permit.h"

struct buf;

void reminder_add(struct buf *ret, struct str text);

/* Plan mode was entered or left. Other changes of mode do not concern the model. steps: how to come
 * to a plan, in place of our own text; or empty. */
void reminder_mode(struct buf *ret, enum permit_mode before, enum permit_mode now,
                   struct str steps);

/* The list of TodoWrite, as its JSON array; nothing for an empty or a broken one. */
void reminder_todos(struct buf *ret, struct str json);

void reminder_date(struct buf *ret, struct str date); /* "2026-01-31" */
