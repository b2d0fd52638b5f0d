/*
 * The inside of a team; for src/tasks/team only.
 *
 * team.c has the team and its list, mate.c the life of a member, mail.c its messages.
 */
#pragma once

#include "base/vec.h"
#include "sync/thread.h"
#include "tasks/team/inbox.h"
#include "tasks/team/roster.h"
#include "tasks/team/team.h"

/* Lives until the team is freed. */
struct mate {
    struct team *team;
    char *name, *color, *type, *model;
    char id[SPAWN_ID_LEN + 1];

    /* Under the team's gate. */
    enum mate_state state;
    bool is_pumping, pumps_again; /* its mail is being delivered; and once more */
    bool told_lead;               /* since it was last woken */
    bool is_muted;                /* it was woken too often; the lead knows */
    uint64_t said;                /* grows with all that it is given */
    unsigned wakes;               /* without a call of a tool */
    unsigned kept_up;             /* by hooks, in a row */
    int64_t tool_uses;
    char request[100]; /* the open question whether it will end; or "" */
};

struct team {
    struct team_spec spec;
    struct gate gate; /* of what follows */
    unsigned completed;
    bool has_verified;
    struct arena arena;        /* of folders and names, those of teams before, too */
    const char *folder, *name; /* NULL: there is no team */
    bool is_over;              /* it was deleted: folder and name are of the past */
    struct latch lead;
    VEC(struct mate *) mates;
    bool lead_pumping, lead_again;
};

/* team.c */
/* The team's folder, lent; NULL: there is none. */
const char *team_folder(struct team *t);
int team_roster(struct team *t, struct roster *ret, struct err *err);
struct mate *team_mate(struct team *t, struct str name); /* NULL: none of this process */
struct mate *team_mate_of(struct team *t, const char *agent);

/* mate.c */
enum mate_state mate_state_now(struct mate *m);
void mate_pump(struct mate *m); /* delivers its mail */
void mate_leave(struct mate *m, enum mate_state how);
void mate_free(struct mate *m);

/* mail.c */
/* A letter from one member to another; the receiver is woken. */
int mail_put(struct team *t, struct str from, struct str to, struct str text, struct str summary,
             struct cancel *cancel, char ret_id[static ID_UUID_LEN + 1], struct err *err);
/* <teammate-message …>, appended. */
void mail_write(const struct letter *l, struct buf *ret);
/* The type of a payload; empty: it is text. */
struct str mail_type(struct str text, struct arena *arena, const struct json **ret);
void mail_pump_lead(struct team *t);
int mail_request_end(struct team *t, struct mate *m, struct str reason, struct cancel *cancel,
                     struct err *err);
