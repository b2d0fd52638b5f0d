/*
 * Decides whether a call may run, by rules, mode and working directories, in the order of the
 * reference.
 *
 *   deny rules → ask rules → mode → allow rules → ask
 *
 * An agent and its tool threads share a permit, which may be changed at any time (a mode switch,
 * "always allow"); each decision uses one consistent state. Hooks and asking the user are the
 * caller's task (agent/call/call.c).
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
    MODE_AUTO, /* edits in the working directories and sandboxed commands run without asking */
    MODE_DONT_ASK,
    MODE_BYPASS,
};
const char *permit_mode_name(enum permit_mode m);               /* "acceptEdits" */
bool permit_mode_parse(struct str name, enum permit_mode *ret); /* "manual" means default */

enum permit_verdict {
    PERMIT_ALLOW,
    PERMIT_ASK,
    PERMIT_DENY,
};

struct permit_answer {
    enum permit_verdict verdict;
    const char *reason_type; /* one of ask.h's */
    char reason[300];        /* for the model and the user: "denied by the rule Bash(rm:*)" */
    bool by_rule;            /* an explicit ask rule, which applies in bypassPermissions, too */
    /* A command that no rule covers and that can run on trial (trial.h): then decide about its
     * effects instead. The verdict is for the case that it cannot. */
    bool has_trial;
    bool unasked;    /* denied only because the mode does not ask: a hook may allow it */
    struct str path; /* the path that is the reason; slices the subject; may be empty */
    char rule[200];  /* the rule that decided, and its source; may be empty */
    char source[300];
};

/* Reads the lists and mode of the settings (permissions.*) and options (--allowedTools,
 * --disallowedTools, --permission-mode, --dangerously-skip-permissions, --add-dir). Invalid rules
 * are skipped with a warning. */
int permit_new(const struct conf *conf, struct workspace *w, struct strv *ret_warnings,
               struct permit **ret, struct err *err);
void permit_free(struct permit *p);
/* The settings have changed: replaces the rules and directories read from them, in one step. Rules
 * added during the session stay, and so does the mode, unless it is forbidden now. One thread at a
 * time. */
void permit_reload(struct permit *p, const struct conf *conf, struct strv *ret_warnings);
/* The folder that "/x" means in a path of this origin (conf_origin()). The caller frees it. */
char *permit_source_dir(const struct conf *conf, struct str origin, const char *home);
/* Sets where commands run; lent, set once before sharing. NULL = unsandboxed. What deny rules
 * protect from reading is hidden there. */
void permit_set_sandbox(struct permit *p, struct sandbox *s);

enum permit_mode permit_mode(struct permit *p);
/* ERR_DENIED if settings forbid the mode (disableBypassPermissionsMode) or the run was not started
 * with permission for it. Calls on_mode (below). */
int permit_set_mode(struct permit *p, enum permit_mode mode, struct err *err);
/* Of a branch: its mode is the session's again. */
void permit_follow_mode(struct permit *p);
/* Sets a function called after every change of mode, on the thread that made it; set once before
 * sharing. */
void permit_on_mode(struct permit *p, void (*fn)(enum permit_mode mode, void *arg), void *arg);
/* The mode before plan mode, to which ExitPlanMode returns. */
enum permit_mode permit_mode_before_plan(struct permit *p);

/* False if a deny rule without specifier removes the tool. */
bool permit_offers(struct permit *p, struct str tool);

/* Whether any deny or ask rule is about paths. */
bool permit_guards_paths(struct permit *p);
/* The hosts that rules WebFetch(domain:…) allow, and those that they deny or want to be asked
 * about, for commands: patterns as in net/host_list.h. only_managed: the rules that allow come from
 * managed settings. */
void permit_hosts(struct permit *p, bool only_managed, struct strv *ret_allow,
                  struct strv *ret_refuse);
/* flags: enum tool_flags of the call. */
void permit_check(struct permit *p, const struct rule_subject *subject, unsigned flags,
                  struct permit_answer *ret);

/* Applies permission updates of an answer: [{"type":"addRules","behavior":"allow","rules":[{
 * "toolName","ruleContent"}],"destination":"session"}, {"type":"setMode",…},{"type":
 * "addDirectories",…}]. With the destination userSettings, projectSettings or localSettings they
 * are also saved in tenax's own file of that level; if saving fails they apply to the session only,
 * with a warning. */
int permit_update(struct permit *p, const struct json *updates, struct strv *ret_warnings,
                  struct err *err);
/* Adds temporary rules; permit_return() removes them. With `only`, calls that match none of those
 * are denied, except tools that need no permission or ask the user; these rules do not allow
 * anything themselves. An invalid allow rule is skipped with a warning; an invalid deny or only
 * rule is an error, and then none is added. */
int permit_lend(struct permit *p, const struct strv *allow, const struct strv *deny,
                const struct strv *only, struct strv *ret_warnings, struct err *err);
void permit_return(struct permit *p);
/* For another agent of the session, which works in w: it uses the current rules and directories of
 * p, and its updates change p. Its mode is the session's until it is set, and temporary rules are
 * its own. p must outlive it. */
struct permit *permit_branch(struct permit *p, struct workspace *w, struct sandbox *s);
/* For a branch, before it is shared: in any mode, calls may only read, as in plan mode. spares: a
 * command in the sandbox may change this path anyway (absolute, without links); NULL = none. */
typedef bool (*permit_spares_fn)(void *arg, const char *path);
void permit_set_read_only(struct permit *p, permit_spares_fn spares, void *arg);
bool permit_is_read_only(const struct permit *p);
/* A copy with the current rules and mode, for hypothetical questions. */
struct permit *permit_copy(struct permit *p);
/* What "always allow" would add, as such a JSON array; appends nothing if there is no suggestion.
 */
void permit_suggest(struct permit *p, const struct rule_subject *subject, unsigned flags,
                    struct buf *ret);
/* All rules with their list and source, for listings: {"behavior","rule","source"}. */
void permit_write(struct permit *p, struct buf *ret);
