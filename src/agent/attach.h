/*
 * What is said again behind a summary, because it was lost with the messages: the surroundings and
 * instruction files as they are now, the files looked at last, the list of things to do, the mode,
 * the folder, and what SessionStart hooks add; for src/agent only. All of it as reminders. Agent
 * thread.
 */
#pragma once

#include <stddef.h>

#include "agent/permit.h"
#include "base/arena.h"
#include "base/strv.h"
#include "base/vec.h"
#include "llm/message.h"

struct agent;
struct room;
struct turn;

#define ATTACH_MAX_FILES 5

struct attached {
    VEC(struct block) blocks; /* texts with their entry, in the arena */
    struct arena arena;
    struct strv forgotten; /* files */
    enum permit_mode mode; /* that is told */
};
void attached_release(struct attached *s);

/* first: the message from which on the conversation stays: a file read in there is not shown again.
 */
void attach_state(struct agent *a, struct turn *t, const struct room *room, size_t first,
                  struct attached *ret);
/* It is in the conversation now. Files that are neither shown nor read in what stays count as not
 * seen: before an edit they have to be read again. */
void attach_done(struct agent *a, const struct attached *s);
