/*
 * The sandbox: where commands of a session run, and what they may touch there.
 *
 * The settings (sandbox.*) define the policy, proc/confine.h has it enforced by the kernel, and
 * this code connects them: which commands are confined, to which folders, which part of the network
 * remains, and the message for a command that was stopped. It confines in every mode; but in
 * bypassPermissions only when the settings ask for it (sandbox_in_force()). The permit decides
 * whether a confined command asks first (permit.h).
 *
 * Inside, a command writes in the working folders, in the repository they belong to and in a
 * temporary folder of the session ($TMPDIR), and nowhere else. Even there it cannot write files
 * that decide which programs run: .git/hooks and .git/config, .claude and .tenax, the homes of
 * tenax and Claude. It cannot read keys, tokens, the profiles of browsers, our settings and the
 * conversations of other projects. Deny rules apply to it, too: Read(…) hides, Edit(…) closes. It
 * has no network except the hosts that the settings allow, through a proxy of ours (net/proxy.h).
 *
 * One sandbox serves one session. All functions: any thread; a NULL sandbox is one that is off.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/str.h"

struct buf;
struct conf;
struct confinement;
struct err;
struct json;
struct jw;
struct permit;
struct sandbox;
struct sandbox_job;
struct strv;
struct thread;
struct workspace;

enum sandbox_state {
    SANDBOX_OFF,     /* the settings want none */
    SANDBOX_ON,      /* commands are confined */
    SANDBOX_MISSING, /* nothing here can confine; commands run without, so they ask */
    SANDBOX_NEEDED,  /* the same, but the settings insist: no command runs */
};

struct sandbox_spec {
    const struct conf *conf;     /* lent for sandbox_new() alone */
    struct workspace *workspace; /* counted */
    /* Proxies between this machine and the network; NULL or "": none. */
    const char *upstream, *upstream_plain, *no_proxy;
    /* The folder that sessions of this project are recorded in; NULL: it is not shown to commands.
     */
    const char *record;
    bool insists; /* whatever sandbox.enabled says */
    /* A file that remembers whether anything here could confine, for sandbox_describe() alone;
     * NULL: it is tried. */
    const char *memory;
};

/* Testing whether commands can be confined here takes some milliseconds. This starts the test, on a
 * thread to be joined, so that later callers need not wait that long. NULL: the settings want no
 * sandbox, or there is no thread; it is then tested when needed. */
struct thread *sandbox_look_ahead(const struct conf *conf);

/* Settings that make no sense are left out and said in warnings. */
struct sandbox *sandbox_new(const struct sandbox_spec *spec, struct strv *ret_warnings);
/* Whose deny rules Read(…) hide files from commands; lent, permit_set_sandbox() calls it. */
void sandbox_set_permit(struct sandbox *s, struct permit *p);
/* Removes its temporary folder. NULL is fine. */
void sandbox_free(struct sandbox *s);

enum sandbox_state sandbox_state(const struct sandbox *s);
/* The sandbox where the permit's mode has one, else NULL: bypassPermissions lifts one that the
 * settings have not asked for; one that they have asked for holds in every mode. */
struct sandbox *sandbox_in_force(struct sandbox *s, struct permit *p);
/* sandbox.failIfUnavailable: ERR_UNSUPPORTED where nothing can confine, before a session begins. */
int sandbox_check(const struct conf *conf, struct err *err);
/* Why there is none, for the user; empty when it is on, or off. */
const char *sandbox_why_not(const struct sandbox *s);
/* Whether commands inside reach any host, or each other. */
bool sandbox_has_network(const struct sandbox *s);
/* sandbox.autoAllowBashIfSandboxed: confined commands need no question in any mode. */
bool sandbox_frees_commands(const struct sandbox *s);

/* Where a command would run when the mode does not lift the sandbox. */
enum sandbox_side {
    SIDE_OUTSIDE, /* no sandbox, or one of excludedCommands */
    SIDE_INSIDE,
    SIDE_LEAVES,  /* it wants to leave: the user has to be asked */
    SIDE_KEPT_IN, /* the same, but no command may leave (allowUnsandboxedCommands) */
};
/* args: of a call of Bash; NULL: a command of tenax itself. */
enum sandbox_side sandbox_side(const struct sandbox *s, struct str command,
                               const struct json *args);

/* The environment of a program that tenax itself runs outside (outside.h). */
void sandbox_outside_environ(const struct sandbox *s, char *const *given, struct strv *ret);

/* What the settings say about a host ("example.com:443"). */
enum sandbox_host {
    SANDBOX_HOST_UNKNOWN,
    SANDBOX_HOST_ALLOWED,
    SANDBOX_HOST_DENIED,
};
enum sandbox_host sandbox_host(const struct sandbox *s, struct str host);

/* Whether no command may write a path, because it decides which programs run: hooks of a repository
 * wherever its settings have them, say. Reads folders and files: some tenths of a millisecond. */
bool sandbox_keeps(struct sandbox *s, const char *path);

/* The text about it for the model; empty unless it is on. */
void sandbox_describe(struct sandbox *s, struct buf *ret);
/* For `tenax sandbox`: {"state","backend","write":[…],"read_only":[…],"hidden":[…],…}. */
void sandbox_write(struct sandbox *s, struct jw *w);

/* ---- one job ---- */

/* The confinement of one job that begins now: folders as they are at this moment. ERR_UNSUPPORTED
 * when the settings insist and there is none, ERR_IO. *ret is NULL when nothing confines; all that
 * follows takes a NULL job. */
int sandbox_enter(struct sandbox *s, struct sandbox_job **ret, struct err *err);
const struct confinement *sandbox_job_confine(const struct sandbox_job *j);
/* The environment inside: the given one with TMPDIR, caches and proxies over it. */
void sandbox_job_environ(const struct sandbox_job *j, char *const *given, struct strv *ret);
/* It runs, or never will: what only the job needs is closed here. */
void sandbox_job_started(struct sandbox_job *j);
/* A command has ended in dir with this output: appends what the sandbox had to do with it, a line
 * each ("blocked by the sandbox: write to /etc/x"), and what can be done. Nothing when it had
 * nothing to do with it. Of one that has not failed only lines that end with an error are taken for
 * its own: others may be what it was to show. */
void sandbox_job_explain(struct sandbox_job *j, const char *dir, struct str output, bool has_failed,
                         struct buf *ret);
void sandbox_job_free(struct sandbox_job *j);
void sandbox_job_freep(struct sandbox_job **j); /* for CLEANUP() */
