/*
 * Skills that were called in a conversation, found by the marks in their texts.
 *
 * A called skill stays in force, so its text is repeated when a summary replaces the message that
 * had it. The text is found in the conversation itself, either in its original place or in an
 * earlier repetition; so a resumed session needs no extra state. Pure functions, any thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/str.h"
#include "base/vec.h"

struct buf;
struct history;

/* Ends the block that describes a command, before the expanded text. It marks a skill. */
#define CALLED_SKILL_MARK "<skill-format>true</skill-format>"

/* First line of a skill's text, before its folder. */
#define CALLED_SKILL_BASE "Base directory for this skill: "

struct called_skill {
    struct str name;
    struct str body;  /* empty if it was already repeated */
    struct str again; /* the repetition */
};

/* Most recent call first. The strings belong to the conversation. */
struct called_skills {
    VEC(struct called_skill) list;
};
void called_skills_release(struct called_skills *s);

/* Adds the skills of messages [from, to), each once. */
void called_skills_find(struct called_skills *s, const struct history *h, size_t from, size_t to);

/* Appends the reminder that repeats the text, at most max bytes of it. */
void called_skill_repeat(const struct called_skill *s, size_t max, struct buf *ret);
