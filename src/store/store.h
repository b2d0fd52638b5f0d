/*
 * What tenax remembers between runs, beside the transcripts: an index of sessions, trusted folders,
 * prompts that were typed, goals (goals.h). $TENAX_HOME/state.db.
 *
 * One function per intent; no SQL or row number is visible outside store_*.c. Times are
 * milliseconds of the wall clock, given by the caller. Each call is one short transaction: it all
 * happened or nothing did. Many processes may use one home; a caller that finds the store busy
 * waits and tries again, and after STORE_PATIENCE_MS gives up with ERR_RETRY_LATER, which users
 * normally never see. A cancel (NULL: none) ends the wait with ERR_CANCELLED.
 *
 * The index is a cache, made from the transcripts (index.h); losing the store loses trust, prompts
 * and what goals have used, never a session. So a damaged file is moved aside and begun anew, and
 * one that cannot be written, or that a newer tenax wrote, is left alone and this process works in
 * memory: both are warnings. Safe from any thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"
#include "base/vec.h"

struct arena;
struct cancel;
struct err;
struct store;
struct strv;

#define STORE_PATIENCE_MS 10000
#define STORE_MAX_TEXT ((size_t)4096)          /* of a field of the index; longer ones are cut */
#define STORE_MAX_PROMPT ((size_t)256 << 10)   /* longer ones are not kept: ERR_TOO_BIG */
#define STORE_MAX_PROMPTS ((size_t)100 * 1000) /* whatever the setting says */

/* backend: "sqlite", or "memory" (nothing is kept). home: $TENAX_HOME, made when it is not there.
 * ERR_UNSUPPORTED: the library is missing or the backend unknown. */
int store_open(const char *backend, const char *home, struct cancel *cancel, struct store **ret,
               struct err *err);
/* The one connection that this process has to the database of a home: made for the first caller,
 * closed when the last one has freed it. */
int store_shared(const char *home, struct cancel *cancel, struct store **ret, struct err *err);
void store_free(struct store *s);
void store_freep(struct store **s);

/* "3.40.1": SQLite's version, for diagnostics. ERR_UNSUPPORTED: the text says what to install. */
int store_library(struct str *ret, struct err *err);

/* For the user, each once: gives away what came up since the last call. */
void store_warnings(struct store *s, struct strv *ret);

/* All changes so far are on the disk when this returns, and survive a power cut. */
void store_sync(struct store *s);

/* ---- The index of sessions ---- */

struct store_session {
    struct str project; /* the folder's name under projects/ */
    struct str id;
    struct str title;    /* the user's */
    struct str ai_title; /* a model's */
    struct str cwd;
    struct str branch;
    struct str first_prompt;
    int64_t created_ms, last_ms; /* of the messages; 0: there is none */
    int64_t messages;
    double cost_usd; /* negative: not known */
    /* The file that the row was made from. */
    int64_t size, mtime_ns, inode;
    int64_t counted; /* bytes whose messages are counted: ends with a whole line */
};

typedef VEC(struct store_session) store_session_vec;

/* All of a project, or of all projects when it is empty. By project and id; texts are in
 * the arena. */
int store_sessions(struct store *s, struct str project, struct arena *arena, store_session_vec *ret,
                   struct cancel *cancel, struct err *err);

/* Rows that are new or have changed, and rows (project and id) to forget. */
int store_sessions_update(struct store *s, const store_session_vec *put,
                          const store_session_vec *forget, struct cancel *cancel, struct err *err);

/* ---- Trusted folders ---- */

struct store_trust {
    struct str dir; /* absolute, links resolved: the caller's care */
    bool trusted;   /* false: the user declined */
    int64_t time_ms;
};

typedef VEC(struct store_trust) store_trust_vec;

/* 1 and the answer for exactly this folder, 0: not asked yet, -1. */
int store_trust_get(struct store *s, struct str dir, bool *ret_trusted, struct cancel *cancel,
                    struct err *err);
int store_trust_set(struct store *s, const struct store_trust *t, struct cancel *cancel,
                    struct err *err);
/* 1: it was there, 0: it was not. */
int store_trust_remove(struct store *s, struct str dir, struct cancel *cancel, struct err *err);
int store_trust_list(struct store *s, struct arena *arena, store_trust_vec *ret,
                     struct cancel *cancel, struct err *err); /* by folder */

/* Entries of a folder's settings that the user has approved, by digest. They go with the folder's
 * answer (store_trust_remove()). */
int store_trust_approve(struct store *s, struct str dir, const struct strv *digests,
                        int64_t time_ms, struct cancel *cancel, struct err *err);
int store_trust_approved(struct store *s, struct str dir, struct strv *ret, struct cancel *cancel,
                         struct err *err);

/* ---- Prompts that were typed ---- */

struct store_prompt {
    struct str project;
    struct str text;
    int64_t time_ms;
};

typedef VEC(struct store_prompt) store_prompt_vec;

/* Not when it repeats the project's last one. Only the newest `keep` of the project stay. */
int store_prompt_add(struct store *s, const struct store_prompt *p, size_t keep,
                     struct cancel *cancel, struct err *err);
/* Newest first, at most `max`; of all projects when project is empty. */
int store_prompts(struct store *s, struct str project, size_t max, struct arena *arena,
                  store_prompt_vec *ret, struct cancel *cancel, struct err *err);

/* ---- Changes ---- */

enum store_key {
    STORE_NOTHING,
    STORE_SESSIONS,
    STORE_TRUST,
    STORE_PROMPTS,
    STORE_GOALS, /* rows, ledger, queue */
};

typedef void (*store_watch_fn)(void *arg, enum store_key key);

/* fn is called after each change that this process makes, on the thread that made it; it must
 * neither block nor call the store. After store_unwatch() it is not running and never will. */
struct store_watch;
struct store_watch *store_watch(struct store *s, enum store_key key, store_watch_fn fn, void *arg);
void store_unwatch(struct store *s, struct store_watch *w);
