/*
 * May this call run? Rules, mode and working folders, in the order of the reference.
 *
 *   deny rules → ask rules → mode → allow rules → ask
 *
 * A permit is shared by an agent and its tool threads and may be changed at any time (a mode
 * switch, "always allow"); each question sees one consistent state. It answers from what it knows;
 * hooks and the asking itself are the caller's (agent/call/call.c).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/str.h"
#include "guard/rule.h"

struct buf;
struct conf;
struct err;
struct json;
struct permit;
struct sandbox;
struct strv;
struct workspace;

enum permit_mode {
    MODE_DEFAULT,
    MODE_ACCEPT_EDITS,
    MODE_PLAN,
    MODE_AUTO, /* edits in the working folders and confined commands run unasked */
    MODE_DONT_ASK,
    MODE_BYPASS,
};
const char *permit_mode_name(enum permit_mode m);               /* "acceptEdits" */
bool permit_mode_parse(struct str name, enum permit_mode *ret); /* "manual" counts as default */

enum permit_verdict {
    PERMIT_ALLOW,
    PERMIT_ASK,
    PERMIT_DENY,
};

struct permit_answer {
    enum permit_verdict verdict;
    const char *reason_type; /* as ask.h's */
    char reason[300];        /* for the model and for people: "denied by the rule Bash(rm:*)" */
    bool by_rule;            /* an explicit ask rule: binds also in bypassPermissions */
    /* A command that no rule decides about, and that can run on trial (trial.h): what it does there
     * is then to be decided about. The verdict is for when it cannot. */
    bool has_trial;
    bool unasked;    /* denied only because the mode does not ask: a hook may still allow */
    struct str path; /* the path that is in the way; slices the subject; or empty */
    char rule[200];  /* the rule that decides, and where it stands; empty: none does */
    char source[300];
};

/* Lists and mode of the settings (permissions.*) and options (--allowedTools, --disallowedTools,
 * --permission-mode, --dangerously-skip-permissions, --add-dir) are read here. Rules that make no
 * sense are left out and said in warnings. */
int permit_new(const struct conf *conf, struct workspace *w, struct strv *ret_warnings,
               struct permit **ret, struct err *err);
void permit_free(struct permit *p);
/* The settings have changed: their rules and folders take the place of those read before, in one
 * step. Rules added during the session stay, and so does the mode, unless it is forbidden now. One
 * thread at a time. */
void permit_reload(struct permit *p, const struct conf *conf, struct strv *ret_warnings);
/* The folder that "/x" means in a path of this origin (conf_origin()). Yours to free. */
char *permit_source_dir(const struct conf *conf, struct str origin, const char *home);
/* Where commands run; lent, set once, before sharing. NULL: nothing is confined. From here on what
 * the deny rules keep from being read is hidden there. */
void permit_set_sandbox(struct permit *p, struct sandbox *s);

enum permit_mode permit_mode(struct permit *p);
/* ERR_DENIED when settings forbid it (disableBypassPermissionsMode) or the run was not started with
 * permission for it. on_mode (see below) is called. */
int permit_set_mode(struct permit *p, enum permit_mode mode, struct err *err);
/* Called after every change of mode, on the thread that made it; set once, before sharing. */
void permit_on_mode(struct permit *p, void (*fn)(enum permit_mode mode, void *arg), void *arg);
/* The mode that plan mode was entered from; where ExitPlanMode goes back to. */
enum permit_mode permit_mode_before_plan(struct permit *p);

/* A bare deny takes the tool away from the model altogether. */
bool permit_offers(struct permit *p, struct str tool);

/* Whether any rule denies paths, or has them asked about. */
bool permit_guards_paths(struct permit *p);
/* flags: enum tool_flags of the call. */
void permit_check(struct permit *p, const struct rule_subject *subject, unsigned flags,
                  struct permit_answer *ret);

/* Applies permission updates of an answer: [{"type":"addRules","behavior":"allow","rules":[{
 * "toolName","ruleContent"}],"destination":"session"},{"type":"setMode",…},{"type":
 * "addDirectories",…}]. With the destination userSettings, projectSettings or localSettings they
 * are also saved in tenax's own file of that level; if saving fails they count for the session, and
 * a warning says why. */
int permit_update(struct permit *p, const struct json *updates, struct strv *ret_warnings,
                  struct err *err);
/* Temporary rules: permit_return() removes them. With `only`, calls that match none of those are
 * denied, except tools that need no permission or ask the user; they allow nothing themselves. An
 * invalid rule that allows is left out with a warning; an invalid one that denies or limits is an
 * error, and then none of them counts. */
int permit_lend(struct permit *p, const struct strv *allow, const struct strv *deny,
                const struct strv *only, struct strv *ret_warnings, struct err *err);
void permit_return(struct permit *p);
/* For another agent of the session, which works in w: rules and folders are those of p, as they
 * change, and updates of it are updates of p. Its mode is the session's until another is set, and
 * temporary rules are its alone. p outlives it. */
struct permit *permit_branch(struct permit *p, struct workspace *w, struct sandbox *s);
/* Of a branch, before it is shared: whatever its mode, calls only look, as in plan mode. */
void permit_set_read_only(struct permit *p);
bool permit_is_read_only(const struct permit *p);
/* Another one with the rules and the mode of this moment, for a question "what if". */
struct permit *permit_copy(struct permit *p);
/* What "always allow" would do, as such a JSON array; nothing when there is no suggestion. */
void permit_suggest(struct permit *p, const struct rule_subject *subject, unsigned flags,
                    struct buf *ret);
/* All rules with their list and source, for listings: {"behavior","rule","source"}. */
void permit_write(struct permit *p, struct buf *ret);
