/*
 * Where a goal began: everything that its verdicts are compared with.
 *
 * Taken when the goal is set and kept below $TENAX_HOME/goals/<goal>/, outside of the workspace and
 * hidden from confined commands: the content of the workspace as git objects (tree.h), the look of
 * every file (inventory.h), the state of git (git_state.h), and what each check did when it was
 * first run (trace.h). While a process works for the goal its copy in memory is the truth.
 *
 * Protected files must stay as they were: what --protect names, with everything in a folder; tests,
 * fixtures, expectations and, where there are checks, build and runner configuration by the tables
 * of names.h, wherever they lie; and configuration that a check was seen to read. Files that a
 * check merely names or runs are not: they may be the work.
 *
 * One thread at a time; waits for the disk and for git.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/str.h"
#include "base/strv.h"
#include "base/vec.h"
#include "goal/origin/git_state.h"
#include "goal/origin/inventory.h"
#include "goal/origin/trace.h"
#include "goal/origin/tree.h"

struct cancel;
struct err;

#define ORIGIN_MAX_PROTECTED 20000

struct origin_spec {
    const char *dir;          /* the workspace: absolute, no links */
    const char *folder;       /* of this goal, below $TENAX_HOME/goals */
    char *const *environ;     /* as tenax was started */
    const struct strv *globs; /* of --protect */
    const struct strv *keep;  /* of --keep: ignored files that count as work */
    const struct strv *checks;
    bool protects_nothing; /* --protect none */
};

/* A check as it was when the goal was set. */
struct origin_check {
    char *command;
    struct trace trace;
    struct strv touched; /* protected files that its own run changed */
};

/* A program outside of the workspace that a check ran, or a file of the user that it read. */
struct origin_program {
    struct str path;
    int64_t size, ctime_ns;
    uint64_t ino;
    char sha256[SHA256_HEX + 1]; /* "": of a file, which is known by its look */
};

struct origin_now;

struct origin {
    struct arena arena;
    char *dir, *folder, *git_dir;
    char *const *environ;
    char *excludes; /* patterns that git had besides the .gitignore files */
    char *skip;     /* $TENAX_HOME, where it lies in the workspace; relative; NULL: it does not */
    struct strv globs, keep;
    struct strv accepted; /* files outside of the workspace that the user accepted */
    bool protects_nothing;
    int64_t taken_ns;
    struct inventory files;
    struct git_state git;
    bool has_room; /* checks were first run in a clean room; verdicts need one, too */
    bool has_tree;
    char tree[GIT_ID];
    VEC(struct origin_check) checks;
    VEC(struct origin_program) programs;
};

/* notes: for the user, such as a glob that matches nothing. ERR_CANCELLED, ERR_IO. */
int origin_take(const struct origin_spec *spec, struct cancel *cancel, struct origin **ret,
                struct strv *ret_notes, struct err *err);
void origin_free(struct origin *o);

/* The first run of a check: configuration that it read is protected, too. now: the workspace, where
 * the goal was set before; NULL: it is being set. Takes the content of trace and touched. */
int origin_add_check(struct origin *o, const char *command, const struct origin_now *now,
                     struct trace *trace, struct strv *touched, struct cancel *cancel,
                     struct err *err);
const struct origin_check *origin_check_of(const struct origin *o, struct str command);
/* --protect while the goal is set; matching files are protected in their current state, except
 * those that are protected already. */
int origin_protect(struct origin *o, struct str glob, struct cancel *cancel, struct strv *ret_notes,
                   struct err *err);
size_t origin_count(const struct origin *o); /* protected files */
/* Scripts and programs of the work that a check ran at first: not protected. */
void origin_scripts(const struct origin *o, struct strv *ret);
void origin_names(const struct origin *o, size_t max, struct strv *ret);
/* Whether --keep names the path. */
bool origin_keeps(const struct origin *o, struct str path);
struct tree origin_tree(const struct origin *o);

/* ---- the workspace since then ---- */

struct origin_now {
    struct inventory files;
    inventory_change_vec
        changes;     /* of files that are neither new nor TREE: ignored by git, or derived */
    struct strv git; /* what changed of the state of git */
};
#define ORIGIN_NOW_INIT                                                                            \
    {                                                                                              \
        .files = INVENTORY_INIT                                                                    \
    }
void origin_now_release(struct origin_now *n);
int origin_look(const struct origin *o, struct cancel *cancel, struct origin_now *ret,
                struct err *err);
/* The part of it that sets INVENTORY_TREE: new files are of the tree unless git ignores them;
 * without git, unless they are derived. */
int origin_mark_new(const struct origin *o, struct origin_now *n, struct cancel *cancel,
                    struct err *err);
static inline const struct inventory_entry *change_entry(const struct inventory_change *c)
{
    return c->is ? c->is : c->was;
}

/* Nobody can read the file or folder any more. */
static inline bool change_closes(const struct inventory_change *c)
{
    return c->is && c->is->flags & INVENTORY_TREE && c->is->type != INVENTORY_LINK &&
           !(c->is->mode & 0400) && (!c->was || c->was->mode & 0400);
}

/* A file that stands in the way of "met", or that the judge shall look at. */
enum objection_what {
    OBJECTION_CHANGED,
    OBJECTION_GONE,
    OBJECTION_MODE,
    OBJECTION_NEW,     /* it would have a say in the check */
    OBJECTION_PROGRAM, /* a program outside of the workspace is another now */
    OBJECTION_OUTSIDE, /* the check read a file elsewhere that changed since */
    OBJECTION_UNRUN,   /* it ran when the goal was set, and does not now */
    OBJECTION_TOUCHED, /* the run of the check changed a protected file */
    OBJECTION_MOVED,   /* the workspace changed while the check ran */
    OBJECTION_UNSEEN,  /* something that was compared or observed then cannot be now */
};
struct objection {
    enum objection_what what;
    char *path;
    char *why;
};
typedef VEC(struct objection) objection_vec;
void objections_release(objection_vec *v);
void objection_add(objection_vec *v, enum objection_what what, struct str path, const char *why);
const char *objection_name(enum objection_what w);
/* For the model: the problem, and how the user can accept it in this session. */
void objections_explain(const objection_vec *v, const char *session, struct buf *ret);

/* Protected files that are not what they were. */
void origin_protected(const struct origin *o, const struct origin_now *now, objection_vec *ret);
/* Why a file that a run of the check reads must stay as it is, whatever its name; NULL: it need
 * not. */
const char *origin_why_read(const struct inventory_entry *e, struct str command,
                            const struct trace *trace);
/* Tests in the source they test, which is the work: those that were there must still be. */
int origin_inline_tests(const struct origin *o, const struct origin_now *now, struct cancel *cancel,
                        objection_vec *ret, struct err *err);
/* What a run shows that the first one does not. *ret_partial: scripts and tests that ran then and
 * do not now, while others do: a matter for the judge. condition: the goal's; a hidden file that it
 * or the check names is the work. */
void origin_compare(const struct origin *o, const struct origin_now *now, struct str command,
                    struct str condition, const struct trace *trace, const struct strv *touched,
                    objection_vec *ret, struct strv *ret_partial);
/* Programs that checks ran when the goal was set. */
int origin_programs(const struct origin *o, struct cancel *cancel, objection_vec *ret,
                    struct err *err);

/* The file is fine as it is now (relative, absolute, a folder, or a program), or everything is when
 * path is empty. *ret_count: how many had changed. ERR_NOT_FOUND: nothing of that name is watched.
 */
int origin_accept(struct origin *o, struct str path, struct cancel *cancel, size_t *ret_count,
                  struct err *err);

/* The file origin.json of the goal's folder, and its hash. origin_read() fails with ERR_PROTOCOL
 * when the file does not have this hash. */
void origin_move(struct origin *o, const char *folder); /* for a copy of the goal */
int origin_write(const struct origin *o, char ret_sha256[static SHA256_HEX + 1], struct err *err);
int origin_read(const char *folder, char *const *env, struct str sha256, struct origin **ret,
                struct err *err);
