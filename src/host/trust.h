/*
 * The folders that the user trusts: their settings may name programs to run, places to send a key
 * to, and permissions to give.
 *
 * The answer for the nearest folder counts, the folder itself first and then those above it: trust
 * in a project covers its subfolders. A home folder and "/" count only for themselves, so that a
 * single approval there does not cover every clone below. Answers are rows of the store; those
 * given to Claude Code (~/.claude.json) count where tenax has none, unless claudeCompat is off. Any
 * thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/str.h"

struct asker;
struct cancel;
struct conf;
struct err;
struct store;

enum trust {
    TRUST_UNKNOWN, /* not asked yet */
    TRUST_YES,
    TRUST_NO,
};

struct trust_answer {
    enum trust trust;
    struct buf dir;  /* the folder that was asked about */
    bool is_claudes; /* found in ~/.claude.json */
};
#define TRUST_ANSWER_INIT                                                                          \
    {                                                                                              \
        .dir = BUF_INIT(64 << 10)                                                                  \
    }
void trust_answer_release(struct trust_answer *a);

/* dir: absolute, links resolved. A store that is not there yet is not made. */
int trust_look(const struct conf *conf, const char *dir, struct cancel *cancel,
               struct trust_answer *ret, struct err *err);

/* TRUST_YES approves all entries that conf_unapproved() has, when dir is the folder of conf.
 * TRUST_UNKNOWN forgets the answer: 1 when there was one, 0: there was none. */
int trust_set(const struct conf *conf, const char *dir, enum trust trust, struct cancel *cancel,
              struct err *err);

/* Entries of this folder's settings that decide where a key goes (conf_unapproved()) count where
 * the user has approved them; nothing is opened when there are none. 1: some do now. */
int trust_approve(struct conf *conf, struct cancel *cancel, struct err *err);

/* An agent has a shell, where it could approve what it has written itself: -1 in a command that a
 * session runs. what: "trust a folder". */
int trust_refuse_agents(const struct conf *conf, const char *what, struct err *err);

/* Whether a warning of the settings says what an untrusted folder's lack. */
bool trust_is_why(struct str warning);

/* Asks the user about the folder of the settings and keeps the answer: 1 trusted, 0 not. The input
 * of the ask (ASK_TRUST), {"directory", "leftOut": [lines]}, lists the settings concerned, and with
 * `again` that they have declined before. ERR_UNSUPPORTED: no user to ask. */
int trust_ask(const struct conf *conf, bool again, struct asker *asker, struct cancel *cancel,
              struct err *err);
