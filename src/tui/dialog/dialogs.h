/*
 * The dialogs: one function each makes a panel (panel.h), one reads its result when it is done.
 * Everything handed in is copied. Keys typed before an unexpected dialog could be read are not an
 * answer (dialog_page.h). UI thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/ask.h"
#include "base/str.h"
#include "slash/front.h"
#include "tui/dialog/panel.h"

struct buf;

/* A permission, a question with options (AskUserQuestion), trust, leaving the sandbox, a server's
 * form, a session that cannot be written: whatever is asked through agent/ask.h. A permission shows
 * the command or the diff, why it is asked, the rule that "always" would write; keys 1-4, Esc: no.
 * A "no" with words goes back to the model, one without ends the turn. What a form asks and answers
 * is in dialog_form.c. */
struct panel *dialog_ask_new(const struct ask *ask, const char *dir);
/* PANEL_LEFT answers as "no" does. */
void dialog_ask_answer(struct panel *p, struct ask_answer *ret);

/* slash/front.h */
struct panel *dialog_pick_new(const struct pick *pick);
size_t dialog_pick_at(struct panel *p);

struct panel *dialog_edit_new(struct str title, struct str text, bool vim);
void dialog_edit_text(struct panel *p, struct buf *ret);

/* One line that is not shown: a key. The text is lent until the panel goes. */
struct panel *dialog_secret_new(struct str title, struct str text);
struct str dialog_secret_text(struct panel *p);

/* The messages one can go back to, newest first, then what shall go back. */
struct dialog_rewind_point {
    struct str uuid, text, when; /* when: "3 min ago" */
    size_t files;                /* that would change */
};
struct dialog_rewind_choice {
    struct str uuid; /* lent by the panel */
    bool files, conversation;
};
struct panel *dialog_rewind_new(const struct dialog_rewind_point *points, size_t count);
void dialog_rewind_chosen(struct panel *p, struct dialog_rewind_choice *ret);

/* Yes or no with a reason: quitting while something runs, a cost threshold, a fresh session after
 * a long pause. The options' keys are 1.. and their first letters; the first one is under the
 * cursor, so it is one that does no harm. */
struct panel *dialog_confirm_new(struct str title, struct str text, const char *const *options,
                                 size_t count);
size_t dialog_confirm_at(struct panel *p);
