/*
 * Copies and downloads folders of plugins and marketplaces. Their content is untrusted: it is
 * limited in size, links must stay inside, and nothing of it is executed. Any thread.
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

/* Copies a folder without its .git; `to` must not exist, or is NULL to only compute the hash of
 * names, modes and contents. ERR_DENIED: a link leads out; ERR_TOO_BIG. */
int fetch_copy(const char *from, const char *to, struct cancel *cancel, char ret[FETCH_HASH + 1],
               struct err *err);
/* Fetches a commit of a repository without its history. ref: a branch, tag or commit; empty = HEAD.
 * is_users: the user typed the URL, so file URLs are allowed. */
int fetch_git(const struct conf *conf, struct str url, struct str ref, bool is_users,
              const char *to, struct cancel *cancel, struct buf *ret_commit, struct err *err);
/* Accepts "https://…", "ssh://…", "user@host:path", "git://…"; from the user also file:// and a
 * path to a repository. ERR_BAD_INPUT. */
int fetch_check_url(struct str url, bool is_users, struct err *err);
void fetch_remove(const char *path); /* removes a tree; ignores errors */
