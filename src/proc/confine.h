/*
 * What a job may touch, enforced by the kernel.
 *
 * A confinement says what is wanted, a backend of the table how to get it. If that is impossible,
 * the job is refused (ERR_UNSUPPORTED): a job that should be confined never runs unconfined.
 * Whether a backend works here is tested on first use, and remembered.
 *
 * Paths are absolute; where rules meet, the one for the deepest path wins, and for one and the same
 * path hidden, read_only, shown, write, in this order. Symbolic links in them are followed once,
 * when the job is started; but a rule that opens something (write, shown, sockets) has no effect
 * when a link on the way lies where the job may write: an earlier job could have put it there. At
 * most CONFINE_MAX_PATHS of them.
 *
 * A confined job
 *
 *   - writes, creates, removes, renames and changes modes, owners and times below write only;
 *     elsewhere: EROFS ("Read-only file system"). /tmp is no exception: give it a private folder
 *     and set TMPDIR;
 *   - finds nothing below hidden: EACCES ("Permission denied") for ordinary users, for root (whom
 *     modes do not stop) an empty folder or file;
 *   - opens the harmless devices only (null, zero, full, random, urandom, tty, and its own private
 *     terminals); others: EACCES. /dev/shm is private and empty at first, and so are System V IPC
 *     and message queues;
 *   - has the sockets that net, unix_sockets and sockets allow; others: EACCES. socketpair(AF_UNIX)
 *     is always there, for streams and packets; for datagrams, which could be sent to any process,
 *     only with unix_sockets. No abstract name of a socket reaches out of the job;
 *   - signals, traces and reads the memory of no process outside: it has a private PID namespace
 *     and /proc, in which it sees no other process. Where a part of /proc is covered, as in most
 *     containers, "landlock" keeps the old /proc. Within the job debuggers
 * work;
 *   - mounts nothing, has no namespaces, keyrings, io_uring, userfaultfd, bpf or perf, gives no
 *     setuid bits and file capabilities, types nothing into terminals: EPERM, or ENOSYS where
 *     programs then go on without;
 *   - gains nothing by setuid programs (sudo does not work); as root it keeps the capabilities to
 *     handle files of all owners, and nothing else.
 *
 * Everything else is unchanged: background processes, environment, terminal, working folder, time,
 * signals from tenax, PROC_EXIT. For ordinary users files of others seem to belong to user nobody,
 * because the job lives in a user namespace. It cannot get the name of its terminal ("tty" says
 * "not a tty"; /dev/tty works).
 *
 * Both backends are the same except for Landlock. Without it named pipes outside that the user may
 * write can be written. Without Landlock, and before Linux 6.12, net and unix_sockets cannot both
 * be open: abstract sockets would reach out.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct err;

#define CONFINE_MAX_PATHS 512

/* The mtime of a folder that was made for a rule (read_only): a process that finds such a folder,
 * perhaps left by a killed one, may remove it. */
#define CONFINE_MADE_TIME 1

/* Makes such a folder before there is a job. An existing file stays as it is. False: it cannot be
 * made. */
bool confine_make_folder(const char *path);

/* In the job, where connections to the proxy go: 127.0.0.1 and this port. */
#define CONFINE_PROXY_PORT 3128

enum confine_net {
    CONFINE_NET_OPEN, /* that of the machine; abstract unix sockets are still closed */
    CONFINE_NET_NONE, /* no address families at all */
    /* TCP to the proxy, and between programs of the job on 127.0.0.1 and ::1. Each connection that
     * a program makes to CONFINE_PROXY_PORT is passed on to tenax as it is, unread. */
    CONFINE_NET_PROXY,
    /* On trial: nothing but programs of the job on 127.0.0.1 and ::1, with sockets of all kinds, so
     * that it shows where they were to lead. At CONFINE_PROXY_PORT requests to a proxy are read for
     * the host that they name. */
    CONFINE_NET_TRIAL,
};

/* A folder that the job sees through an overlay: `lower` is never changed, what the job changes
 * goes to `upper`. */
struct confine_overlay {
    const char *at;           /* absolute, without links, exists; not the root */
    const char *const *lower; /* ends with NULL, topmost first; usually {at, NULL} */
    /* A private folder, which holds no lower one. It may already hold files, and whiteouts
     * (character devices 0:0) that hide the lower ones. "y" as the extended attribute
     * user.overlay.opaque hides everything below a folder. */
    const char *upper;
    const char *work; /* an empty private folder on the file system of upper */
};

#define CONFINE_MAX_OVERLAYS 8
#define CONFINE_MAX_LOWER 4

/*
 * Records of observe, each followed by a NUL byte; <pid> is the process as tenax sees it:
 *
 *     X <pid> <path>\x1f<argv[1]>\x1f<argv[2]>...   a program is executed; up to 8 arguments, each
 *                                                  cut at 512 bytes, \x1f in one becomes '?'
 *     R <pid> <path>                               a file below `observed` is opened
 *     M <pid> <path>                               the same, but there is no such file yet
 *     T                                            more than CONFINE_MAX_RECORDS bytes: the end
 *
 * A path is the one that the program gave, made absolute, without "." and ".."; links in it are not
 * followed. A record is written once per process, not once per open. It is a report, not a barrier:
 * a program that changes a path after the call has begun deceives it.
 */
#define CONFINE_MAX_RECORDS ((size_t)64 << 20)

/* Lists end with NULL; a NULL list is empty, except for write. */
struct confinement {
    /* Folders and files that may be written, as far as the user may; missing ones are skipped.
     * NULL: everything; an empty list: nothing. */
    const char *const *write;
    /* Stays as it is although below one of write. Neither it nor a folder on the way to it can be
     * renamed or replaced. One that is missing stays missing, as far as that can be had:
     *   - with a slash at its end ("/w/.git/hooks/") it is made, an empty folder, when the folder
     *     it is in exists; otherwise it is skipped;
     *   - else the nearest existing folder above it, if that lies in one of write, is read-only
     *     as a whole ("/w/.claude" for "/w/.claude/settings.json");
     *   - one that would lie directly in one of write ("/w/.mcp.json"), or has nothing but that
     *     above it, can be made: it is not there to be kept. List "/w/.claude/" to keep the whole
     *     of that folder from being made. */
    const char *const *read_only;
    /* Folders and files; missing ones are skipped. Below write, no folder or link on the way to one
     * can be renamed or replaced. */
    const char *const *hidden;
    const char *const *shown; /* can be read, although below hidden */

    enum confine_net net;
    /* NET_PROXY: one end of a SOCK_SEQPACKET pair, stays the caller's; one pair serves any number
     * of jobs. The other end gets one packet per connection (packet_receive(end, &fd, 1)). When it
     * is full or closed, connections are closed. */
    int proxy;
    bool unix_sockets; /* AF_UNIX by path, to any listener on this machine */
    /* Where that is closed: streams to these, and no other. One that is missing may come later. One
     * that lies below anything that the job may write stays closed, because any other socket could
     * be put in its place; one below hidden is not found. Not with NET_OPEN: ERR_BAD_INPUT. */
    const char *const *sockets;

    const struct confine_backend *by; /* NULL: confine_backend() */

    /* Mounted before any other rule is applied, so that the rules above apply to the view through
     * them; the one at the deepest path wins. Below an overlay a missing path of read_only is
     * skipped. */
    const struct confine_overlay *overlays;
    size_t overlay_count;
    /* A view has a private PID namespace and /proc, too. */
    bool own_processes;
    /* A view that begins in the namespaces of this folder (private_dir.h), which stays the
     * caller's. NULL: in those of tenax. */
    const struct private_dir *private_dir;
    /* Nothing but the view is wanted: overlays, own_processes, observe, and mounts for write,
     * read_only and hidden. No Landlock, no system call is refused, no capability is dropped,
     * network and sockets are as outside, and so are /dev and IPC. It needs no backend. */
    bool is_view;
    /* A file open for appending, which stays the caller's; gets the records below. 0: nothing is
     * observed. */
    int observe;
    const char *const *observed; /* folders: files opened below these are recorded */
    /* NULL: everything can be read. Otherwise the job is on trial: it opens and executes files only
     * below these and below write, it lists no other folders, and has the harmless devices and its
     * own /proc; all else: EACCES. Its first call that would reach something else, or connect to
     * anything outside of the job, also ends the job, with a record that says what it was. (The
     * record is a report; what keeps the job in is Landlock and the namespaces.) Needs
     * own_processes and observe; unix_sockets are not looked at. With another network than
     * NET_TRIAL connections are that network's business. To open what is listed in observed, which
     * has links resolved here, ends the job like a file that is not readable. */
    const char *const *readable;
};

/*
 * Why a job on trial was ended: the last record of observe.
 *
 *     O <pid> <path>           it opened a file or folder that is not readable, links followed
 *     E <pid> <path>           it executed one
 *     U <pid> <path>           it connected to a unix socket ("@name": an abstract one)
 *     N <pid> <address:port>   it connected to another machine, or to this one outside of the job
 *     D <pid> <host name>      it asked a name server
 */
#define CONFINE_ENDS "OEUND"

struct confine_backend {
    const char *name; /* "landlock", "namespaces", "none" */
    const char *what; /* in a few words, for people */
    /* Whether it works here. Where not, why has the words ("no user namespaces: ..."). A process
     * that was tried on may still be on its way out (its namespaces go first, which takes longer
     * than all else): the caller reaps it in the end. 0: there is none. */
    bool (*probe)(char *ret_why, size_t size, pid_t *ret_leaving);
    bool uses_landlock;
};

/* In the order in which they are preferred; the last is "none", which confines nothing. */
extern const struct confine_backend confine_backends[];
extern const size_t confine_backend_count;

/* NULL: there is none of that name. */
const struct confine_backend *confine_backend_named(const char *name);

/* Whether it works here; ret_why may be NULL. The first call takes up to some milliseconds, those
 * beside it wait for what it finds, all others take nothing. */
bool confine_works(const struct confine_backend *by, const char **ret_why);

/* The process that tried ends at once, but the kernel needs up to some milliseconds to clean up
 * after it. It is reaped by a later confine_works(), by this, and at the latest by proc_shutdown(),
 * which does not wait for it either. */
void confine_reap(bool waits);

/* The first that works, "none" when none does. Tests choose by TENAX_TEST_SANDBOX=<name>. */
const struct confine_backend *confine_backend(void);

/* Whether overlays can be mounted here, which the first call finds out by trying in a child. False:
 * *ret_why, which may be NULL, says why not. One on an unusual file system may still fail:
 * proc_start() then gives ERR_UNSUPPORTED. */
bool confine_overlay_works(const char **ret_why);
/* The same for observe. */
bool confine_observe_works(const char **ret_why);

/* Whether it asks for anything at all. NULL does not. */
bool confine_is_asked(const struct confinement *c);

/* ERR_UNSUPPORTED when it is impossible here, with a text about the missing part; ERR_BAD_INPUT for
 * a path that is not absolute; ERR_TOO_BIG for too many. NULL asks for nothing. */
int confine_check(const struct confinement *c, struct err *err);
