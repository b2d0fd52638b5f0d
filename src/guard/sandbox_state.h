/*
 * Private state shared by the files of the sandbox. Do not include it elsewhere.
 */
#pragma once

#include "base/strv.h"
#include "base/vec.h"
#include "guard/sandbox.h"
#include "guard/session_folder.h"
#include "proc/confine.h"
#include "sync/thread.h"

struct denied_files;
struct permit;
struct proxy;
struct proxy_door;
struct rule;
struct sandbox_memory;

/* Paths as passed to the kernel; of the settings, the constant part. */
struct sandbox_paths {
    struct strv write, read_only, hidden, shown;
    struct strv absent;  /* files of git that must not come by a job; they are missing */
    struct strv sockets; /* unix sockets that can be connected to */
    struct strv denied;  /* of read_only: what deny rules Edit(…) mean, missing ones too */
    bool is_partial;     /* not all that the deny rules mean was found */
};

/* Of folders whose settings count: created, so that commands cannot create settings. */
#define SANDBOX_FOLDERS 2
extern const char *const sandbox_folder_names[SANDBOX_FOLDERS];

/* Of tenax's home: where sessions listen, and what the next start is to know of them. */
#define SANDBOX_RUN "run"

/* Held by a shared flock(2) as long as jobs rely on it: a removed folder would vanish from the
 * mounts of all other sessions, too. */
struct sandbox_folder {
    char *path; /* NULL: not held */
    int fd;
    bool is_made; /* by a session, not by the user */
};

/* Files that running jobs must not create, stored for the next start of tenax in case it is killed.
 * Locked by flock(2) while the session lives. */
struct sandbox_note {
    char *path; /* NULL: nothing was stored yet */
    int fd;
    size_t jobs;        /* that it counts for; 0: it is empty */
    struct strv absent; /* what it says */
};

struct sandbox {
    struct workspace *workspace;
    enum sandbox_state wanted;     /* what it is when nothing here can confine */
    bool is_asked_for;             /* by the settings: it holds in bypassPermissions, too */
    bool (*can_confine)(void);     /* called when needed; tests provide the answer themselves */
    struct sandbox_memory *memory; /* NULL: none */
    bool frees_commands;
    bool may_leave;
    VEC(struct rule *) excluded;
    struct strv env;            /* names of variables that are passed with a key in them */
    char *home;                 /* the user's */
    char *tenax_home;           /* of our settings, and of Claude's */
    char *claude_home;          /* may not exist */
    struct sandbox_paths given; /* of the settings */
    struct permit *permit;      /* whose deny rules hide files; NULL: none */
    struct denied_files *denied, *unedited; /* by rules Read(…) and Edit(…) */
    char *record; /* where the session's own project is recorded; NULL: nowhere */
    enum confine_net net;
    bool unix_sockets;
    struct strv hosts; /* allowed, as written */
    struct strv denied_hosts;
    char *direct;               /* NO_PROXY inside */
    bool own_http, own_socks;   /* the user's own proxies decide which hosts are reachable */
    struct proxy *proxy;        /* NULL: no host is allowed */
    struct lock lock;           /* of what follows */
    char *temp_dir;             /* where temporary folders are made */
    struct session_folder temp; /* of commands; made with the first */
    VEC(struct sandbox_folder) folders;
    struct strv unwanted; /* files that must not exist after a job */
    struct strv nested;   /* checkouts below working folders, and which of these were looked into */
    struct strv nested_in;
    struct sandbox_note note;
    struct session_folder trials; /* where they keep what commands write (guard/trial.h) */
    unsigned trial_count;
};

struct sandbox_job {
    struct sandbox *sandbox;
    struct sandbox_paths paths;
    struct strv absent; /* files that must not come by it */
    char *temp;
    bool is_trial; /* what it writes stays in layers */
    struct confinement confine;
    struct proxy_door *door;
    int door_fd; /* the job's end; -1 once it has started */
};

/* What notes of temporary folders, and these, begin with. */
#define SANDBOX_TEMP_NOTE "temp-"
#define SANDBOX_TEMP "tenax-"

/* sandbox_job.c */
/* The session's temporary folder, made with the first job; yours to free. */
int sandbox_temp(struct sandbox *s, char **ret, struct err *err);
/* Without paths and confinement. */
struct sandbox_job *sandbox_job_new(struct sandbox *s, const char *temp);

/* sandbox_paths.c */
void sandbox_paths_copy(struct sandbox_paths *to, const struct sandbox_paths *from);
void sandbox_paths_release(struct sandbox_paths *p);
/* Of the settings: sandbox.filesystem.*, and sockets. */
void sandbox_paths_read(struct sandbox *s, const struct conf *conf, struct strv *ret_warnings);
/* All of them, for a job that begins now. */
void sandbox_paths_gather(struct sandbox *s, const char *temp, struct sandbox_paths *ret);
void sandbox_add_if_there(struct strv *to, const char *dir, const char *name);
/* Whether jobs can perhaps write it: by all that rules of writing could mean. */
bool sandbox_is_written(const struct strv *write, const char *path);
/* Folders whose .claude and .tenax count for sessions: the working folders, and those above that
 * jobs may write, up to the one with the local settings. ret_write: the rules that allow writing
 * there. */
void sandbox_settings_dirs(struct sandbox *s, struct strv *ret, struct strv *ret_write);
/* What a path is inside, by the rule of confine.h: the deepest wins. */
enum path_is {
    PATH_READABLE, /* and not writable */
    PATH_WRITABLE,
    PATH_HIDDEN,
};
enum path_is sandbox_path_is(const struct sandbox_paths *p, const char *path);
/* Whether a rule keeps it from being written, and no deeper one opens it again. */
bool sandbox_path_is_closed(const struct sandbox_paths *p, const char *path);

/* What deny rules Edit(…) mean at this moment. False: not all was found. */
bool sandbox_unedited_find(struct sandbox *s, const struct strv *dirs, struct strv *ret);

/* Whether a path is kept as it is because it decides what programs run; with `goes`, also whether
 * something below it is. What the user's settings and rules close is their business. */
bool sandbox_paths_keep(const struct sandbox *s, const struct sandbox_paths *p, const char *path,
                        bool goes);

/* Of the home, if it is a working folder: files that run by themselves; each list ends with
 * NULL. */
extern const char *const sandbox_startup_files[];
extern const char *const sandbox_startup_folders[];

/* sandbox_absent.c */
/* Of a job that begins now, with its paths. */
void sandbox_absent_find(struct sandbox_job *j);
/* After it: what has come is moved aside, and said in ret, which may be NULL. */
void sandbox_absent_move(struct sandbox_job *j, struct strv *ret);
/* The same for files that deny rules Edit(…) name by patterns. */
void sandbox_absent_move_denied(struct sandbox_job *j, struct strv *ret);
void sandbox_absent_forget(struct sandbox_job *j); /* the last, when the job is over */
/* What has come by jobs of sessions that were killed is moved aside, and said. */
void sandbox_absent_settle(const struct sandbox *s, struct strv *ret);
void sandbox_note_release(struct sandbox *s);

/* sandbox_git.c */
/* The repository that a folder belongs to. rules: all others, with what links that forbid lead to;
 * what they close stays closed. */
void sandbox_add_repository(struct sandbox *s, const struct sandbox_paths *rules,
                            struct sandbox_paths *p, const char *folder);
/* One below a working folder: nothing is opened, but what makes git run programs stays as it is. */
void sandbox_keep_repository(struct sandbox *s, const struct sandbox_paths *rules,
                             struct sandbox_paths *p, const char *checkout);
/* Removes files that a job has made and that must not be. */
void sandbox_sweep(struct sandbox *s);

/* sandbox_nested.c */
/* Checkouts below folders, as they were when a job was first to run there. */
void sandbox_nested_find(struct sandbox *s, const struct strv *dirs, struct strv *ret);

/* sandbox_folder.c */
/* Before each job: those that are missing are made, all are held. ERR_BUSY when another process
 * does not release one. */
int sandbox_folders_hold(struct sandbox *s, struct err *err);
/* In the end: those that were made go, unless another session holds them or there is something in
 * them. */
void sandbox_folders_release(struct sandbox *s);
