/*
 * The kill ring: cut or copied text, newest last. Bounded in number and in bytes. UI thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/str.h"

struct editor_text;

#define EDITOR_KILLS 32
#define EDITOR_MAX_KILL ((size_t)16 << 20) /* bytes of one */

struct editor_kill {
    char *text;
    size_t len;
    bool is_lines; /* vim: whole lines */
};

struct editor_kills {
    struct editor_kill ring[EDITOR_KILLS]; /* oldest first */
    size_t count;
    size_t turn; /* how far it was turned since the last yank */
};

void editor_kills_release(struct editor_kills *r);
void editor_kills_add(struct editor_kills *r, struct str text, bool is_lines);
/* Joins the newest one, before or after it. */
void editor_kills_join(struct editor_kills *r, struct str text, bool before);
/* The text that things were cut from is given up: from here on they hold their pastes themselves.
 */
void editor_kills_unfold(struct editor_kills *r, const struct editor_text *t);
/* The one to be put in; turned: the one before the last that was. NULL: there is none. */
const struct editor_kill *editor_kills_get(struct editor_kills *r, bool turned);
