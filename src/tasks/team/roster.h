/*
 * The roster: a team's config file, $TENAX_HOME/teams/<team>/config.json, with its lead and
 * members.
 *
 * Every change takes the folder's lock, reads the file and replaces it as a whole. The process that
 * leads the team also holds lead.lock, so that there is only one lead; the kernel releases that
 * lock if the process is killed. Any thread, any process.
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
#define ROSTER_MAX_NAME 64 /* of a member's name */

struct member {
    struct str agent_id; /* "alice@team" */
    struct str name, type, model, color, prompt, cwd, worktree, session, mode;
    struct str backend;   /* "in-process", "tmux" */
    struct str pane;      /* "%5"; may be empty */
    struct str sidechain; /* the agent's id in this process and in its transcript's name */
    int64_t joined_ms, pane_pid;
    bool plan_required, is_active;
};

struct roster {
    char *folder;
    struct arena arena; /* owns all strings */
    struct str name, description, lead_session, socket;
    int64_t created_ms, lead_pid, lead_start; /* of the lead's process, and when it started */
    VEC(struct member) members;
};
#define ROSTER_INIT                                                                                \
    {                                                                                              \
        0                                                                                          \
    }
void roster_release(struct roster *r);

/* Checks a team name: lower-case letters, digits and '-', at most 32 characters. */
bool roster_name_is_fine(struct str name);

/* Creates a team led by this process. If the name is used, "-2", "-3", … is appended; see r->name.
 * ERR_BAD_INPUT: invalid name. The caller releases `lead` when it stops leading. */
int roster_create(struct roster *r, const char *home, struct str name, struct str description,
                  struct str session, struct cancel *cancel, struct latch *lead, struct err *err);
/* Takes over the team that the resumed session led. Returns 1, 0 if there is none, or -1; ERR_BUSY
 * if another process leads it. */
int roster_adopt(struct roster *r, const char *home, struct str session, struct cancel *cancel,
                 struct latch *lead, struct err *err);

/* Reads the current file. */
int roster_read(struct roster *r, struct err *err);
struct member *roster_find(struct roster *r, struct str name); /* or NULL */

/* If the name is used, "-2" is appended; ret_name has the result. ERR_TOO_BIG. */
int roster_add(struct roster *r, const struct member *m, struct cancel *cancel,
               struct buf *ret_name, struct err *err);
/* Empty values leave the old ones. ERR_NOT_FOUND. */
int roster_set(struct roster *r, struct str name, bool is_active, struct str sidechain,
               struct cancel *cancel, struct err *err);
int roster_remove(struct roster *r, struct str name, struct cancel *cancel, struct err *err);

/* Deletes the team's folder and everything in it. */
int roster_delete(struct roster *r, struct cancel *cancel, struct err *err);
