/*
 * The judge: a model that is shown evidence and asked whether the goal is met.
 *
 * It never sees the conversation. A case is made anew for each verdict, with a ceiling on its size
 * (JUDGE_MAX_TOKENS) whatever the session's length: the condition, results of checks, the diff
 * since the goal was set, what the agent says it did (marked as a claim), recent tool results as
 * numbered evidence (marked as printed by what the agent ran). Everything that comes from files,
 * tools or the agent is an exhibit (exhibit.h) and said to be material, not instruction.
 * It may look at the real state with Read, Grep and Glob for up to JUDGE_MAX_STEPS calls of the
 * model.
 *
 * Its verdict is a call of a tool (JUDGE_TOOL). It fails closed: a reply that is not plainly a
 * verdict is none. Any thread; waits.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/tool.h"
#include "base/buf.h"
#include "base/str.h"
#include "base/vec.h"
#include "llm/event.h"

struct cancel;
struct check_result;
struct conf;
struct err;
struct message;
struct net;
struct permit;
struct provider;
struct retry_policy;
struct spending;
struct toolbox;
struct workspace;

/* Limit for everything it reads except our own instructions: the case (at most three quarters) and
 * what its tools return. Four bytes count as one token. The least is 2048; at most half of a small
 * window is used. */
#define JUDGE_MAX_TOKENS 32000
#define JUDGE_MAX_STEPS 8
#define JUDGE_TIMEOUT_MS ((int64_t)10 * 60 * 1000) /* of a verdict, looks and retries included */
#define JUDGE_MAX_REASON ((size_t)8 << 10)
#define JUDGE_MAX_CRITERIA 50

struct judge_item {
    struct str tool;   /* "Bash" */
    struct str input;  /* JSON */
    struct str result; /* text, perhaps cut already */
    bool is_error;
    struct str note; /* the parts of the input that matter; empty: all of it */
    int64_t times;   /* the same call was made; 0 counts as 1 */
};

/* Calls that are not shown, by tool. */
struct judge_left_out {
    struct str tool;
    size_t count;
};

/* A file that differs from when the goal was set. */
struct judge_change {
    struct str path;
    struct str how; /* "changed", "new", "gone", "mode", "type" */
    struct str why; /* its group: "the check reads it", "protected", "configuration", "git state",
                     * "ignored by git", "submodule", "tracked" */
};

struct judge_case {
    struct str objective;     /* the whole text, also of one kept as a file */
    struct str objections;    /* what tenax noticed and the judge must settle; may be empty */
    struct str part_of_check; /* files that the check runs or names and the agent may change, one a
                               * line; may be empty */
    const struct judge_change *changes; /* in any order */
    size_t change_count;
    size_t changes_left_out; /* that are not in the list */
    const struct check_result *checks;
    size_t check_count;
    struct str diff_stat, diff_hunks; /* empty: not in git, or nothing */
    bool has_baseline;
    struct str diff_error;          /* why no diff could be made; empty: it was, or there is none */
    struct str claim;               /* the agent's last message, or the reason of its claim */
    const struct judge_item *items; /* oldest first */
    size_t item_count;
    const struct judge_item *touched; /* calls that may have bent what the goal is judged by, of the
                                       * whole goal, oldest first */
    size_t touched_count;
    size_t touched_left_out;
    const struct judge_left_out *left_out; /* other calls that are not shown */
    size_t left_out_count;
    struct str services;    /* processes that still run, for the evidence; may be empty */
    struct str last_reason; /* of the verdict before; may be empty */
    struct str criteria; /* JSON array of the verdict before: the same names again; may be empty */
};

struct judge_spec {
    const struct conf *conf;
    struct net *net;
    struct provider *provider;     /* used by the judge only: keys are renewed in it */
    const struct toolbox *toolbox; /* the tools it may use */
    struct spending *spending;     /* where it is paid, failures and retries too; NULL: nowhere */
    struct workspace *workspace;   /* its own: files it reads do not count as seen by the agent */
    struct permit *permit;         /* the user's rules bind it too; NULL: there are none */
    int64_t max_tokens;            /* 0: JUDGE_MAX_TOKENS */
    const struct retry_policy *retry;             /* NULL: the default */
    void (*progress)(void *arg, struct str text); /* for display; NULL: none */
    void *progress_arg;
};

struct judge_verdict {
    bool ok;
    bool impossible;
    struct buf reason;
    struct buf criteria; /* JSON array of {"text","state"}; may be empty */
    int steps;
    bool is_unread;   /* on failure: it answered twice, and neither was a verdict */
    int64_t asked_ms; /* on failure: how long the judge's server asked to wait; <= 0: it did not */
};
#define JUDGE_VERDICT_INIT                                                                         \
    {                                                                                              \
        .reason = BUF_INIT(JUDGE_MAX_REASON), .criteria = BUF_INIT(64 << 10)                       \
    }
void judge_verdict_release(struct judge_verdict *v);

extern const char judge_md[]; /* how to judge: judge.md */

/* ERR_PROTOCOL: it answered twice, and neither was a verdict; ERR_CANCELLED; ERR_QUOTA; else why
 * the model could not be asked (llm_call.h). */
int judge_ask(const struct judge_spec *spec, const struct judge_case *c, struct cancel *cancel,
              struct judge_verdict *ret, struct err *err);

/* The first message, as the model gets it, in at most max_tokens (0: JUDGE_MAX_TOKENS); for tests
 * and for display. */
void judge_case_write(const struct judge_case *c, int64_t max_tokens, struct buf *ret);
/* The tool that the judge gives its verdict with. */
#define JUDGE_TOOL "verdict"
extern const char judge_verdict_schema[];

/* The verdict of a reply (stop: STOP_NONE = not clear): one call of JUDGE_TOOL, alone among its
 * calls, or a text that is the same object (one fence around it is allowed) and nothing else.
 * ERR_PROTOCOL: it is not a verdict, with the reason; a reply that was cut, refused or paused never
 * is. ERR_CONTEXT_FULL. */
int judge_read(const struct message *reply, enum llm_stop stop, struct judge_verdict *ret,
               struct err *err);
/* The reply is complete and asks for other tools only. */
bool judge_reply_looks(const struct message *reply, enum llm_stop stop);
/* The text form alone. */
int judge_read_text(struct str answer, struct judge_verdict *ret, struct err *err);
