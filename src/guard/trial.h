/*
 * A trial: a command run so that it changes nothing, to see what it would change.
 *
 * It runs in the sandbox (sandbox.h) with an overlay over every folder that it could write, and
 * what it writes goes to private layers. It has no network, no unix sockets and no other processes;
 * it reads the working folders, the repository they belong to, system folders and what programs in
 * PATH consist of; secrets stay hidden. The first thing beyond that ends it (proc/confine.h), and
 * trial_wanted() says what it was. Nothing of it is left running.
 *
 * Protected files (protected.h) can be written in a trial, which today's sandbox forbids: they are
 * effects like others, and the question marks them. Files that the settings close (denyWrite) stay
 * closed.
 *
 *     trial_new()  ─▶ trial_enter()  ─▶ the command ─▶ trial_ended() ─▶ trial_look()
 *                        ▲                                                │
 *                        └─────────────── trial_grant() ◀── TRIAL_STOPPED ┤
 *                                         trial_apply() ◀── TRIAL_CHANGED ┘
 *
 * The layers lie in a private folder, on the disk of the workspace where possible, and go with the
 * trial. One thread at a time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

struct buf;
struct cancel;
struct effects;
struct err;
struct sandbox;
struct sandbox_job;
struct strv;
struct trial;

#define TRIAL_MAX_BYTES ((int64_t)1 << 30)
#define TRIAL_MAX_FILES 200000

enum trial_outcome {
    TRIAL_UNCHANGED,
    TRIAL_CHANGED, /* trial_effects() */
    TRIAL_STOPPED, /* trial_wanted() */
    TRIAL_REFUSED, /* the same, but it is a secret: refused without asking */
    TRIAL_OVERRUN, /* its time was up, or it wrote too much: trial_why() */
    TRIAL_UNTRIED, /* it opened a file that it may write, but that no layer covers */
    TRIAL_SENT_AWAY,
};

/* Whether commands of this session can be tried at all; *ret_why, which may be NULL, says why not.
 * The first call finds out, which takes some milliseconds. */
bool trial_works(struct sandbox *s, const char **ret_why);

/* ERR_UNSUPPORTED: not here, and not now (for example, a folder of the workspace is a separate
 * mount). */
int trial_new(struct sandbox *s, struct trial **ret, struct err *err);
void trial_free(struct trial *t); /* NULL is fine */
void trial_freep(struct trial **t);

/* The confinement of the next run, with layers that are empty again. Freed by the caller before
 * trial_look(). */
int trial_enter(struct trial *t, struct sandbox_job **ret, struct err *err);
/* While it runs: it has written more than it may, and is to be ended. Looks seldom. */
bool trial_is_too_large(struct trial *t, int64_t now_ms);
/* dir: where it ended; NULL: where it began. */
void trial_ended(struct trial *t, const char *dir, bool timed_out);
/* While it runs: it is to run in the background, where nothing can be tried. */
void trial_send_away(struct trial *t);

int trial_look(struct trial *t, struct cancel *cancel, enum trial_outcome *ret, struct err *err);
struct effects *trial_effects(struct trial *t);
const char *trial_why(const struct trial *t);
const char *trial_dir(const struct trial *t); /* of trial_ended() */
int trial_apply(struct trial *t, struct err *err);

enum trial_thing {
    TRIAL_FILE,    /* or a folder */
    TRIAL_PROGRAM, /* an executable file */
    TRIAL_SOCKET,  /* a unix socket */
    TRIAL_HOST,    /* "example.com:443", by way of the proxy */
    TRIAL_PRIVATE, /* a host that was granted, but leads to a private address */
    TRIAL_ADDRESS, /* "192.0.2.1:22", "example.com": not so, and only the whole network will do */
};
struct trial_wanted {
    enum trial_thing thing;
    struct str name;
    struct str address; /* TRIAL_PRIVATE: which it is, without the port */
};
/* Of a connection that a proxy has refused (net/proxy.h). False if permission cannot help. */
bool trial_wanted_of_refusal(struct str line, struct trial_wanted *ret);
/* What to add to the list of allowed hosts, so that it is reached: "example.com:443",
 * "10.0.0.7:443". */
void trial_wanted_write_host(const struct trial_wanted *w, struct buf *ret);
struct trial_wanted trial_wanted(const struct trial *t);
/* The next run has it. ERR_UNSUPPORTED: it cannot be given. */
int trial_grant(struct trial *t, struct err *err);

/* Cleans up after trials of killed sessions: removes their files, and reports the changes they were
 * applying, a line each. */
void trial_settle(struct sandbox *s, struct strv *ret);
