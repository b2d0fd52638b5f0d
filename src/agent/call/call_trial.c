/*
 * Trial runs (guard/trial.h): a command that no rule covers runs on trial, and permission is
 * decided for what it would change or reach (guard/trial_judge.h) instead of for its text. Start
 * with call_try(). Runs on the call's own thread.
 */
#include <stdio.h>
#include <string.h>

#include "agent/agent_state.h"
#include "agent/ask.h"
#include "agent/call/call.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"
#include "guard/effects.h"
#include "guard/permit.h"
#include "guard/sandbox.h"
#include "guard/trial.h"
#include "guard/trial_judge.h"
#include "guard/workspace.h"
#include "json/json.h"
#include "json/jw.h"
#include "sync/cancel.h"

/* Discards the result of the previous trial run. */
static void begin_again(struct call *c)
{
    tool_result_release(&c->result);
    c->result = (struct tool_result)TOOL_RESULT_INIT;
    buf_clear(&c->effects);
}

static int run_on_trial(struct call *c, struct trial *t, struct err *err)
{
    struct tool_call tool_call = call_for_tool(c);
    int64_t start_ms = clock_mono_ms();

    begin_again(c);
    tool_call.trial = t;
    if (c->entry->run(&tool_call, &c->result, err) < 0)
        return -1;
    c->run_ms = clock_mono_ms() - start_ms;
    return 0;
}

/* Moves to the command's working directory, which exists only now that the changes were applied. */
static void settle_folder(struct call *c, const struct trial *t)
{
    struct workspace *w = c->agent->spec.workspace;
    CLEANUP(mem_freep) char *now = workspace_cwd(w);
    const char *dir = trial_dir(t);

    if (!dir || strcmp(dir, now) == 0)
        return;
    if (file_is_dir(dir) && workspace_contains(w, dir))
        workspace_set_cwd(w, dir);
    else
        buf_addf(&c->result.text, "%sThe working directory is still %s.\n",
                 c->result.text.len && !str_ends(buf_str(&c->result.text), STR("\n")) ? "\n" : "",
                 now);
}

static enum call_tried stands(struct call *c, const struct trial *t)
{
    settle_folder(c, t);
    c->ran = true;
    return CALL_TRIED;
}

static enum call_tried refuse(struct call *c, const struct permit_answer *answer)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(2 * sizeof(answer->reason));

    if (answer->unasked)
        buf_addf(&text, "No rule allows this command, and the mode dontAsk never asks: %s.",
                 answer->reason);
    else
        buf_adds(&text, answer->reason);
    call_deny(c, buf_str(&text));
    call_tell_denied(c, answer);
    return CALL_REFUSED;
}

/* ---- changes ---- */

static enum call_tried apply(struct call *c, struct trial *t)
{
    struct err err = {0};

    if (trial_apply(t, &err) < 0) {
        call_fail(
            c,
            "The command ran, but what it changed could not be applied: %s. Look at the files "
            "and run it again.",
            err.text);
        c->ran = true;
        return CALL_TRIED;
    }
    return stands(c, t);
}

/* Plan mode: the command has run, but its changes are discarded. */
static enum call_tried throw_away(struct call *c, const struct effects *e)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(1000);

    effects_summary(e, &text);
    if (c->result.text.len && !str_ends(buf_str(&c->result.text), STR("\n")))
        buf_addc(&c->result.text, '\n');
    buf_addf(&c->result.text,
             "Plan mode changes nothing: what this command did (%s) was thrown away.\n",
             buf_cstr(&text));
    c->ran = true;
    return CALL_TRIED;
}

static enum call_tried decide_changes(struct call *c, const struct rule_subject *subject,
                                      struct trial *t)
{
    CLEANUP(buf_release) struct buf input = BUF_INIT(TOOL_MAX_TEXT);
    const struct effects *e = trial_effects(t);
    struct permit_answer answer;

    if (permit_mode(c->agent->spec.permit) == MODE_PLAN)
        return throw_away(c, e);
    effects_write(e, &c->effects);
    trial_judge_effects(c->agent->spec.permit, e, &answer);
    if (answer.verdict == PERMIT_ALLOW) {
        c->decided_by = answer.reason_type;
        return apply(c, t);
    }
    if (answer.verdict == PERMIT_DENY) {
        if (answer.unasked)
            trial_say_effects(e, &answer);
        return refuse(c, &answer);
    }
    answer.verdict = PERMIT_ASK;
    trial_say_effects(e, &answer);
    buf_add(&input, buf_str(&c->expanded));
    if (call_ask(c, subject, &answer) < 0)
        return CALL_REFUSED;
    /* If the user allowed a different command, its effects are not known yet. */
    if (!str_eq(buf_str(&input), buf_str(&c->expanded))) {
        begin_again(c);
        return CALL_ALLOWED;
    }
    return apply(c, t);
}

/* ---- access to files and hosts ---- */

/* Permission granted here is valid for this file or host in all later commands. */
static enum call_tried decide_wanted(struct call *c, const struct trial *t)
{
    enum permit_mode mode = permit_mode(c->agent->spec.permit);
    struct trial_wanted w = trial_wanted(t);
    struct permit_answer answer;
    struct rule_subject subject;
    bool has_rules =
        trial_judge_wanted(c->agent->spec.permit, c->agent->spec.sandbox, &w, &subject, &answer);

    if (answer.verdict == PERMIT_ALLOW)
        return CALL_ALLOWED;
    if (answer.verdict == PERMIT_DENY && !answer.unasked && mode != MODE_PLAN)
        return refuse(c, &answer);
    trial_write_wanted(&w, /*has_run=*/false, &c->effects);
    trial_say_wanted(&w, &answer);
    answer.unasked = mode == MODE_DONT_ASK;
    if (answer.unasked)
        return refuse(c, &answer);
    return call_ask(c, has_rules ? &subject : NULL, &answer) < 0 ? CALL_REFUSED : CALL_ALLOWED;
}

/* No trial can be made here and now, so the text of the command decides, as where there is no
 * sandbox at all. */
static enum call_tried judge_text(struct call *c, const struct rule_subject *subject,
                                  struct permit_answer *ret)
{
    begin_again(c);
    permit_check(c->agent->spec.permit, subject, c->flags | TOOL_UNTRIED, ret);
    c->decided_by = ret->reason_type;
    return CALL_UNTRIED;
}

/* Ends the trial, so that the user is asked about the command itself. */
static enum call_tried give_up(struct call *c, struct permit_answer *why, const char *reason)
{
    begin_again(c);
    if (why->verdict == PERMIT_ASK)
        snprintf(why->reason, sizeof(why->reason), "%s", reason);
    return CALL_UNTRIED;
}

/* The user has sent it to the background: so it is asked about, and run there. */
static void send_away(struct call *c)
{
    CLEANUP(buf_release) struct buf json = BUF_INIT(TOOL_MAX_TEXT);
    struct jw w;

    jw_init(&w, &json, 0);
    jw_object(&w);
    JSON_EACH(c->args, m) {
        if (!str_is(json_key(m), "run_in_background")) {
            jw_key_str(&w, json_key(m));
            jw_json(&w, m);
        }
    }
    jw_kbool(&w, "run_in_background", true);
    jw_object_end(&w);
    (void)call_set_input(c, buf_str(&json), /*err=*/NULL);
}

enum call_tried call_try(struct call *c, const struct rule_subject *subject,
                         struct permit_answer *why)
{
    CLEANUP(trial_freep) struct trial *t = NULL;
    CLEANUP(buf_release) struct buf input = BUF_INIT(TOOL_MAX_TEXT);
    enum trial_outcome outcome;
    enum call_tried tried;
    struct err err = {0};

    if (trial_new(c->agent->spec.sandbox, &t, &err) < 0)
        return judge_text(c, subject, why);
    buf_add(&input, buf_str(&c->expanded));
    for (int i = 0; i < CALL_MAX_RUNS; i++) {
        if (run_on_trial(c, t, &err) < 0)
            return i == 0 && err.code == ERR_UNSUPPORTED ? judge_text(c, subject, why)
                                                         : give_up(c, why, err.text);
        if (cancel_is_set(c->cancel)) {
            c->ran = true;
            return CALL_TRIED;
        }
        if (trial_look(t, c->cancel, &outcome, &err) < 0)
            return give_up(c, why, err.text);
        switch (outcome) {
        case TRIAL_UNCHANGED:
            return stands(c, t);
        case TRIAL_CHANGED:
            return decide_changes(c, subject, t);
        case TRIAL_OVERRUN:
            return give_up(c, why, trial_why(t));
        case TRIAL_UNTRIED:
            return judge_text(c, subject, why);
        case TRIAL_SENT_AWAY:
            send_away(c);
            return give_up(c, why, "it would run in the background, which cannot be tried");
        case TRIAL_REFUSED:
            call_fail(c, "blocked by the sandbox: read of %.*s, which is hidden from commands",
                      STR_ARG(trial_wanted(t).name));
            c->ran = true;
            return CALL_TRIED;
        case TRIAL_STOPPED:
            break;
        }
        tried = decide_wanted(c, t);
        if (tried != CALL_ALLOWED)
            return tried;
        if (!str_eq(buf_str(&input), buf_str(&c->expanded)))
            return give_up(c, why, "the command was changed");
        if (trial_grant(t, &err) < 0)
            return give_up(c, why, err.text);
    }
    return give_up(c, why, "it reaches too many things outside");
}

/* ---- hosts of commands without a trial ---- */

static bool can_ask(const struct call *c)
{
    struct asker *asker = c->agent->spec.asker;
    enum permit_mode mode = permit_mode(c->agent->spec.permit);

    return asker && (!asker->is_there || asker->is_there(asker)) &&
           (mode == MODE_DEFAULT || mode == MODE_ACCEPT_EDITS || mode == MODE_AUTO) &&
           !json_get_bool(c->args, "run_in_background", false);
}

bool call_hosts(const struct call *c, struct sandbox_hosts *ret)
{
    const struct sandbox *s = c->agent->spec.sandbox;
    bool is_managed = sandbox_hosts_are_managed(s);

    if (!s || c->subject.about != ABOUT_COMMAND)
        return false;
    permit_hosts(c->agent->spec.permit, is_managed, &ret->allow, &ret->refuse);
    ret->is_asked = !is_managed && can_ask(c);
    return true;
}

bool call_ask_host(struct call *c, struct sandbox_hosts *hosts)
{
    struct sandbox *s = c->agent->spec.sandbox;
    struct tool_result result = c->result;
    struct permit_answer answer = {.verdict = PERMIT_ASK};
    struct rule_subject subject;
    struct trial_wanted w;

    if (!hosts->is_asked || cancel_is_set(c->cancel) ||
        !trial_find_refused(c->agent->spec.permit, s, hosts, &w, &subject))
        return false;
    trial_write_wanted(&w, /*has_run=*/true, &c->effects);
    trial_say_wanted(&w, &answer);
    c->result = (struct tool_result)TOOL_RESULT_INIT;
    if (call_ask(c, &subject, &answer) == 0) {
        trial_allow_refused(s, hosts, &w);
        tool_result_release(&result);
        return true;
    }
    /* It has run, and its result stands. */
    if (result.text.len && !str_ends(buf_str(&result.text), STR("\n")))
        buf_addc(&result.text, '\n');
    buf_addf(&result.text, "Permission to connect to %.*s was denied: %.*s\n", STR_ARG(w.name),
             STR_ARG(buf_str(&c->result.text)));
    tool_result_release(&c->result);
    c->result = result;
    return false;
}
