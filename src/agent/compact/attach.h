/*
 * State that is repeated as reminders after a compaction because the messages that held it are
 * gone: surroundings and instruction files as they are now, recently read files, skills that were
 * called, the todo list, the permission mode, the working directory, and the context that
 * SessionStart hooks add. For src/agent only; agent thread.
 */
#pragma once

#include <stddef.h>

#include "base/arena.h"
#include "base/strv.h"
#include "base/vec.h"
#include "guard/permit.h"
#include "llm/message.h"

struct agent;
struct window_room;
struct turn;

#define ATTACH_MAX_FILES 5
#define ATTACH_MAX_SKILLS 8
struct attached {
    VEC(struct block) blocks; /* text blocks with their transcript uuid, in the arena */
    struct arena arena;
    struct strv forgotten; /* files */
    enum permit_mode mode; /* the mode last reported */
};
void attached_release(struct attached *s);

/* first: index of the first message that stays. Files that were read from there on are not
 * repeated. */
void attach_state(struct agent *a, struct turn *t, const struct window_room *room, size_t first,
                  struct attached *ret);
void attach_reminders(struct attached *s, struct str reminders);
/* Call it once the blocks are in the conversation. Files that are neither repeated nor read in the
 * messages that stay are marked unread, so that the model must read them again before an edit. */
void attach_done(struct agent *a, const struct attached *s);
