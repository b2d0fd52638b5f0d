/*
 * Folders of plugins and marketplaces, copied and fetched. What comes in is foreign: it has limits,
 * its links must stay inside, and nothing of it runs. Any thread.
 */
#pragma once

#include <stdbool.h>

#include "base/str.h"

struct buf;
struct cancel;
struct conf;
struct err;

#define FETCH_MAX_BYTES ((int64_t)200 << 20)
#define FETCH_MAX_FILES 20000
#define FETCH_MAX_DEPTH 32
#define FETCH_MAX_MS (120 * 1000)
#define FETCH_HASH 12

/* Copies a folder without its .git; `to` must not exist. The hash is of its names, modes and
 * contents. to NULL: only looked at. ERR_DENIED: a link leads out; ERR_TOO_BIG. */
int fetch_copy(const char *from, const char *to, struct cancel *cancel, char ret[FETCH_HASH + 1],
               struct err *err);
/* A commit of a repository, without its history. ref: a branch, a tag or a commit; empty: its HEAD.
 * is_users: the user has typed the URL, which may then be a file's. */
int fetch_git(const struct conf *conf, struct str url, struct str ref, bool is_users,
              const char *to, struct cancel *cancel, struct buf *ret_commit, struct err *err);
/* "https://…", "ssh://…", "user@host:path", "git://…"; of the user's also file:// and a path to a
 * folder with a repository. ERR_BAD_INPUT. */
int fetch_check_url(struct str url, bool is_users, struct err *err);
void fetch_remove(const char *path); /* a whole tree; what cannot go stays */
