/*
 * The team of a session: who is in it, what its members say to each other, and which task list the
 * session works on. Every session has one of these; until a team is created it has the task list
 * alone.
 *
 * The session that creates a team leads it. Members are agents of this process. Config, inboxes and
 * board are files (tasks/team/roster.h, inbox.h, board.h) and the truth; what runs is known here
 * alone. Any thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

struct arena;
struct buf;
struct cancel;
struct conf;
struct err;
struct identity;
struct team;
struct tool_entry;
struct work_item;

#define TEAM_LEAD "team-lead"

/* Everything is lent and outlives it. */
struct team_spec {
    const struct conf *conf;
    const char *session; /* its id */
    /* The task list has changed; NULL: nobody shows it. */
    void (*board_changed)(void *arg);
    void *arg;
};

struct team *team_new(const struct team_spec *spec);
void team_free(struct team *t); /* NULL is fine */

/* The tools that a session offers for it; NULL-terminated. */
const struct tool_entry *const *team_tools(void);

const char *team_home(const struct team *t);
/* The id of the task list: of settings of the environment, of the team, of the session. */
void team_list_id(struct team *t, struct buf *ret);
/* What the agent is called in its team; empty: there is no team, or it is not in it. */
struct str team_actor(struct team *t, const struct identity *who, struct arena *arena);
struct str team_name(struct team *t, struct arena *arena); /* empty: there is no team */

enum team_found {
    TEAM_UNKNOWN,
    TEAM_ACTIVE,
    TEAM_GONE, /* it was a member, and has left or died */
};
enum team_found team_find(struct team *t, struct str member);
/* Why this is not the name of an active member, and which there are. */
void team_explain_missing(struct team *t, struct str member, struct buf *ret);

/* The main agent has completed an item. True: it is time to say that the work is to be verified. */
bool team_completed(struct team *t, struct str subject);
void team_board_changed(struct team *t);
/* The item's new owner is notified, unless it gave itself the item. */
int team_assign(struct team *t, const struct work_item *item, struct str by, struct cancel *cancel,
                struct err *err);
