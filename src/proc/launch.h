/*
 * Everything a child needs, prepared before it exists: descriptors, file names to try, the mask.
 *
 * The thread that calls proc_start() writes it to the plan, without keeping anything of the
 * caller's. The plan and the child's descriptors are sent to a warden, which shares no memory with
 * us. A plan that is too long for a packet goes to a memory file, which the warden maps. Only the
 * warden reads it.
 */
#pragma once

#include <signal.h>
#include <stdbool.h>

#include "base/buf.h"
#include "proc/confine_image.h"

/* Of a plan in a packet: arguments and environment of most commands. */
#define LAUNCH_ROOM ((size_t)16 << 10)

struct err;
struct proc_spec;
struct strv;

/* In tenax. */
struct launch {
    char *name; /* argv[0] and the directory, for error messages */
    char *dir;  /* NULL = ours */
    struct buf plan;
    int file;     /* memory file with the plan; -1 = it fits into a packet */
    int stdio[3]; /* the child's ends */
    bool confined;
    struct confine_kit kit;
};

/* Our ends. err is -1 for a pty and with merge_stderr, in is -1 without input. */
struct launch_ends {
    int in;
    int out;
    int err;
};

/* The files that a program's name may mean, in order. */
void launch_find_program(const char *name, const char *const *envp, struct strv *ret);

int launch_init(struct launch *l, const struct proc_spec *spec, struct launch_ends *ret,
                struct err *err);
/* What a warden can prepare for (confine_enter.h), as flags of unshare(2). */
int launch_namespaces(const struct launch *l);
int launch_send(const struct launch *l, int socket); /* -1: errno says why */
void launch_close(struct launch *l);                 /* the descriptors, once they are sent */
void launch_release(struct launch *l);               /* the rest, too */

/* In the warden: plain system calls only. */
struct launch_plan {
    char *const *argv;
    char *const *envp;
    char *const *paths;            /* argv[0] resolved: tried in this order, up to NULL */
    const char *dir;               /* NULL = the current one */
    struct confine_image *confine; /* NULL = not sandboxed */
    sigset_t mask;
    bool pty;
    bool tell_dir;
    bool finishes;
};

/* Waits for a launch. Its descriptors then are 0, 1 and 2, which must have been free; the plan is
 * never released. The room, aligned for any type, may become part of it. -1 if there will be none
 * (errno is 0), or on error. */
int launch_receive(int socket, char room[static LAUNCH_ROOM], struct launch_plan *ret);
