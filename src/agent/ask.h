/*
 * Questions to the user (permission, AskUserQuestion, trust) and their answers.
 *
 * An agent, or one of its tool threads, puts an ask and waits. Every front end shows it; the first
 * answer wins and the ask is withdrawn from the others. Without a front end put() fails at once
 * with ERR_UNSUPPORTED, and the caller applies the rule for headless runs. A cancel withdraws the
 * ask.
 */
#pragma once

#include <stdbool.h>

#include "base/buf.h"
#include "base/identity.h"
#include "base/str.h"

struct cancel;
struct err;
struct json;

enum ask_kind {
    ASK_PERMISSION, /* may this call run? */
    ASK_QUESTION,   /* AskUserQuestion: input holds the questions, the answer's input the answers */
    ASK_TRUST,
    ASK_ELICITATION,
};

struct ask {
    enum ask_kind kind;
    struct identity by; /* who asks; all NULL for a question of tenax itself */
    struct str tool_name;
    struct str tool_use_id;
    struct str input;        /* JSON object, expanded (tool.h) */
    struct str suggestions;  /* JSON array of permission updates, or empty */
    struct str effects;      /* JSON object: what the command would change (guard/effects.h), or
                                "wanted":{"what","name"}: what it tries to reach; may be empty */
    struct str reason;       /* for the user: why permission is needed */
    const char *reason_type; /* "rule", "mode", "workingDir", "safetyCheck", "hook", "effects",
                              * "network", "other" */
    struct str blocked_path; /* or empty */
    bool needs_person;       /* only the user may answer, not a rule */
};

struct ask_answer {
    bool allowed;
    bool interrupt;         /* denied, and the turn is to end */
    struct buf message;     /* the reason, for the model */
    struct buf input;       /* the changed input, a JSON object; empty = unchanged */
    struct buf permissions; /* JSON array of permission updates; empty: none */
};

#define ASK_MAX_ANSWER ((size_t)4 << 20)
#define ASK_ANSWER_INIT                                                                            \
    {                                                                                              \
        .message = BUF_INIT(ASK_MAX_ANSWER), .input = BUF_INIT(ASK_MAX_ANSWER),                    \
        .permissions = BUF_INIT(ASK_MAX_ANSWER)                                                    \
    }
void ask_answer_release(struct ask_answer *a);
/* {"behavior":"allow","updatedInput"?,"updatedPermissions"?} or {"behavior":"deny","message"?,
 * "interrupt"?}. Release *ret on failure, too. */
int ask_answer_read(const struct json *from, struct ask_answer *ret, struct err *err);

/* put() waits for the answer. Errors: ERR_UNSUPPORTED (no front end), ERR_CANCELLED, ERR_DENIED
 * (the front end failed: "Tool permission request failed: …"). Any thread. */
struct asker {
    int (*put)(struct asker *self, const struct ask *ask, struct cancel *cancel,
               struct ask_answer *ret, struct err *err);
    /* Whether a front end can show the ask now. NULL = always. */
    bool (*is_there)(struct asker *self);
};
