/*
 * trial_judge: an effect is judged like an edit of the file, a file that was wanted like a Read, a
 * host like a WebFetch. Any thread.
 */
#include "guard/trial_judge.h"

#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/strv.h"
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

void trial_write_wanted(const struct trial_wanted *w, bool has_run, struct buf *ret)
{
    static const char *const things[] = {"file", "program", "socket", "host", "host", "address"};
    struct jw out;

    buf_clear(ret);
    jw_init(&out, ret, 0);
    jw_object(&out);
    jw_key(&out, "wanted");
    jw_object(&out);
    jw_kcstr(&out, "what", things[w->thing]);
    jw_kstr(&out, "name", w->name);
    if (w->address.len)
        jw_kstr(&out, "address", w->address);
    jw_object_end(&out);
    if (has_run)
        jw_kbool(&out, "ran", true);
    jw_object_end(&out);
}

void trial_say_wanted(const struct trial_wanted *w, struct permit_answer *ret)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(sizeof(ret->reason));
    static const char *const wants[][2] = {
        {"it reads ", ", which is outside the working folders"},
        {"it runs ", ", which is outside the working folders"},
        {"it connects to the socket ", ""},
        {"it connects to ", ""},
        {"it connects to ", ", which leads to the private address "},
        {"it connects to ", ", which takes the whole network"},
    };

    ret->verdict = PERMIT_ASK;
    ret->reason_type = w->thing <= TRIAL_PROGRAM ? "workingDir" : "network";
    if (w->thing <= TRIAL_PROGRAM)
        ret->path = w->name;
    buf_adds(&text, wants[w->thing][0]);
    add_name(&text, str_clip(w->name, 200));
    buf_adds(&text, wants[w->thing][1]);
    buf_add(&text, w->address);
    snprintf(ret->reason, sizeof(ret->reason), "%s", buf_cstr(&text));
}

static struct str without_port(struct str name)
{
    const char *port = name.len ? memrchr(name.ptr, ':', name.len) : NULL;

    return port ? str_first(name, (size_t)(port - name.ptr)) : name;
}

static bool subject_of(const struct trial_wanted *w, struct rule_subject *ret)
{
    switch (w->thing) {
    case TRIAL_FILE:
    case TRIAL_PROGRAM:
        *ret = (struct rule_subject){.tool = STR("Read"), .about = ABOUT_PATH, .text = w->name};
        return true;
    case TRIAL_HOST:
        *ret = (struct rule_subject){
            .tool = STR("WebFetch"), .about = ABOUT_HOST, .text = without_port(w->name)};
        return true;
    case TRIAL_PRIVATE:
        *ret =
            (struct rule_subject){.tool = STR("WebFetch"), .about = ABOUT_HOST, .text = w->address};
        return true;
    default:
        return false;
    }
}

static void deny_host(const struct trial_wanted *w, const char *setting, struct permit_answer *ret)
{
    ret->verdict = PERMIT_DENY;
    ret->reason_type = "network";
    ret->unasked = false;
    snprintf(ret->reason, sizeof(ret->reason), "connection to %.*s is denied by %s",
             STR_ARG(str_clip(w->name, 200)), setting);
}

/* By the settings of the sandbox, too. */
static void judge_host(struct permit *p, const struct sandbox *s, const struct trial_wanted *w,
                       struct permit_answer *ret)
{
    CLEANUP(strv_release) struct strv allow = STRV_INIT;
    CLEANUP(strv_release) struct strv refuse = STRV_INIT;
    bool is_managed = sandbox_hosts_are_managed(s);
    enum sandbox_host host;

    permit_hosts(p, is_managed, &allow, &refuse);
    host = sandbox_host(s, is_managed ? &allow : NULL, w->name);
    /* A private address must be named; a pattern does not do. */
    if (w->thing == TRIAL_PRIVATE && ret->verdict == PERMIT_ALLOW && !strv_has(&allow, w->address))
        ret->verdict = PERMIT_ASK;
    if (host == SANDBOX_HOST_DENIED)
        deny_host(w, "sandbox.network.deniedDomains", ret);
    else if (is_managed && (host != SANDBOX_HOST_ALLOWED || w->thing == TRIAL_PRIVATE))
        deny_host(w, "sandbox.network.allowManagedDomainsOnly", ret);
    else if (host == SANDBOX_HOST_ALLOWED && w->thing == TRIAL_HOST &&
             ret->verdict != PERMIT_DENY && !ret->by_rule)
        ret->verdict = PERMIT_ALLOW;
}

bool trial_judge_wanted(struct permit *p, const struct sandbox *s, const struct trial_wanted *w,
                        struct rule_subject *ret_subject, struct permit_answer *ret)
{
    bool has_rules = subject_of(w, ret_subject);

    *ret = (struct permit_answer){.verdict = PERMIT_ASK};
    if (has_rules)
        permit_check(p, ret_subject, TOOL_READ_ONLY, ret);
    if (w->thing == TRIAL_HOST || w->thing == TRIAL_PRIVATE)
        judge_host(p, s, w, ret);
    else if (w->thing == TRIAL_ADDRESS && sandbox_hosts_are_managed(s))
        deny_host(w, "sandbox.network.allowManagedDomainsOnly", ret);
    return has_rules;
}

/* ---- hosts of commands without a trial ---- */

bool trial_find_refused(struct permit *p, const struct sandbox *s,
                        const struct sandbox_hosts *hosts, struct trial_wanted *ret,
                        struct rule_subject *ret_subject)
{
    for (size_t i = 0; i < hosts->refused.len; i++) {
        CLEANUP(buf_release) struct buf host = BUF_INIT(BUF_NO_LIMIT);
        struct permit_answer answer;

        if (!trial_wanted_of_refusal(str_of(hosts->refused.ptr[i]), ret))
            continue;
        trial_wanted_write_host(ret, &host);
        if (strv_has(&hosts->allow, buf_str(&host)))
            continue;
        trial_judge_wanted(p, s, ret, ret_subject, &answer);
        if (answer.verdict != PERMIT_DENY)
            return true;
    }
    return false;
}

void trial_allow_refused(const struct sandbox *s, struct sandbox_hosts *hosts,
                         const struct trial_wanted *w)
{
    CLEANUP(buf_release) struct buf host = BUF_INIT(BUF_NO_LIMIT);
    CLEANUP(strv_release) struct strv refuse = hosts->refuse;

    trial_wanted_write_host(w, &host);
    strv_add(&hosts->allow, buf_str(&host));
    hosts->refuse = (struct strv)STRV_INIT;
    for (size_t i = 0; i < refuse.len; i++) {
        struct strv one = {.ptr = refuse.ptr + i, .len = 1};

        if (sandbox_host(s, &one, w->name) != SANDBOX_HOST_ALLOWED)
            strv_adds(&hosts->refuse, refuse.ptr[i]);
    }
}
