/*
 * Git information for a status line: read from its files, no program is started. Any thread.
 */
#pragma once

#include <stdbool.h>

#include "base/str.h"

struct arena;

struct statusline_git {
    struct str top;      /* the folder of the checkout or linked worktree; empty: no repository */
    struct str branch;   /* empty: none, a detached head */
    struct str worktree; /* the name of a linked worktree; empty: the main one */
    struct str main_top, main_branch; /* of the checkout that it is linked to */
    struct str host, owner, name;     /* of the remote "origin"; empty: there is none */
};

/* Everything in the arena. */
void statusline_git(struct arena *arena, const char *dir, struct statusline_git *ret);
/* "git@host:owner/name.git", "https://host/owner/name", "ssh://git@host:22/owner/name": false for
 * what has no host, owner and name. */
bool statusline_remote(struct str url, struct statusline_git *ret);
