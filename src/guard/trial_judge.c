/*
 * trial_judge: an effect is judged like an edit of the file, a file that was wanted like a Read, a
 * host like a WebFetch. Any thread.
 */
#include "guard/trial_judge.h"

#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "guard/effects.h"
#include "guard/permit.h"
#include "guard/sandbox.h"
#include "guard/tool_flags.h"
#include "guard/trial.h"
#include "json/jw.h"

/* ---- changes ---- */

struct judged {
    struct permit *permit;
    struct permit_answer *answer; /* the strictest answer so far */
};

static bool is_denied(const struct permit_answer *answer)
{
    return answer->verdict == PERMIT_DENY && !answer->unasked;
}

/* An effects_gone_fn. False stops the loop: the path is denied, and nothing is stricter. */
static bool judge_path(void *arg, const char *path)
{
    const struct judged *j = arg;
    const struct rule_subject edit = {
        .tool = STR("Edit"), .about = ABOUT_PATH, .text = str_of(path), .writes = true};
    struct permit_answer answer;

    permit_check(j->permit, &edit, TOOL_EDITS | TOOL_ON_TRIAL, &answer);
    if (is_denied(&answer) ||
        (answer.verdict != PERMIT_ALLOW && (j->answer->verdict == PERMIT_ALLOW || answer.by_rule ||
                                            strcmp(answer.reason_type, "safetyCheck") == 0)))
        *j->answer = answer;
    return !is_denied(&answer);
}

void trial_judge_effects(struct permit *p, const struct effects *e, struct permit_answer *ret)
{
    struct judged j = {p, ret};
    bool has_rules = permit_guards_paths(p);

    *ret = (struct permit_answer){.verdict = PERMIT_ALLOW, .reason_type = "mode"};
    VEC_EACH(&e->list, one) {
        if (!is_denied(ret) && judge_path(&j, one->path) && (has_rules || one->is_protected))
            effects_each_gone(one, judge_path, &j);
        if (one->is_protected && ret->verdict == PERMIT_ALLOW)
            *ret = (struct permit_answer){.verdict = PERMIT_ASK, .reason_type = "safetyCheck"};
    }
    ret->path = STR("");
}

/* A name may hold line breaks, which would look like the end of the question. */
static void add_name(struct buf *to, struct str name)
{
    for (size_t i = 0; i < name.len; i++)
        buf_addc(to, (unsigned char)name.ptr[i] < ' ' ? '?' : name.ptr[i]);
}

void trial_say_effects(const struct effects *e, struct permit_answer *ret)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(sizeof(ret->reason) - 8);
    bool is_protected = false;
    size_t told = 0;

    buf_adds(&text, "it would ");
    effects_summary(e, &text);
    VEC_EACH(&e->list, one) {
        is_protected = is_protected || one->is_protected;
        if (one->is_told_elsewhere || told == 3)
            continue;
        buf_adds(&text, told++ ? ", " : ": ");
        add_name(&text, str_of(one->path));
    }
    ret->reason_type = is_protected ? "safetyCheck" : "effects";
    snprintf(ret->reason, sizeof(ret->reason), "%.*s%s",
             STR_ARG(str_clip(buf_str(&text), sizeof(ret->reason) - 8)), text.over ? "…" : "");
}

/* ---- access to files and hosts ---- */

void trial_write_wanted(const struct trial_wanted *w, struct buf *ret)
{
    static const char *const things[] = {"file", "program", "socket", "host", "address"};
    struct jw out;

    jw_init(&out, ret, 0);
    jw_object(&out);
    jw_key(&out, "wanted");
    jw_object(&out);
    jw_kcstr(&out, "what", things[w->thing]);
    jw_kstr(&out, "name", w->name);
    jw_object_end(&out);
    jw_object_end(&out);
}

void trial_say_wanted(const struct trial_wanted *w, struct permit_answer *ret)
{
    CLEANUP(buf_release) struct buf name = BUF_INIT(sizeof(ret->reason));
    static const char *const wants[] = {
        "it reads %.*s, which is outside the working folders",
        "it runs %.*s, which is outside the working folders",
        "it connects to the socket %.*s",
        "it connects to %.*s",
        "it connects to %.*s, which takes the whole network",
    };

    ret->verdict = PERMIT_ASK;
    ret->reason_type = w->thing <= TRIAL_PROGRAM ? "workingDir" : "network";
    if (w->thing <= TRIAL_PROGRAM)
        ret->path = w->name;
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    add_name(&name, str_clip(w->name, 200));
    snprintf(ret->reason, sizeof(ret->reason), wants[w->thing], STR_ARG(buf_str(&name)));
#pragma GCC diagnostic pop
}

bool trial_wanted_subject(const struct trial_wanted *w, struct rule_subject *ret)
{
    const char *port;

    switch (w->thing) {
    case TRIAL_FILE:
    case TRIAL_PROGRAM:
        *ret = (struct rule_subject){.tool = STR("Read"), .about = ABOUT_PATH, .text = w->name};
        return true;
    case TRIAL_HOST: /* without the port */
        *ret = (struct rule_subject){.tool = STR("WebFetch"), .about = ABOUT_HOST};
        port = strrchr(w->name.ptr, ':');
        ret->text = port ? str_first(w->name, (size_t)(port - w->name.ptr)) : w->name;
        return true;
    default:
        return false;
    }
}

void trial_judge_wanted(struct permit *p, struct sandbox *sandbox, const struct trial_wanted *w,
                        const struct rule_subject *subject, struct permit_answer *ret)
{
    enum sandbox_host host = SANDBOX_HOST_UNKNOWN;

    permit_check(p, subject, TOOL_READ_ONLY, ret);
    if (w->thing == TRIAL_HOST)
        host = sandbox_host(sandbox, w->name);
    if (host == SANDBOX_HOST_DENIED) {
        ret->verdict = PERMIT_DENY;
        ret->unasked = false;
        snprintf(ret->reason, sizeof(ret->reason),
                 "connection to %.*s is denied by sandbox.network.deniedDomains",
                 STR_ARG(str_clip(w->name, 200)));
    } else if (host == SANDBOX_HOST_ALLOWED && ret->verdict != PERMIT_DENY && !ret->by_rule) {
        ret->verdict = PERMIT_ALLOW;
    }
}
