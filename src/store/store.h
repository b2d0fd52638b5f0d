/*
 * State that tenax keeps between runs, besides transcripts: an index of sessions, trusted folders,
 * typed prompts, goals (goals.h). Stored in $TENAX_HOME/state.db.
 *
 * One function per purpose; no SQL or row number is visible outside store_*.c. Times are wall-clock
 * milliseconds given by the caller. Each call is one short transaction, done completely or not at
 * all. Many processes may use one home; a caller that finds the store busy retries, and fails after
 * STORE_PATIENCE_MS with ERR_RETRY_LATER, which users normally never see. A cancel (NULL = none)
 * ends the wait with ERR_CANCELLED.
 *
 * The index is a cache made from the transcripts (index.h); losing the store loses trust, prompts
 * and goal usage, but never a session. So a damaged file is moved aside and created again. A file
 * that cannot be written, or that a newer tenax wrote, is left alone, and this process works in
 * memory. Both cause a warning. Safe from any thread.
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
#define STORE_MAX_TEXT ((size_t)4096) /* of a field of the index; longer ones are truncated */
#define STORE_MAX_PROMPT ((size_t)256 << 10)   /* longer ones are rejected: ERR_TOO_BIG */
#define STORE_MAX_PROMPTS ((size_t)100 * 1000) /* upper limit for the setting */

/* backend: "sqlite", or "memory" (nothing is saved). home: $TENAX_HOME, created if missing.
 * ERR_UNSUPPORTED: the library is missing or the backend unknown. */
int store_open(const char *backend, const char *home, struct cancel *cancel, struct store **ret,
               struct err *err);
/* The process's only connection to the database of a home: opened by the first caller, closed when
 * the last one frees it. */
int store_shared(const char *home, struct cancel *cancel, struct store **ret, struct err *err);
struct store *store_ref(struct store *s); /* another use of a shared one, freed like the first */
void store_free(struct store *s);
void store_freep(struct store **s);

/* SQLite's version for diagnostics: "3.40.1". ERR_UNSUPPORTED: the message says what to install. */
int store_library(struct str *ret, struct err *err);

/* Moves the warnings since the last call to ret; each is for the user, once. */
void store_warnings(struct store *s, struct strv *ret);

/* Returns when all changes so far are on disk and survive a power failure. */
void store_sync(struct store *s);

/* ---- The index of sessions ---- */

struct store_session {
    struct str project; /* the folder's name under projects/ */
    struct str id;
    struct str title;    /* set by the user */
    struct str ai_title; /* made by a model */
    struct str cwd;
    struct str branch;
    struct str first_prompt;
    int64_t created_ms, last_ms; /* of the messages; 0 = none */
    int64_t messages;
    double cost_usd; /* negative = unknown */
    /* The file that the row was made from. */
    int64_t size, mtime_ns, inode;
    int64_t counted; /* bytes whose messages are counted; ends at a line end */
};

typedef VEC(struct store_session) store_session_vec;

/* All sessions of a project (empty = all), sorted by project and id; texts are in the arena. */
int store_sessions(struct store *s, struct str project, struct arena *arena, store_session_vec *ret,
                   struct cancel *cancel, struct err *err);

/* Stores new and changed rows, and deletes rows (given by project and id). */
int store_sessions_update(struct store *s, const store_session_vec *put,
                          const store_session_vec *forget, struct cancel *cancel, struct err *err);

/* ---- Trusted folders ---- */

struct store_trust {
    struct str dir; /* absolute, links resolved by the caller */
    bool trusted;   /* false: the user declined */
    int64_t time_ms;
};

typedef VEC(struct store_trust) store_trust_vec;

/* Returns 1 and the answer for exactly this folder, 0 if the user was never asked, or -1. */
int store_trust_get(struct store *s, struct str dir, bool *ret_trusted, struct cancel *cancel,
                    struct err *err);
int store_trust_set(struct store *s, const struct store_trust *t, struct cancel *cancel,
                    struct err *err);
/* 1: removed, 0: there was none. */
int store_trust_remove(struct store *s, struct str dir, struct cancel *cancel, struct err *err);
int store_trust_list(struct store *s, struct arena *arena, store_trust_vec *ret,
                     struct cancel *cancel, struct err *err); /* by folder */

/* Entries of a folder's settings that the user has approved, by digest. store_trust_remove()
 * removes them, too. */
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

/* Does nothing if it repeats the project's last one. Keeps only the newest `keep` of the project.
 */
int store_prompt_add(struct store *s, const struct store_prompt *p, size_t keep,
                     struct cancel *cancel, struct err *err);
/* Newest first, at most `max`; of all projects if project is empty. */
int store_prompts(struct store *s, struct str project, size_t max, struct arena *arena,
                  store_prompt_vec *ret, struct cancel *cancel, struct err *err);

/* ---- Changes ---- */

enum store_key {
    STORE_NOTHING,
    STORE_SESSIONS,
    STORE_TRUST,
    STORE_PROMPTS,
    STORE_GOALS, /* rows, ledger and queue */
};

typedef void (*store_watch_fn)(void *arg, enum store_key key);

/* fn is called after each change made by this process, on the thread that made it; it must neither
 * block nor use the store. After store_unwatch() it is not running and will not be called again. */
struct store_watch;
struct store_watch *store_watch(struct store *s, enum store_key key, store_watch_fn fn, void *arg);
void store_unwatch(struct store *s, struct store_watch *w);
