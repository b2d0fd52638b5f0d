/*
 * Shared by proof.c and proof_bundle.c.
 */
#pragma once

#include "goal/git/git.h"
#include "goal/origin/inventory.h"
#include "goal/origin/origin.h"
#include "goal/proof/proof.h"

struct room;

#define PROOF_MS ((int64_t)10 * 60 * 1000) /* for git, in all */
#define PROOF_SMALL ((size_t)64 << 10)

/* A private folder for one verification. Yours to room_remove() and free. */
char *proof_temp(const struct proof_place *place, struct err *err);
struct git proof_git(const struct proof_place *place, const char *git_dir, const char *work_tree,
                     const char *index);

/* The files of a tree, or of its part below prefix, in the empty work tree of git. Files that
 * differ from the tree `base` are younger; the others are as old as `files` says (may be NULL). 0:
 * ret->wrong has the reason. */
int proof_checkout(const struct git *git, struct str tree, struct str base, struct str prefix,
                   const struct inventory *files, struct proof_result *ret, struct err *err);
/* Protected files that are not what they were when the goal was set. */
int proof_compare(const struct proof *p, const char *dir, struct cancel *cancel,
                  struct proof_result *ret, struct err *err);
int proof_run_checks(const struct proof *p, const struct proof_place *place, const char *dir,
                     struct room *room, struct proof_result *ret, struct err *err);
