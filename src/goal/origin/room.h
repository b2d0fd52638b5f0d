/*
 * A clean room: the workspace as a check of a verdict sees it.
 *
 * The same files at the same path, through an overlay whose upper layer is private and thrown away.
 * Hidden in it are ignored and derived files that changed or appeared since the goal was set, so
 * that build outputs, caches and stamps are made again or are in their old state. The configuration
 * of git is in its old state, and so are the refs that a check names. HOME, XDG_* and TMPDIR are
 * empty folders, except for links to the caches that the settings name. The check sees no process
 * of the agent, and none of its processes outlives it.
 *
 * All that is private to it lies in memory, in a folder to which no path leads (private_dir.h),
 * unless the agent is confined anyway. Where that cannot be had it lies on the disk; what another
 * process changes in it then is found afterwards, as far as it can be. Where no overlay can be
 * mounted the room is a copy of the workspace at another path. One thread at a time; waits for the
 * disk and for git.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/str.h"
#include "base/strv.h"
#include "goal/origin/origin.h"
#include "proc/confine.h"

struct cancel;
struct err;
struct sandbox_job;

#define ROOM_MAX_COPY ((int64_t)2 << 30) /* bytes of a room that is a copy */

/* A recorded state, shown in place of the workspace's files. Of the workspace itself only ignored
 * files that are as they were when the goal was set, and nested repositories, can be seen. */
struct room_final {
    const char *dir; /* its files */
    struct str head,
        commit;        /* the content of HEAD, and the commit it led to; empty: as it is now */
    const char *index; /* a file with git's index; NULL: as it is now */
};

struct room_spec {
    const struct origin *origin;
    const struct origin_now *now;   /* NULL: the goal is being set, and nothing is hidden */
    const struct room_final *final; /* NULL: the workspace as it is; needs now */
    const char *temp;               /* where rooms are made: "/tmp" */
    const char *home;               /* the user's */
    const struct strv *caches; /* folders of the home that are linked into the room's, absolute */
    bool hides_built;          /* also hides compiled files that git does not ignore */
    bool is_confined;          /* checks run in the session's sandbox, too */
    bool must_copy;            /* no overlay, even where one can be mounted */
    bool on_disk;              /* not in memory */
};

struct room;

/* ERR_UNSUPPORTED: neither an overlay nor a copy is possible here, with the reason. */
int room_open(const struct room_spec *spec, struct cancel *cancel, struct room **ret,
              struct err *err);
void room_free(struct room *r);    /* removes everything of it; NULL is fine */
void room_remove(const char *dir); /* a folder with everything in it, whatever its modes */

const char *room_dir(const struct room *r); /* where checks run */
bool room_is_copy(const struct room *r);
/* It is in memory, where no process but those of its checks finds it; they may need more. */
bool room_in_memory(const struct room *r);
const struct strv *room_hidden(const struct room *r); /* files that are left out */

/* The confinement of a check: that of the session (NULL: none) with the room put into it. Lent by
 * the room until the next call. */
const struct confinement *room_confine(struct room *r, const struct confinement *session);
/* The environment inside, of the one that the session's sandbox gives. */
void room_environ(const struct room *r, char *const *given, struct strv *ret);

/* After a check: what it did, and the protected files that it changed while it ran. */
/* Of a room that others can change: files of the workspace that look as if they did. since_ms: when
 * the checks began to run in the workspace, where they change what they change here. */
void room_find_foreign(struct room *r, const struct trace *trace, int64_t since_ms,
                       struct strv *ret);
int room_look(struct room *r, struct trace *ret_trace, struct strv *ret_touched,
              struct cancel *cancel, struct err *err);
