/*
 * Internals of the sandbox. For its files only.
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
struct proxy_spec;
struct rule;

/* Paths for the kernel; from the settings only the constant part. */
struct sandbox_paths {
    struct strv write, read_only, hidden, shown;
    struct strv absent;  /* files of git that a job must not create; they do not exist */
    struct strv sockets; /* unix sockets that jobs may connect to */
    struct strv
        denied; /* part of read_only: files matched by deny rules Edit(…), including missing ones */
    bool is_partial; /* not everything matched by the deny rules was found */
};

/* Folders whose settings apply: created, so that commands cannot create settings. */
#define SANDBOX_FOLDERS 2
extern const char *const sandbox_folder_names[SANDBOX_FOLDERS];

/* In tenax's home: sockets of sessions, and notes for the next start. */
#define SANDBOX_RUN "run"

/* Protected by a shared flock(2) as long as jobs rely on it: if it were removed, it would disappear
 * from the mounts of all other sessions, too. */
struct sandbox_folder {
    char *path; /* NULL: not held */
    int fd;
    bool is_made; /* by a session, not by the user */
};

/* Files that running jobs must not create, recorded for the next start in case tenax is killed.
 * Locked by flock(2) while the session exists. */
struct sandbox_note {
    char *path; /* NULL = nothing recorded yet */
    int fd;
    size_t jobs;        /* number of jobs it applies to; 0 = it is empty */
    struct strv absent; /* its content */
};

/* Kept until the end, because jobs in the background use it. */
struct sandbox_net {
    char *key; /* its hosts */
    struct proxy *proxy;
};

struct sandbox {
    struct workspace *workspace;
    enum sandbox_state wanted; /* its state if sandboxing is not possible here */
    bool is_asked_for; /* required by the settings, so that it applies in bypassPermissions, too */
    bool (*can_confine)(void); /* called when needed; tests replace it */
    bool frees_commands;
    bool may_leave;
    VEC(struct rule *) excluded;
    struct strv env;   /* names of variables that are passed on although they have a secret */
    char *home;        /* the user's */
    char *tenax_home;  /* for our settings and for Claude's */
    char *claude_home; /* may not exist */
    struct sandbox_paths given;             /* from the settings */
    struct permit *permit;                  /* its deny rules hide files; may be NULL */
    struct denied_files *denied, *unedited; /* matched by rules Read(…) and Edit(…) */
    char *record;                           /* where the session's project is recorded; or NULL */
    enum confine_net net;
    bool unix_sockets;
    struct strv hosts; /* allowed hosts as written */
    struct strv denied_hosts;
    char *direct;             /* NO_PROXY for jobs */
    bool own_http, own_socks; /* the user's own proxies decide which hosts are reachable */
    struct proxy *proxy;      /* NULL = no host is allowed */
    bool only_managed_hosts;  /* no rule of others and no answer allows more hosts */
    char *upstream, *upstream_plain, *no_proxy; /* of the environment; "" = none */
    struct lock lock;                           /* guards the fields below */
    char *temp_dir;                             /* where temporary folders are made */
    struct session_folder temp;                 /* for commands; made for the first one */
    VEC(struct sandbox_folder) folders;
    struct strv unwanted; /* files that must not exist after a job */
    struct strv nested; /* checkouts below working directories, and which directories were searched
                           for them */
    struct strv nested_in;
    struct sandbox_note note;
    VEC(struct sandbox_net) nets; /* for jobs that reach other hosts than those of the settings */
    struct session_folder trials; /* what commands on trial write (guard/trial.h) */
    unsigned trial_count;
};

struct sandbox_job {
    struct sandbox *sandbox;
    struct sandbox_paths paths;
    struct strv absent; /* files that it must not create */
    char *temp;
    bool is_trial;     /* its writes stay in layers */
    struct strv hosts; /* it reaches these beside those of the settings */
    struct confinement confine;
    struct proxy_door *door;
    int door_fd; /* the job's end; -1 after its start */
};

/* Prefixes of the files that name temporary folders, and these. */
#define SANDBOX_TEMP_NOTE "temp-"
#define SANDBOX_TEMP "tenax-"

/* sandbox_job.c */
/* The session's temporary folder, made for the first job; the caller frees it. */
int sandbox_temp(struct sandbox *s, char **ret, struct err *err);
/* Without paths and confinement. */
struct sandbox_job *sandbox_job_new(struct sandbox *s, const char *temp);

/* sandbox_net.c */
/* The hosts and proxies of the settings. */
void sandbox_net_read(struct sandbox *s, const struct sandbox_spec *spec,
                      struct strv *ret_warnings);
void sandbox_net_release(struct sandbox *s);
/* With the denied hosts of the settings and the proxies of the environment, and no allowed hosts
 * yet. */
void sandbox_net_begin(const struct sandbox *s, struct proxy_spec *ret);
/* Of a job that reaches these, too; lent. NULL = no host is allowed. hosts: may be NULL. */
struct proxy *sandbox_net_proxy(struct sandbox *s, const struct sandbox_hosts *hosts);

/* sandbox_paths.c */
void sandbox_paths_copy(struct sandbox_paths *to, const struct sandbox_paths *from);
void sandbox_paths_release(struct sandbox_paths *p);
/* From the settings: sandbox.filesystem.*, and sockets. */
void sandbox_paths_read(struct sandbox *s, const struct conf *conf, struct strv *ret_warnings);
/* All paths for a job that starts now. */
void sandbox_paths_gather(struct sandbox *s, const char *temp, struct sandbox_paths *ret);
void sandbox_add_if_there(struct strv *to, const char *dir, const char *name);
/* Whether jobs might write it, by any interpretation of the rules. */
bool sandbox_is_written(const struct strv *write, const char *path);
/* Folders whose .claude and .tenax apply to sessions: the working directories, and those above that
 * jobs may write, up to the one with the local settings. ret_write: the rules that allow writing
 * there. */
void sandbox_settings_dirs(struct sandbox *s, struct strv *ret, struct strv *ret_write);
/* How jobs see a path, by confine.h: the deepest rule wins. */
enum path_is {
    PATH_READABLE, /* but not writable */
    PATH_WRITABLE,
    PATH_HIDDEN,
};
enum path_is sandbox_path_is(const struct sandbox_paths *p, const char *path);
/* Whether a rule prevents writing it, and no deeper one allows it again. */
bool sandbox_path_is_closed(const struct sandbox_paths *p, const char *path);

/* Finds the files that deny rules Edit(…) match now. False if not everything was found. */
bool sandbox_unedited_find(struct sandbox *s, const struct strv *dirs, struct strv *ret);

/* Whether a path is read-only because it determines what programs run; with `goes`, also if
 * something below it is. What settings and rules close does not count. */
bool sandbox_paths_keep(const struct sandbox *s, const struct sandbox_paths *p, const char *path,
                        bool goes);

/* Files in the home directory that are executed automatically, if it is a working directory;
 * NULL-terminated. */
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
/* Moves aside files that jobs of killed sessions have created, and reports them. */
void sandbox_absent_settle(const struct sandbox *s, struct strv *ret);
void sandbox_note_release(struct sandbox *s);

/* sandbox_git.c */
/* Adds the repository of a folder. rules: all others, with resolved links of deny rules; what they
 * close stays closed. */
void sandbox_add_repository(struct sandbox *s, const struct sandbox_paths *rules,
                            struct sandbox_paths *p, const char *folder);
/* Adds a repository below a working directory: opens nothing, but makes read-only what causes git
 * to run programs. */
void sandbox_keep_repository(struct sandbox *s, const struct sandbox_paths *rules,
                             struct sandbox_paths *p, const char *checkout);
/* Removes files that a job has created but must not exist. */
void sandbox_sweep(struct sandbox *s);

/* sandbox_nested.c */
/* The checkouts below folders, at the time of the first job there. */
void sandbox_nested_find(struct sandbox *s, const struct strv *dirs, struct strv *ret);

/* sandbox_folder.c */
/* Called before each job: creates missing folders and locks all. ERR_BUSY if another process does
 * not release one. */
int sandbox_folders_hold(struct sandbox *s, struct err *err);
/* Called at the end: removes the created ones, unless another session uses them or they are not
 * empty. */
void sandbox_folders_release(struct sandbox *s);
