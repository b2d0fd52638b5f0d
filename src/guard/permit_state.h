/*
 * Private state shared by the files of permit. Do not include it elsewhere.
 *
 * A state never changes once it is in place: a question takes a reference and works on it without a
 * lock, a change makes a new one. Rules are shared by the states that have them.
 */
#pragma once

#include <stdatomic.h>

#include "base/strv.h"
#include "base/vec.h"
#include "guard/permit.h"
#include "sync/thread.h"

#define PERMIT_LENT "command"  /* source of rules that hold for a turn */
#define PERMIT_MAX_RULES 10000 /* of one state, all lists */

struct permit_rule {
    atomic_int refs;
    struct rule *rule;
    enum rule_list list;
    bool is_managed; /* from managed settings */
    bool is_limit;   /* allows nothing: what no such rule matches is denied (permit_lend()) */
    char *source;    /* "session", "cliArg", the settings file it is in, or "localSettings" and such
                        for one just saved there */
};

struct permit_state {
    atomic_int refs;
    enum permit_mode mode;
    enum permit_mode before_plan;
    bool never_bypass;
    bool never_auto;
    bool only_managed; /* rules that allow come from managed settings, and from nowhere else */
    bool no_grants;    /* what the project's settings allow does not count */
    VEC(struct permit_rule *) rules;
};

/* Where an update is to stand. */
enum permit_destination {
    TO_SESSION,
    TO_USER,
    TO_PROJECT,
    TO_LOCAL,
};

struct permit {
    struct permit *of; /* a branch's: whose rules it has; NULL: none */
    struct workspace *workspace;
    struct sandbox *sandbox; /* NULL: none */
    char *home;
    char *files[TO_LOCAL + 1]; /* our own settings of each destination; none for the session */
    bool may_bypass;
    void (*on_mode)(enum permit_mode mode, void *arg);
    void *on_mode_arg;
    struct strv folders;        /* that the settings have added; permit_reload()'s */
    struct lock lock;           /* of what follows; changes are made by copying */
    struct permit_state *state; /* a branch's: what it has beside the other's */
    bool is_read_only;          /* a branch's: calls only look, whatever the mode */
    permit_spares_fn spares;    /* paths that commands may change then; or NULL */
    void *spares_arg;
    bool has_mode; /* a branch's: that of its state counts */
    /* Of a branch: both in one, as long as neither changes; NULL: not made yet. */
    struct permit_state *base, *merged;
};

struct permit_state *permit_state_ref(struct permit *p);
void permit_state_unref(struct permit_state *s);
void permit_state_unrefp(struct permit_state **s);

/* A rule, parsed; without a lock, since it looks at folders. source_dir is the folder it was
 * written in; NULL: where the session started. */
int permit_rule_new(const struct permit *p, struct str text, enum rule_list list,
                    const char *source, const char *source_dir, struct permit_rule **ret,
                    struct err *err);
void permit_rule_unref(struct permit_rule *r);

/* A change: permit_begin() takes the lock and gives a copy to work on, permit_commit() puts it in
 * place, permit_abandon() throws it away. Nothing in between waits or calls out. */
struct permit_state *permit_begin(struct permit *p);
void permit_commit(struct permit *p, struct permit_state *s);
void permit_abandon(struct permit *p, struct permit_state *s);

/* Between begin and commit. Takes the rule over, also when it fails. */
int permit_state_add(struct permit_state *s, struct permit_rule *r, struct err *err);

const char *permit_list_name(enum rule_list list); /* "allow" */
bool permit_list_parse(struct str name, enum rule_list *ret);
