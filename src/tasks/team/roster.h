/*
 * The roster: a team's config file, $TENAX_HOME/teams/<team>/config.json, which names its lead and
 * its members.
 *
 * Every change is made under the folder's lock, on what the file says then, and the file is
 * replaced whole. The process that leads a team also holds lead.lock, so that no second one leads
 * it; the kernel frees that lock if the process is killed. Any thread, any process.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/str.h"
#include "base/vec.h"
#include "tasks/team/latch.h"

struct buf;
struct cancel;
struct err;

#define ROSTER_MAX_MEMBERS 200
#define ROSTER_MAX_NAME 64 /* of a member */

struct member {
    struct str agent_id; /* "alice@team" */
    struct str name, type, model, color, prompt, cwd, worktree, session, mode;
    struct str backend;   /* "in-process", "tmux" */
    struct str pane;      /* "%5"; empty: it has none */
    struct str sidechain; /* the agent's id in this process and of its transcript */
    int64_t joined_ms, pane_pid;
    bool plan_required, is_active;
};

struct roster {
    char *folder;
    struct arena arena; /* of all strings */
    struct str name, description, lead_session, socket;
    int64_t created_ms, lead_pid;
    VEC(struct member) members;
};
#define ROSTER_INIT                                                                                \
    {                                                                                              \
        0                                                                                          \
    }
void roster_release(struct roster *r);

/* A name as a team may have it: letters, digits and '-', lower case, at most 32. */
bool roster_name_is_fine(struct str name);

/* A new team, led by this process. A name that another team has gets "-2", "-3", …; r->name says
 * which it is. ERR_BAD_INPUT: not a name. The caller gives lead back when it leads no more. */
int roster_create(struct roster *r, const char *home, struct str name, struct str description,
                  struct str session, struct cancel *cancel, struct latch *lead, struct err *err);
/* The team that the session led when it was left; this process leads it now. 1, 0: there is none,
 * -1 with ERR_BUSY: another process leads it. */
int roster_adopt(struct roster *r, const char *home, struct str session, struct cancel *cancel,
                 struct latch *lead, struct err *err);

/* As the file is now. */
int roster_read(struct roster *r, struct err *err);
struct member *roster_find(struct roster *r, struct str name); /* NULL: there is none */

/* A name that is taken gets "-2"; ret_name says which it is. ERR_TOO_BIG. */
int roster_add(struct roster *r, const struct member *m, struct cancel *cancel,
               struct buf *ret_name, struct err *err);
/* Empty values stay as they are. ERR_NOT_FOUND. */
int roster_set(struct roster *r, struct str name, bool is_active, struct str sidechain,
               struct cancel *cancel, struct err *err);
int roster_remove(struct roster *r, struct str name, struct cancel *cancel, struct err *err);

/* The team's folder with all that is in it. */
int roster_delete(struct roster *r, struct cancel *cancel, struct err *err);
