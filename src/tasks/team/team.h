/*
 * The team of a session: who is in it, what its members say to each other, and which task list the
 * session works on. Every session has one of these; until a team is created it has the task list
 * alone.
 *
 * The session that creates a team leads it. Members are agents of this process, which take their
 * mail, claim work and rest by themselves. Config, inboxes and board are files (roster.h, inbox.h,
 * board.h) and the truth; what runs is known here alone. Any thread; callbacks are called with no
 * lock held.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/spawn.h"
#include "base/str.h"

struct arena;
struct buf;
struct cancel;
struct conf;
struct err;
struct identity;
struct json;
struct team;
struct tool_entry;
struct tool_result;
struct work_item;

#define TEAM_LEAD "team-lead"
#define TEAM_WAKES_MAX 50 /* of a member by others, without a call of a tool */
#define TEAM_IDLE_MAX 8   /* times in a row that hooks keep a member from resting */

/* Everything is lent and outlives it. */
struct team_spec {
    const struct conf *conf;
    const char *session;     /* its id */
    struct spawner *spawner; /* NULL: no member can be started */
    /* A message for the main agent, as it is to read it. */
    void (*tell_lead)(void *arg, struct str text);
    /* Asks TeammateIdle hooks, as tool_call.hook does; agent: a member's id. */
    int (*hook)(void *arg, const char *agent, const char *event, struct str members,
                struct buf *ret_reason, struct err *err);
    /* The task list or a member's state has changed. */
    void (*changed)(void *arg);
    void *arg;
};

struct team *team_new(const struct team_spec *spec);
/* The session ends: members take nothing more, and what they had is free again. NULL is fine. */
void team_close(struct team *t);
/* After the end of all agents: the team is gone, and its task list stays. NULL is fine. */
void team_free(struct team *t);

/* The tools that a session offers for it; NULL-terminated. */
const struct tool_entry *const *team_tools(void);
bool team_is_enabled(const struct conf *conf);

/* ---- The task list ---- */

const char *team_home(const struct team *t);
/* The id of the task list: of the environment, of the team, of the session. */
void team_list_id(struct team *t, struct buf *ret);
/* The main agent has completed an item. True: it is time to say that the work is to be verified. */
bool team_completed(struct team *t, struct str subject);
void team_changed(struct team *t);
/* The item's new owner is notified. by: who gave it; empty: no notification. */
int team_assign(struct team *t, const struct work_item *item, struct str by, struct cancel *cancel,
                struct err *err);

/* ---- Who is in it ---- */

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

enum mate_state {
    MATE_RUNNING,
    MATE_IDLE,
    MATE_FAILED,   /* its last turn failed; it can be written to */
    MATE_STOPPING, /* it has agreed to end */
    MATE_GONE,
};
const char *mate_state_name(enum mate_state s); /* "running" */

/* A member as it is now. */
struct mate_row {
    const char *name, *color, *agent; /* the agent's id in this process */
    const char *type, *model;
    enum mate_state state;
    int64_t tool_uses;
};
/* Those that have not left, in the order they came. */
void team_each(struct team *t, void (*fn)(void *arg, const struct mate_row *row), void *arg);
bool team_is_working(struct team *t); /* some member runs */

/* ---- What the lead does ---- */

/* ERR_BUSY: this session leads a team already; ERR_UNSUPPORTED: teams are off. */
int team_create(struct team *t, struct str name, struct str description, struct cancel *cancel,
                struct buf *ret_json, struct err *err);
/* Asks all to end, and waits; ERR_TIMEOUT names those who have not. */
int team_delete(struct team *t, int64_t wait_ms, struct cancel *cancel, struct buf *ret_json,
                struct err *err);
/* The session was left while it led a team: the members are gone, what they had is free, and the
 * lead gets what it has not read. */
int team_adopt(struct team *t, struct cancel *cancel, struct err *err);

/* For tests: gives up what the kernel takes from a process that is killed. */
void team_forsake(struct team *t);

/* One more member: spec says what it is and what it is to do. A name that is taken gets "-2". Its
 * JSON is the result of the Agent tool. */
struct team_hire {
    struct str name;
    const struct spawn_spec *spec; /* except rests and arg */
    struct str model;              /* as it was resolved */
    bool needs_plan;
};
bool team_leads(struct team *t); /* there is a team, and it can be added to */
int team_hire(struct team *t, const struct team_hire *hire, struct cancel *cancel,
              struct buf *ret_json, struct err *err);
/* Ends a member at once. ERR_NOT_FOUND. */
int team_kill(struct team *t, struct str name, struct err *err);
/* Asks it to end. */
int team_ask_to_end(struct team *t, struct str name, struct str reason, struct cancel *cancel,
                    struct err *err);

/* ---- Messages ---- */

/* A call of SendMessage. 1: it is for the team, and ret says what came of it; 0: this is no member
 * of the sender's team; -1. */
int team_send(struct team *t, const struct identity *from, struct str to,
              const struct json *message, struct str summary, struct cancel *cancel,
              struct tool_result *ret, struct err *err);
