/*
 * The sandbox: where commands of a session run, and what they may access.
 *
 * The settings (sandbox.*) define the policy, proc/confine.h enforces it with the kernel, and this
 * code connects them: which commands are sandboxed, with which folders and hosts, and the message
 * for a command that was blocked. It applies in every mode, in bypassPermissions only if the
 * settings require it (sandbox_in_force()). The permit decides whether a sandboxed command needs a
 * question (permit.h).
 *
 * In the sandbox a command can write in the working directories, in their repository and in a
 * temporary folder of the session ($TMPDIR), and nowhere else. Even there it cannot write files
 * that determine what programs run: .git/hooks and .git/config, .claude and .tenax, the homes of
 * tenax and Claude. It cannot read keys, tokens, browser profiles, our settings and the
 * conversations of other projects. Deny rules apply, too: Read(…) hides, Edit(…) makes read-only.
 * It has no network except hosts that the settings allow, through our proxy (net/proxy.h).
 *
 * One sandbox serves one session. All functions: any thread; a NULL sandbox is one that is off.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/str.h"
#include "base/strv.h"

struct buf;
struct conf;
struct confinement;
struct err;
struct json;
struct jw;
struct permit;
struct sandbox;
struct sandbox_job;
struct thread;
struct workspace;

enum sandbox_state {
    SANDBOX_OFF,     /* disabled by the settings */
    SANDBOX_ON,      /* commands are sandboxed */
    SANDBOX_MISSING, /* not possible here; commands run without it, so they need permission */
    SANDBOX_NEEDED,  /* the same, but required by the settings: no command runs */
};

struct sandbox_spec {
    const struct conf *conf;     /* used during sandbox_new() only */
    struct workspace *workspace; /* counted */
    /* Proxies of this machine for outgoing connections; NULL or "" = none. */
    const char *upstream, *upstream_plain, *no_proxy;
    /* The folder with the sessions of this project; NULL = commands cannot see it. */
    const char *record;
    bool insists; /* required, whatever sandbox.enabled says */
};

/* Testing whether the sandbox works takes some milliseconds. This starts the test on a thread,
 * which must be joined, so that later callers need not wait that long. NULL if the settings disable
 * the sandbox, or no thread can be started; then it is tested when needed. */
struct thread *sandbox_look_ahead(const struct conf *conf);

/* Invalid settings are ignored with a warning. */
struct sandbox *sandbox_new(const struct sandbox_spec *spec, struct strv *ret_warnings);
/* Sets the permit whose deny rules Read(…) hide files; lent, called by permit_set_sandbox(). */
void sandbox_set_permit(struct sandbox *s, struct permit *p);
/* Removes its temporary folder. NULL is fine. */
void sandbox_free(struct sandbox *s);

enum sandbox_state sandbox_state(const struct sandbox *s);
/* The sandbox if it applies in the permit's mode, else NULL: bypassPermissions lifts it, unless the
 * settings require it. */
struct sandbox *sandbox_in_force(struct sandbox *s, struct permit *p);
/* sandbox.failIfUnavailable: ERR_UNSUPPORTED if the sandbox does not work here. Called before a
 * session begins. */
int sandbox_check(const struct conf *conf, struct err *err);
/* Why it is not available, for the user; empty if it is on or off. */
const char *sandbox_why_not(const struct sandbox *s);
/* Whether sandboxed commands can reach any host, or each other. */
bool sandbox_has_network(const struct sandbox *s);
/* sandbox.autoAllowBashIfSandboxed: sandboxed commands need no permission in any mode. */
bool sandbox_frees_commands(const struct sandbox *s);

/* Where a command would run if the mode does not lift the sandbox. */
enum sandbox_side {
    SIDE_OUTSIDE, /* without a sandbox, or matched by excludedCommands */
    SIDE_INSIDE,
    SIDE_LEAVES,  /* it requests to leave: the user must be asked */
    SIDE_KEPT_IN, /* the same, but no command may leave (allowUnsandboxedCommands) */
};
/* args: of a Bash call; NULL = a command of tenax itself. */
enum sandbox_side sandbox_side(const struct sandbox *s, struct str command,
                               const struct json *args);

/* The environment of a program that tenax itself runs outside of the sandbox (outside.h). */
void sandbox_outside_environ(const struct sandbox *s, char *const *given, struct strv *ret);

/* What the settings say about a host ("example.com:443"). */
enum sandbox_host {
    SANDBOX_HOST_UNKNOWN,
    SANDBOX_HOST_ALLOWED,
    SANDBOX_HOST_DENIED,
};
/* more: patterns of hosts that are allowed, too (host_list.h); or NULL. */
enum sandbox_host sandbox_host(const struct sandbox *s, const struct strv *more, struct str host);
/* sandbox.network.allowManagedDomainsOnly: only managed settings and rules allow hosts. */
bool sandbox_hosts_are_managed(const struct sandbox *s);

/* Whether no command may write a path because it determines what programs run: for example hooks of
 * a repository, wherever its settings have them. Reads folders and files: some tenths of a
 * millisecond. */
bool sandbox_keeps(struct sandbox *s, const char *path);

/* Appends the description for the model; nothing unless it is on. */
void sandbox_describe(struct sandbox *s, struct buf *ret);
/* For `tenax sandbox`: {"state","backend","write":[…],"read_only":[…],"hidden":[…],…}. */
void sandbox_write(struct sandbox *s, struct jw *w);

/* ---- one job ---- */

/* The hosts of one job beside those of the settings: patterns as in host_list.h. */
struct sandbox_hosts {
    struct strv allow, refuse; /* refuse takes precedence */
    bool is_asked;       /* the user can be asked about others: they are refused by name, even where
                            commands have no network */
    struct strv refused; /* after a job: the refused connections (net/proxy.h) */
};
void sandbox_hosts_release(struct sandbox_hosts *h);

/* Makes the sandbox of one job that starts now, with the current state of folders. ERR_UNSUPPORTED
 * if it is required but not available, ERR_IO. *ret is NULL if the job runs without; all functions
 * below accept a NULL job. */
int sandbox_enter(struct sandbox *s, struct sandbox_job **ret, struct err *err);
/* The same for a job that reaches these hosts, too; hosts may be NULL. */
int sandbox_enter_hosts(struct sandbox *s, const struct sandbox_hosts *hosts,
                        struct sandbox_job **ret, struct err *err);
const struct confinement *sandbox_job_confine(const struct sandbox_job *j);
/* The environment in the sandbox: the given one, overridden by TMPDIR, caches and proxies. */
void sandbox_job_environ(const struct sandbox_job *j, char *const *given, struct strv *ret);
/* The job has started, or never will: closes what only the job needs. */
void sandbox_job_started(struct sandbox_job *j);
/* A command has ended in dir with this output: appends one line for each effect of the sandbox on
 * it ("blocked by the sandbox: write to /etc/x"), and advice; nothing if there was none. For a
 * successful command only lines that end with an error message are considered: others may be its
 * regular output. */
void sandbox_job_explain(struct sandbox_job *j, const char *dir, struct str output, bool has_failed,
                         struct buf *ret);
/* Which connections the proxy has refused. */
void sandbox_job_refusals(const struct sandbox_job *j, struct strv *ret);
void sandbox_job_free(struct sandbox_job *j);
void sandbox_job_freep(struct sandbox_job **j); /* for CLEANUP() */
