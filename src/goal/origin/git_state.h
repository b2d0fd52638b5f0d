/*
 * What decides how git behaves in a workspace, and is no file of it: configuration, hooks,
 * excludes, attributes, grafts, replace refs, marks in the index, and the refs that a check names.
 *
 * Taken when a goal is set. Later it gives the changes since, and the files that a clean room must
 * restore. Any thread; waits for git and the disk.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/str.h"
#include "base/strv.h"
#include "base/vec.h"

struct cancel;
struct err;
struct json;
struct jw;

#define GIT_STATE_MAX_FILE ((size_t)1 << 20)
/* What git_state_compare() says of a file that is marked now and was not. */
#define GIT_STATE_MARKED " (git is told to look past it)"

struct git_file {
    struct str path; /* absolute */
    bool exists;
    unsigned mode;
    struct str content; /* cut at GIT_STATE_MAX_FILE */
};

struct git_pin {
    struct str ref; /* "refs/heads/main" */
    struct str id;
};

/* The index as a file: as long as it looks the same, no mark was set. */
struct git_index {
    int64_t size, mtime_ns, ctime_ns; /* ctime_ns 0: not known, or too young to be relied on */
    uint64_t ino;
};

struct git_state {
    struct arena arena;
    bool has_git;
    struct str git_dir, common_dir; /* absolute; the same unless it is a linked work tree */
    struct str top;                 /* of the work tree */
    struct str head;                /* the commit; empty: none yet */
    VEC(struct git_file) files;
    VEC(struct git_pin) pins;
    struct strv marked; /* files that git is configured to ignore changes of; sorted */
    struct git_index index;
    bool has_replace;
    struct str dir;                 /* the folder that was asked about; "" for the workspace */
    VEC(struct git_state *) nested; /* of repositories and submodules in the workspace */
};
#define GIT_STATE_MAX_NESTED 32
#define GIT_STATE_INIT                                                                             \
    {                                                                                              \
        .arena = ARENA_INIT                                                                        \
    }
void git_state_release(struct git_state *s);

/* Outside of git, or without it, has_git is false and nothing else is set. checks: texts that may
 * name refs. nested: folders of repositories below dir, each with a slash; may be NULL. */
int git_state_take(struct git_state *s, const char *dir, char *const *env,
                   const struct strv *checks, const struct strv *nested, struct cancel *cancel,
                   struct err *err);
/* Further refs that these texts name, as they are now. */
int git_state_pin(struct git_state *s, const char *dir, char *const *env, const struct strv *texts,
                  struct cancel *cancel, struct err *err);
/* The file as it was; NULL: it was not looked at. */
const struct git_file *git_state_file(const struct git_state *s, const char *path);

/* Absolute paths of the files that are not what they were, and the names of refs and marks. */
int git_state_compare(const struct git_state *s, const char *dir, char *const *env,
                      struct cancel *cancel, struct strv *ret, struct err *err);
/* A file as it is now. */
void git_file_read(struct arena *arena, const char *path, struct git_file *ret);
bool git_file_same(const struct git_file *a, const struct git_file *b);
/* Files of the index whose changes git ignores ("assume unchanged"). */
int git_state_marked(const char *dir, char *const *env, struct cancel *cancel, struct strv *ret,
                     struct err *err);

void git_state_write(const struct git_state *s, struct jw *w);
int git_state_parse(struct git_state *s, const struct json *v, struct err *err);
