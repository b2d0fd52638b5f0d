/*
 * The team of a session: its members, their messages, and the session's task list. Every session
 * has one of these; until a team is created it has only the task list.
 *
 * The session that creates a team leads it. Members are agents of this process, which read their
 * mail, claim work and rest by themselves. Config, inboxes and board are files (roster.h, inbox.h,
 * board.h), and these files are authoritative; only which members run is kept in memory. Any
 * thread; callbacks are called with no lock held.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/spawn.h"
#include "agent/task.h"
#include "base/str.h"
#include "tasks/team/roster.h"
#include "tasks/worktree.h"

struct arena;
struct asker;
struct buf;
struct cancel;
struct conf;
struct err;
struct identity;
struct json;
struct permit;
struct task_table;
struct team;
struct tool_entry;
struct tool_result;
struct work_item;

#define TEAM_LEAD "team-lead"
#define TEAM_WAKES_MAX 50 /* of a member by messages, without a tool call */
#define TEAM_IDLE_MAX 8   /* times in a row that hooks may keep a member working */

/* All pointers must stay valid until team_free(). */
struct team_spec {
    const struct conf *conf;
    const char *session;      /* its id */
    struct spawner *spawner;  /* NULL = members cannot be started */
    struct task_table *tasks; /* gets a row for each member; may be NULL */
    struct asker *asker;      /* answers the members' questions; may be NULL */
    struct permit *permit;    /* the lead's, for its mode; NULL = default */
    const char *folder;       /* the session's; NULL if nothing is stored */
    /* Delivers a message to the main agent. */
    void (*tell_lead)(void *arg, struct str text);
    /* Runs TeammateIdle hooks, as tool_call.hook does; agent: a member's id. */
    int (*hook)(void *arg, const char *agent, const char *event, struct str members,
                struct buf *ret_reason, struct err *err);
    /* The task list or a member's state has changed. */
    void (*changed)(void *arg);
    void *arg;
};

struct team *team_new(const struct team_spec *spec);
/* The session ends: members get nothing more, and their items are free again. NULL is fine. */
void team_close(struct team *t);
/* Call it after all agents have ended: removes the team, keeps its task list. NULL is fine. */
void team_free(struct team *t);

/* The tools that a session offers; NULL-terminated. */
const struct tool_entry *const *team_tools(void);
bool team_is_enabled(const struct conf *conf);

/* ---- The task list ---- */

const char *team_home(const struct team *t);
/* The id of the task list: from the environment, else of the team, else of the session. */
void team_list_id(struct team *t, struct buf *ret);
/* Notes that the main agent has completed an item. True if it should be reminded to verify the
 * work. */
bool team_completed(struct team *t, struct str subject);
void team_changed(struct team *t);
/* Notifies the item's new owner. by: who assigned it; empty = no notification. */
int team_assign(struct team *t, const struct work_item *item, struct str by, struct cancel *cancel,
                struct err *err);

/* ---- Members ---- */

/* The agent's name in its team; empty if it is in none. */
struct str team_actor(struct team *t, const struct identity *who, struct arena *arena);
struct str team_name(struct team *t, struct arena *arena); /* empty if there is no team */

enum team_found {
    TEAM_UNKNOWN,
    TEAM_ACTIVE,
    TEAM_GONE, /* a former member */
};
enum team_found team_find(struct team *t, struct str member);
/* Writes why this is not an active member, and lists the members. */
void team_explain_missing(struct team *t, struct str member, struct buf *ret);

enum mate_state {
    MATE_RUNNING,
    MATE_IDLE,
    MATE_FAILED,   /* its last turn failed; it still receives messages */
    MATE_STOPPING, /* it has agreed to end */
    MATE_GONE,
};
const char *mate_state_name(enum mate_state s); /* "running" */

/* The state of a member. */
struct mate_row {
    const char *name, *color, *agent; /* the agent's id in this process */
    const char *task;                 /* the id of its task */
    const char *type, *model;
    const char *mode; /* its permission mode */
    enum mate_state state;
    int64_t tool_uses;
};
/* Lists the members that have not left, oldest first. */
void team_each(struct team *t, void (*fn)(void *arg, const struct mate_row *row), void *arg);
bool team_is_working(struct team *t); /* some member is running */

/* ---- For the lead ---- */

/* ERR_BUSY: this session already leads a team; ERR_UNSUPPORTED: teams are disabled. */
int team_create(struct team *t, struct str name, struct str description, struct cancel *cancel,
                struct buf *ret_json, struct err *err);
/* Asks all members to end and waits; ERR_TIMEOUT lists those that have not. */
int team_delete(struct team *t, int64_t wait_ms, struct cancel *cancel, struct buf *ret_json,
                struct err *err);
/* Takes over the team of a resumed session: the members are gone, their items are free, and the
 * lead gets its unread letters. */
int team_adopt(struct team *t, struct cancel *cancel, struct err *err);

/* For tests: releases the locks that the kernel would release if the process were killed. */
void team_forsake(struct team *t);

/* Adds a member; spec has its type and task. If the name is used, "-2" is appended. ret_json is the
 * result of the Agent tool. With `again`, resumes a member whose process died; spec->prompt is its
 * next input. */
struct team_hire {
    struct str name;
    const struct spawn_spec *spec; /* except rests and arg */
    struct str model;              /* resolved */
    const struct worktree *tree;   /* the member's, which it takes over; or NULL */
    const struct member *again;
    bool needs_plan;
};
bool team_leads(struct team *t); /* there is a team, and members can be added */
int team_hire(struct team *t, const struct team_hire *hire, struct cancel *cancel,
              struct buf *ret_json, struct err *err);
/* Finds a member that ended with an earlier process and can be resumed. */
bool team_was_cut_off(struct team *t, struct str name, struct roster *ret_roster,
                      const struct member **ret);
/* Stops a member at once. by: "user" or "parent". ERR_NOT_FOUND. */
int team_kill(struct team *t, struct str name, const char *by, struct err *err);
/* Changes a member's permission mode. ERR_DENIED: it would be wider than the lead's. */
int team_set_mode(struct team *t, struct str name, struct str mode, struct err *err);
/* Asks a member to end. */
int team_ask_to_end(struct team *t, struct str name, struct str reason, struct cancel *cancel,
                    struct err *err);

/* ---- Messages ---- */

/* A SendMessage call. 1: it was for the team, and ret has the result; 2: `to` must be resumed first
 * (team_was_cut_off()), with ret_text as its next input; 0: `to` is not a member of the sender's
 * team; -1. */
int team_send(struct team *t, const struct identity *from, struct str to,
              const struct json *message, struct str summary, struct cancel *cancel,
              struct tool_result *ret, struct buf *ret_text, struct err *err);
