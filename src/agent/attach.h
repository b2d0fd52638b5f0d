/*
 * What is repeated after a summary, because it was lost with the messages: the surroundings and
 * instruction files as they are now, the files looked at last, the skills that were called, the
 * list of things to do, the mode, the folder, and what SessionStart hooks add; for src/agent only,
 * except the mark. All of it as reminders. Agent thread.
 */
#pragma once

#include <stddef.h>

#include "base/arena.h"
#include "base/strv.h"
#include "base/vec.h"
#include "guard/permit.h"
#include "llm/message.h"

struct agent;
struct room;
struct turn;

#define ATTACH_MAX_FILES 5
#define ATTACH_MAX_SKILLS 8
/* Ends the block that describes a command, before its expanded text: it is a skill's. */
#define ATTACH_SKILL_MARK "<skill-format>true</skill-format>"

/* Begins the text of a skill, before its folder. */
#define ATTACH_SKILL_BASE "Base directory for this skill: "

struct attached {
    VEC(struct block) blocks; /* texts with their entry, in the arena */
    struct arena arena;
    struct strv forgotten; /* files */
    enum permit_mode mode; /* the mode last reported */
};
void attached_release(struct attached *s);

/* first: the message from which on the conversation stays: a file read in there is not shown again.
 */
void attach_state(struct agent *a, struct turn *t, const struct room *room, size_t first,
                  struct attached *ret);
/* attach_skills.c: skills whose words are lost, those called last; for attach.c. */
void attach_skills(struct agent *a, const struct room *room, size_t first, struct attached *s);
void attach_reminders(struct attached *s, struct str reminders);
/* It is in the conversation now. Files that are neither shown nor read in what stays count as not
 * seen: before an edit they have to be read again. */
void attach_done(struct agent *a, const struct attached *s);
