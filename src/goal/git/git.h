/*
 * git, run for evidence: nothing of the user's is touched by the way it is run.
 *
 * No hooks, no fsmonitor, no automatic gc, no locks taken for convenience, English messages, a
 * separate identity in commits. GIT_DIR and similar variables in the environment count. Private to
 * this folder. Any thread; waits.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/str.h"

struct cancel;
struct err;
struct sandbox;

struct git {
    const char *dir;
    char *const *environ;
    /* A repository of our own, whose work tree is another's: nothing in the workspace decides how
     * git reads it but the .gitignore files. NULL: the workspace's own. */
    const char *git_dir, *work_tree;
    const char *index;   /* a file of ours; NULL: the user's, to be read only */
    int64_t deadline_ms; /* real time, git_now_ms(); 0: none */
    struct cancel *cancel;
    /* With programs that git runs for the content of files, as commands of the agent run: it writes
     * what they may write, and in the folder of the index. NULL: as the user's own. */
    struct sandbox *sandbox;
};

/* Jobs live by real time, also under a virtual clock. */
int64_t git_now_ms(void);

struct git_said {
    int code;
    struct buf out;
    struct buf complaint; /* what it said on standard error */
    bool cut;             /* out was longer than asked for */
};
void git_said_release(struct git_said *s);

/* args: up to NULL, without "git". ERR_UNSUPPORTED: there is no git, or no sandbox; ERR_TIMEOUT,
 * ERR_CANCELLED, ERR_IO. Whatever its exit code, it has run. */
int git_run(const struct git *g, const char *const *args, struct str input, size_t max_output,
            struct git_said *ret, struct err *err);
/* The error for an exit code: ERR_UNSUPPORTED where there is no repository or no work tree, else
 * ERR_IO with git's message. Always -1. */
int git_failed(const struct git_said *s, const char *what, struct err *err);
/* git_run(), where any exit code but 0 is an error; ERR_TOO_BIG when the answer was cut. */
int git_ask(const struct git *g, const char *const *args, struct str input, size_t max_output,
            struct buf *ret_out, struct err *err);
/* The same where the answer is a hash. */
#define GIT_ID 65 /* a hash in hex with its NUL */
int git_ask_hash(const struct git *g, const char *const *args, struct str input,
                 char ret[static GIT_ID], struct err *err);
bool git_is_hash(struct str text);
/* "add …". Files that cannot be read, and nested repositories that have no commit, are left out;
 * everything else that git complains about is an error. */
int git_add(const struct git *g, const char *const *args, struct err *err);
