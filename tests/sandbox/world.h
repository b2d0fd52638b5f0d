/*
 * A small world around a confined job: what it may write, what it may not, what it must not see,
 * and whom it must not reach. world_check() finds everything that is not as it was.
 *
 *     w/                    WORK: the workspace, writable
 *     w/.git w/.claude      with hooks, config and settings that are read-only
 *     w/.tenax              a link to settings outside, which is to stay one
 *     w/home                TENAX: a home of tenax inside, read-only
 *     t/                    TMPDIR, writable
 *     out/                  OUT: files of the same user, not to be written
 *     secrets/ secret.txt   SECRETS: hidden
 *
 * Listeners wait on TCP, UDP, a unix socket in a folder (SOCK), one for datagrams beside it
 * (SOCK_DATAGRAM), one in the workspace, and an abstract one (ABSTRACT), and on a terminal
 * (TERMINAL); a process of the same user (VICTIM) sleeps, and the watching one exists, too
 * (WATCHER). Connections to one more unix socket (LISTED) are not noticed.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/strv.h"

enum world_ear {
    EAR_TCP,
    EAR_UDP,
    EAR_UNIX,
    EAR_UNIX_WORK,
    EAR_UNIX_DATAGRAM,
    EAR_ABSTRACT,
    EAR_TERMINAL,
    EAR_COUNT,
};

struct world {
    char root[64];
    struct buf before; /* every file, with what it holds */
    int ears[EAR_COUNT];
    int listed;   /* a unix socket that some may reach */
    int terminal; /* kept open, or it would seem to hang up */
    pid_t victim;
    struct strv env;
};

int world_init(struct world *w, const char *self); /* self: a copy of it is SELF */
void world_release(struct world *w);

char *world_path(const struct world *w, const char *name); /* yours to free */

/* What the job must not have changed, reached or said; true: nothing. */
bool world_check(struct world *w, struct str said, struct buf *ret_what);
/* The workspace is emptied of what jobs left there, and the rest put back. */
void world_mend(struct world *w);
/* What an earlier job could have left: links "planted" to a socket outside, "planted-file" to a
 * secret and "planted-folder" to a folder outside, and a socket "free", which listens as long as
 * the descriptor is open that is returned. */
int world_plant(const struct world *w);

/* The word that is in everything secret. */
#define WORLD_SECRET "hunter2-secret"
