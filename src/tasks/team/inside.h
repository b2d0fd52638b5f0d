/*
 * Internals of a team; for src/tasks/team only.
 *
 * team.c has the team and its task list, mate.c the members' life cycle, mail.c their messages.
 */
#pragma once

#include "base/vec.h"
#include "sync/thread.h"
#include "tasks/team/inbox.h"
#include "tasks/team/roster.h"
#include "tasks/team/team.h"

/* Exists until the team is freed. */
struct mate {
    struct team *team;
    char *name, *color, *type, *model;
    char id[SPAWN_ID_LEN + 1];

    /* Guarded by the team's gate. */
    enum mate_state state;
    bool is_pumping, pumps_again; /* its mail is being delivered; repeat that afterwards */
    bool told_lead;               /* the lead was told that it is idle */
    bool is_muted;                /* it was woken too often; the lead was told */
    uint64_t said;                /* counts everything that was sent to it */
    unsigned wakes;               /* since its last tool call */
    unsigned kept_up;             /* by hooks, consecutively */
    int64_t tool_uses;
    char request[100]; /* id of the open shutdown request; or "" */
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
    bool lead_pumping, lead_again;
};

/* team.c */
/* The team's folder, lent; NULL if there is no team. */
const char *team_folder(struct team *t);
int team_roster(struct team *t, struct roster *ret, struct err *err);
struct mate *team_mate(struct team *t, struct str name); /* NULL if it is not in this process */
struct mate *team_mate_of(struct team *t, const char *agent);

/* mate.c */
enum mate_state mate_state_now(struct mate *m);
void mate_pump(struct mate *m); /* delivers its mail */
void mate_leave(struct mate *m, enum mate_state how);
void mate_free(struct mate *m);

/* mail.c */
/* Puts a letter into a member's inbox and wakes the member. */
int mail_put(struct team *t, struct str from, struct str to, struct str text, struct str summary,
             struct cancel *cancel, char ret_id[static ID_UUID_LEN + 1], struct err *err);
/* Appends <teammate-message …>. */
void mail_write(const struct letter *l, struct buf *ret);
/* The type of a payload; empty if the letter is text. */
struct str mail_type(struct str text, struct arena *arena, const struct json **ret);
void mail_pump_lead(struct team *t);
int mail_request_end(struct team *t, struct mate *m, struct str reason, struct cancel *cancel,
                     struct err *err);
