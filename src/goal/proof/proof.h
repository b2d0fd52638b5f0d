/*
 * The proof of a complete goal: what it takes to run its checks again, here or elsewhere.
 *
 * When a goal becomes complete, the content of the workspace is kept as a tree in the goal's own
 * repository (origin/tree.h), and proof.json in the goal's folder records the terms, the results of
 * the checks, what they executed, the verdict and the protected files. The ledger has the hash of
 * that file.
 *
 * Verifying checks the recorded tree out, shows it in a clean room at the path of the workspace,
 * and runs the checks there; the workspace itself is never changed. A bundle holds the same as
 * patches for a clone of the repository: applied, they must give the very trees that were
 * recorded. A bundle is input from a stranger; its checks are commands.
 *
 * Any thread, one at a time; waits for git, the disk and the checks.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/sha256.h"
#include "base/str.h"
#include "base/strv.h"
#include "base/vec.h"
#include "goal/check.h"

struct cancel;
struct conf;
struct err;
struct json;
struct room;
struct room_spec;
struct sandbox;

#define PROOF_FILE "proof.json"
#define PROOF_FORMAT 1
#define PROOF_MAX ((size_t)64 << 20)        /* bytes of proof.json */
#define PROOF_MAX_PATCH ((size_t)128 << 20) /* of one patch */

struct proof {
    struct arena arena;
    char *folder;    /* of the goal, or of the unpacked bundle */
    struct buf text; /* proof.json */
    char sha256[SHA256_HEX + 1];
    const struct json *root;
    /* Checked when it is read. */
    struct str goal_id, session, dir, objective;
    int64_t time_ms;
    struct str base_commit, base_tree, final_tree; /* the commit may be empty */
    struct str prefix; /* of the workspace in the work tree of git: "", "lib/core" */
    struct strv checks;
};
#define PROOF_INIT                                                                                 \
    {                                                                                              \
        .arena = ARENA_INIT                                                                        \
    }
void proof_release(struct proof *p);

/* ERR_NOT_FOUND, ERR_PROTOCOL: it is none, or not one of this version. */
int proof_read(struct proof *p, const char *folder, struct err *err);

/* Where checks run. */
struct proof_place {
    const struct conf *conf;
    char *const *environ;
    struct sandbox *sandbox;
    struct cancel *cancel;
};

struct proof_result {
    VEC(struct check_result)
    checks;            /* in the order of proof.checks; one that could not be run ends
                        * the list */
    struct strv wrong; /* differences from the recorded state, a line each */
    const char *where; /* "overlay", "copy" */
};
void proof_result_release(struct proof_result *r);
/* Whether there were checks, all passed, and nothing is wrong. */
bool proof_holds(const struct proof *p, const struct proof_result *r);

/* 0: it was tried, *ret says how it went. -1: it could not be tried (ERR_CANCELLED, ERR_IO, …). */
int proof_verify(const struct proof *p, const struct proof_place *place, struct proof_result *ret,
                 struct err *err);

/* verdicts: lines of JSON. Writes FILE with `tar` and `zstd`, or gzip where there is no zstd, which
 * *ret_path then says. */
int proof_pack(const struct proof *p, struct str verdicts, const struct proof_place *place,
               const char *file, struct buf *ret_path, struct err *err);

/* A bundle, unpacked into a temporary folder, which proof_bundle_close() removes. */
struct proof_bundle {
    char *base;
    struct proof proof;
};
int proof_bundle_open(struct proof_bundle *b, const char *file, const struct proof_place *place,
                      struct err *err);
void proof_bundle_close(struct proof_bundle *b);
/* As the proof says, in a clone of the repository at repo, which is only read. make_sandbox: called
 * with the folder of the clone; it may be NULL: no sandbox. */
int proof_bundle_verify(struct proof_bundle *b, const char *repo, struct proof_place *place,
                        struct sandbox *(*make_sandbox)(void *arg, const char *dir), void *arg,
                        struct proof_result *ret, struct err *err);

/* ladder_room.c: a room for checks with the caches that the settings name. */
int goal_open_room(const struct conf *conf, char *const *environ, struct sandbox *sandbox,
                   struct room_spec *spec, struct cancel *cancel, struct room **ret,
                   struct err *err);
