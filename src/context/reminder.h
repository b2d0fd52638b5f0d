/*
 * Reminders: what tenax tells the model inside user messages, between <system-reminder> tags.
 *
 * The system prompt explains them. Each function appends one whole block, or nothing; blocks are
 * separated by a newline. The content is valid UTF-8 and cannot close the block, because its tags
 * are escaped.
 */
#pragma once

#include <stdbool.h>

#include "base/str.h"

struct buf;

void reminder_add(struct buf *ret, struct str text);

/* Plan mode was entered or left; appends nothing if neither. steps: replaces our instructions for
 * making a plan; or empty. */
void reminder_plan(struct buf *ret, bool was_on, bool is_on, struct str steps);

/* The list of TodoWrite as a JSON array; appends nothing if it is empty or invalid. */
void reminder_todos(struct buf *ret, struct str json);

/* A file that the model has read before, as it is now; at most max bytes of it. True if that is not
 * all. */
bool reminder_file(struct buf *ret, const char *path, struct str all, size_t max);

void reminder_date(struct buf *ret, struct str date); /* "2026-01-31" */
