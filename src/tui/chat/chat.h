/*
 * The conversation: events in, lines out.
 *
 * chat_event() takes the agent's events; finished lines come out of chat_take() in order, for the
 * scrollback. Everything that still moves is drawn by chat_live(): the tail of the answer, running
 * calls (grouped when parallel), and pending waits. It is a pure function of the events, the clock
 * and the width. The transcript view (transcript_view.h) has the complete conversation; here
 * results are folded to a few lines. UI thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "tui/dialog/panel.h"
#include "tui/screen/line.h"

struct cancel;
struct chat;
struct err;
struct event;

#define CHAT_SAID_CELLS 5 /* in front of what a command says */

struct chat_spec {
    const char *dir; /* paths below it are shown relative to it */
    bool ascii, plain;
    bool spells_links; /* the terminal has none */
    bool is_agent;     /* it is looked at: Esc leaves it, and does not interrupt it */
    bool verbose;      /* thinking and results whole, not folded */
};

struct chat *chat_new(const struct chat_spec *spec);
void chat_free(struct chat *c);
void chat_set_verbose(struct chat *c, bool verbose); /* what comes from now on */

void chat_event(struct chat *c, const struct event *e, int64_t now_ms);
/* The user is asked whether this call may run, or has answered: its time starts then. */
void chat_asked(struct chat *c, struct str id);
void chat_answered(struct chat *c, struct str id, int64_t now_ms);
/* What the person sent, shown at once; its EVENT_USER is then not shown again. */
void chat_said(struct chat *c, struct str text, struct str uuid);
/* Lines from elsewhere for the scrollback, after everything so far: notices, a rule with a title
 * ("session resumed"). */
void chat_note(struct chat *c, enum style_role role, struct str text);
void chat_rule(struct chat *c, struct str title);

/* The last turns of a resumed conversation, from its transcript, as they would have been shown
 * then; earlier ones are only counted. runs: it is still at work, so calls without a result run.
 * ERR_NOT_FOUND, ERR_IO, ERR_CANCELLED. */
int chat_history(struct chat *c, const char *path, size_t turns, bool runs, struct cancel *cancel,
                 struct err *err);

/* Finished lines for the scrollback. They do not depend on when they are taken, with one exception:
 * of an answer that turns out to be void only the parts already taken stay, and a command answered
 * while the model answers stands after those parts. */
void chat_take(struct chat *c, const struct view *v, struct lines *ret);
/* What moves: at most v->rows rows; the first `*ret_text_rows` of them are an answer that will be
 * committed as it stands. */
void chat_live(struct chat *c, const struct view *v, struct lines *ret, size_t *ret_text_rows);
/* Rows of those that were pushed into the scrollback: they are not handed out again. */
void chat_lost(struct chat *c, size_t rows);

bool chat_is_busy(const struct chat *c); /* a turn runs */
/* When chat_live() differs from the last one by time alone; may be past. -1: never. */
int64_t chat_due(const struct chat *c, int64_t now_ms);
/* The last call that is shown folded: where Ctrl-O begins. Empty: none. */
struct str chat_last_item(const struct chat *c);
