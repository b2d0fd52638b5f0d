/*
 * Internals of a team; for src/tasks/team only.
 *
 * team.c has the team and its task list, mate.c the members' life cycle, mail.c their messages.
 */
#pragma once

#include "agent/ask.h"
#include "base/strv.h"
#include "base/vec.h"
#include "sync/thread.h"
#include "tasks/team/inbox.h"
#include "tasks/team/roster.h"
#include "tasks/team/team.h"

#define REQUEST_MAX 110 /* bytes of the id of a shutdown or plan request */

/* Exists until the team is freed. */
struct mate {
    struct team *team;
    char *name, *color, *type, *model, *about, *prompt, *call;
    char id[SPAWN_ID_LEN + 1]; /* of the agent, known before it starts */
    char task[TASK_ID_MAX + 1];
    struct asker asker; /* sends its plans to the lead, other questions to the user */
    struct worktree tree;

    /* Guarded by the team's gate. */
    const char *mode;  /* as it was set, a name of permit_mode_name(); NULL = the lead's */
    bool is_started;   /* it can receive messages */
    bool rested_early; /* before it was started; handled when it is */
    bool is_leaving;   /* it is being removed from the team */
    enum mate_state state;
    bool is_pumping, pumps_again; /* its mail is being delivered; repeat that afterwards */
    bool told_lead;               /* the lead was told that it is idle */
    bool is_telling;              /* a notification is being sent to the lead */
    bool is_muted;                /* it was woken too often; the lead was told */
    uint64_t said;                /* counts everything that was sent to it */
    unsigned wakes;               /* since its last tool call */
    unsigned kept_up;             /* by hooks, consecutively */
    int64_t tool_uses;
    int64_t tokens, calls, began_ms;
    char request[REQUEST_MAX]; /* id of the open shutdown request; or "" */
    char plan[REQUEST_MAX];    /* id of the open plan approval request; or "" */
    bool plan_is_answered, plan_is_approved;
    char *plan_words; /* the lead's feedback; or NULL */
};

struct team {
    struct team_spec spec;
    struct gate gate; /* guards the fields below */
    unsigned completed;
    bool has_verified;
    struct arena arena;        /* owns folders and names, also those of earlier teams */
    const char *folder, *name; /* NULL = no team */
    bool is_over;              /* it was deleted; folder and name are left over */
    struct latch lead;
    VEC(struct mate *) mates;
    struct strv cut_off; /* members whose process ended, which can be resumed */
    bool is_ending;      /* send no notifications about members that end */
    bool lead_pumping, lead_again;
};

/* team.c */
/* The team's folder, lent; NULL if there is no team. */
const char *team_folder(struct team *t);
int team_roster(struct team *t, struct roster *ret, struct err *err);
struct mate *team_mate(struct team *t, struct str name); /* NULL if it is not in this process */
struct mate *team_mate_of(struct team *t, const char *agent);
struct mate *team_mate_of_task(struct team *t, struct str id);

/* mate.c */
enum mate_state mate_state_now(struct mate *m);
void mate_pump(struct mate *m); /* delivers its mail */
/* by: who stopped it; NULL if it agreed to end. */
void mate_leave(struct mate *m, const char *by);
void mate_free(struct mate *m);

/* mail.c */
/* Puts a letter into a member's inbox and wakes the member. */
int mail_put(struct team *t, struct str from, struct str to, struct str text, struct str summary,
             struct cancel *cancel, char ret_id[static ID_UUID_LEN + 1], struct err *err);
/* Appends <teammate-message …>. */
void mail_write(const struct letter *l, struct buf *ret);
/* The type of a payload; empty if the letter is text. */
struct str mail_type(struct str text, struct arena *arena, const struct json **ret);
/* Whether the lead or a member takes such a letter from a file; others are logged and dropped. */
bool mail_may_be_taken(const struct letter *l, bool by_lead);
void mail_pump_lead(struct team *t);
/* Sends a member's plan to the lead and waits for the answer. */
int mail_ask_plan(struct mate *m, const struct ask *ask, struct cancel *cancel,
                  struct ask_answer *ret, struct err *err);
int mail_request_end(struct team *t, struct mate *m, struct str reason, struct cancel *cancel,
                     struct err *err);
