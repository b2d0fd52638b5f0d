/*
 * Decides whether a call may run: PreToolUse hooks, then rules and the permission mode, then, if
 * the call can work at all, PermissionRequest hooks and the user. Runs on the call's own thread.
 */
#include <string.h>

#include "agent/agent_state.h"
#include "agent/ask.h"
#include "agent/call/call.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/mem.h"
#include "guard/permit.h"
#include "guard/workspace.h"
#include "json/json.h"
#include "json/jw.h"
#include "sync/cancel.h"

static void call_decided(struct call *c, const char *decider, const char *reason_type)
{
    c->decider = decider;
    c->decided_by = reason_type;
}

/* Runs the PreToolUse hooks. 0 with their decision; -1 if the call already has its result. */
static int call_before(struct call *c, enum hook_decision *ret, struct buf *ret_reason)
{
    CLEANUP(hook_outcome_release) struct hook_outcome o = HOOK_OUTCOME_INIT;
    CLEANUP(buf_release) struct buf json = BUF_INIT(TOOL_MAX_TEXT);
    struct err err = {0};
    struct jw w;
    int r;

    *ret = HOOK_SILENT;
    if (!agent_hook_wanted(c->agent, HOOK_PRE_TOOL_USE, c->name))
        return 0;
    jw_init(&w, &json, 0);
    call_hook_input(c, HOOK_PRE_TOOL_USE, &w);
    jw_object_end(&w);
    if (buf_check(&json, &err) < 0) { /* a hook must not decide about a truncated input */
        call_deny(c, STR("The input is too long to be shown to a hook."));
        return -1;
    }
    r = agent_hook_run(c->agent, HOOK_PRE_TOOL_USE, c->name, buf_str(&json), c, c->cancel, &o,
                       &err);
    call_heed(c, &o);
    if (r < 0 && (err.code == ERR_CANCELLED || err.code == ERR_DENIED)) {
        call_deny(c, str_of(err.text));
        return -1;
    }
    if (o.stop || o.decision == HOOK_DENY) {
        call_decided(c, "hook", "hook");
        call_deny(c, o.reason.len ? buf_str(&o.reason) : STR("A hook refused this call."));
        return -1;
    }
    if (o.input.len && call_set_input(c, buf_str(&o.input), &err) < 0) {
        call_fail(c, "A hook changed the input into one that does not fit %s: %s", c->entry->name,
                  err.text);
        return -1;
    }
    /* A call is deferred only if it is the only one of its answer. */
    if (o.decision == HOOK_DEFER && c->is_only) {
        c->deferred = true;
        call_fail(c, "A hook has deferred this call: it has not run.");
        return -1;
    }
    *ret = o.decision == HOOK_DEFER ? HOOK_ASK : o.decision;
    if (*ret == HOOK_ASK)
        buf_add(ret_reason, buf_str(&o.reason));
    return 0;
}

/* Applies permission updates that came with an answer. */
static void call_update_permissions(struct call *c, struct str json)
{
    CLEANUP(strv_release) struct strv warnings = STRV_INIT;
    const struct json *updates;
    struct err err = {0};

    if (!json.len)
        return;
    if (json_parse_copy(&c->arena, json, &updates, /*ret_info=*/NULL, &err) < 0 ||
        permit_update(c->agent->spec.permit, updates, &warnings, &err) < 0)
        agent_notice(c->agent, LEVEL_WARNING, "permission updates were not applied: %s", err.text);
    for (size_t i = 0; i < warnings.len; i++)
        agent_notice(c->agent, LEVEL_WARNING, "%s", warnings.ptr[i]);
}

/* Runs PermissionDenied hooks. In auto mode they are observers: they may let the model try again,
 * but this call stays denied. answer: the reason for a denial without asking the user. */
void call_tell_denied(struct call *c, const struct permit_answer *answer)
{
    CLEANUP(hook_outcome_release) struct hook_outcome o = HOOK_OUTCOME_INIT;
    CLEANUP(buf_release) struct buf json = BUF_INIT(TOOL_MAX_TEXT);
    CLEANUP(buf_release) struct buf why = BUF_INIT(TOOL_MAX_TEXT);
    struct err err = {0};
    struct jw w;

    c->denied_by = answer->reason_type ? answer->reason_type : "other";
    call_decided(c, "config", c->denied_by);
    buf_clear(&c->denied_why);
    buf_adds(&c->denied_why, answer->reason);
    if (permit_mode(c->agent->spec.permit) != MODE_AUTO ||
        !agent_hook_wanted(c->agent, HOOK_PERMISSION_DENIED, c->name))
        return;
    jw_init(&w, &json, 0);
    call_hook_input(c, HOOK_PERMISSION_DENIED, &w);
    buf_add(&why, buf_str(&c->result.text));
    jw_kstr(&w, "reason", buf_str(&why));
    jw_object_end(&w);
    (void)agent_hook_run(c->agent, HOOK_PERMISSION_DENIED, c->name, buf_str(&json), c, c->cancel,
                         &o, &err);
    call_heed(c, &o);
    if (o.retry)
        call_fail(c, "%s\nYou may try this call again.", buf_cstr(&why));
}

/* Replaces the input if the answer has a new one. Deny rules apply to the new input as well. -1 if
 * the call has its result. */
static int call_take_input(struct call *c, struct str input, const char *changed)
{
    struct permit_answer answer;
    struct rule_subject subject;
    struct err err = {0};

    if (!input.len)
        return 0;
    if (call_set_input(c, input, &err) < 0) {
        call_fail(c, "%s into one that does not fit %s: %s", changed, c->entry->name, err.text);
        return -1;
    }
    call_subject(c, &subject);
    permit_check(c->agent->spec.permit, &subject, c->flags, &answer);
    if (answer.verdict != PERMIT_DENY || answer.unasked)
        return 0;
    call_deny(c, str_of(answer.reason));
    call_tell_denied(c, &answer);
    return -1;
}

/* Runs PermissionRequest hooks. 1: allowed, -1: denied, 0: no decision. */
static int call_ask_hooks(struct call *c, struct str suggestions)
{
    CLEANUP(hook_outcome_release) struct hook_outcome o = HOOK_OUTCOME_INIT;
    CLEANUP(buf_release) struct buf json = BUF_INIT(TOOL_MAX_TEXT);
    struct err err = {0};
    struct jw w;

    if (!agent_hook_wanted(c->agent, HOOK_PERMISSION_REQUEST, c->name))
        return 0;
    jw_init(&w, &json, 0);
    call_hook_input(c, HOOK_PERMISSION_REQUEST, &w);
    if (suggestions.len)
        jw_kraw(&w, "permission_suggestions", suggestions);
    if (c->effects.len)
        jw_kraw(&w, "effects", buf_str(&c->effects));
    jw_object_end(&w);
    (void)agent_hook_run(c->agent, HOOK_PERMISSION_REQUEST, c->name, buf_str(&json), c, c->cancel,
                         &o, &err);
    call_heed(c, &o);
    if (o.stop || o.decision == HOOK_DENY || o.decision == HOOK_ALLOW)
        call_decided(c, "hook", "hook");
    if (o.stop || o.decision == HOOK_DENY) {
        c->interrupt = o.interrupt;
        call_deny(c, o.reason.len ? buf_str(&o.reason) : STR("A hook refused this call."));
        return -1;
    }
    if (o.decision != HOOK_ALLOW)
        return 0;
    if (call_take_input(c, buf_str(&o.input), "A hook changed the input") < 0)
        return -1;
    call_update_permissions(c, buf_str(&o.permissions));
    return 1;
}

/* Runs Notification hooks before the user is asked. */
static void call_tell_asked(const struct call *c, struct asker *asker)
{
    const struct identity *by = &c->agent->spec.identity;
    CLEANUP(buf_release) struct buf message = BUF_INIT(1000);

    if (asker->is_there && !asker->is_there(asker))
        return;
    if (identity_is_main(by))
        buf_adds(&message, "tenax");
    else
        buf_addf(&message, "The agent %s", by->member ? by->member : by->type);
    buf_addf(&message, " needs your permission to use %s", c->entry->name);
    agent_tell(c->agent,
               by->member          ? "worker_permission_prompt"
               : by->in_background ? "agent_needs_input"
                                   : "permission_prompt",
               /*title=*/NULL, buf_str(&message));
}

/* Whether the check may report details about the file: only if the model has read it or could read
 * it without asking. */
static bool call_may_look(struct call *c, const struct rule_subject *subject)
{
    CLEANUP(mem_freep) char *path = mem_dup(subject->text.ptr, subject->text.len);
    CLEANUP(mem_freep) char *real = workspace_real(path);
    struct rule_subject look = *subject;
    struct permit_answer answer;
    struct seen_file seen;

    if (workspace_seen(c->agent->spec.workspace, real, &seen))
        return true;
    look.tool = STR("Read");
    look.writes = false;
    permit_check(c->agent->spec.permit, &look, TOOL_READ_ONLY, &answer);
    return answer.verdict == PERMIT_ALLOW;
}

/* Runs the tool's check, so that the user is not asked about a call that cannot work, such as an
 * edit of a text that does not exist. True if it cannot; the result says why. */
static bool call_is_vain(struct call *c, const struct rule_subject *subject)
{
    struct tool_call tool_call = call_for_tool(c);
    struct err err = {0};

    if (!c->entry->check || subject->about != ABOUT_PATH || !call_may_look(c, subject))
        return false;
    if (c->entry->check(&tool_call, &c->result, &err) < 0)
        call_fail(c, "%s", err.text);
    return c->result.is_error;
}

/* Asks for a decision that only the user can make. Returns the same as call_leave(). */
int call_ask(struct call *c, const struct rule_subject *subject, const struct permit_answer *why)
{
    CLEANUP(ask_answer_release) struct ask_answer answer = ASK_ANSWER_INIT;
    CLEANUP(buf_release) struct buf suggestions = BUF_INIT(ASK_MAX_ANSWER);
    struct asker *asker = c->agent->spec.asker;
    struct ask ask = {
        .kind = ASK_PERMISSION,
        .by = c->agent->spec.identity,
        .tool_name = str_of(c->entry->name),
        .tool_use_id = c->id,
        .reason = str_of(c->entry->must_ask ? c->entry->must_ask : why->reason),
        .reason_type = why->reason_type,
        .blocked_path = why->path,
        .needs_person = c->flags & TOOL_PERSON,
    };
    struct err err = {0};
    int64_t asked_ms;
    int by_hook;

    if (subject && call_is_vain(c, subject))
        return 1;
    if (subject && !c->entry->must_ask)
        permit_suggest(c->agent->spec.permit, subject, c->flags, &suggestions);
    by_hook = c->entry->must_ask ? 0 : call_ask_hooks(c, buf_str(&suggestions));
    if (by_hook)
        return by_hook < 0 ? -1 : 0;

    ask.input = buf_str(&c->expanded);
    ask.suggestions = buf_str(&suggestions);
    ask.effects = buf_str(&c->effects);
    if (asker)
        call_tell_asked(c, asker);
    asked_ms = clock_mono_ms();
    if (!asker)
        err_set(&err, ERR_UNSUPPORTED, "there is no user to ask");
    else if (asker->put(asker, &ask, c->cancel, &answer, &err) == 0)
        (void)cancel_check(c->cancel, &err);   /* an answer after an interrupt is ignored */
    c->start_ms += clock_mono_ms() - asked_ms; /* waiting for the user is not the call's time */
    switch (err.code) {
    case ERR_NONE:
        break;
    case ERR_UNSUPPORTED:
        c->denied = true;
        c->unanswered = true;
        call_fail(
            c,
            "This command requires approval, but there is no user to ask in this run (%s). Do it "
            "another way, or say what you would need.",
            why->reason);
        call_tell_denied(c, why);
        return -1;
    case ERR_CANCELLED:
        call_decided(c, "user_abort", NULL);
        call_deny(c, STR("The call was interrupted while it waited for approval."));
        return -1;
    default:
        call_deny(c, str_of(err.text));
        return -1;
    }
    call_decided(c, answer.allowed ? "user_temporary" : "user_reject", NULL);
    if (!answer.allowed) {
        c->interrupt = answer.interrupt;
        call_deny(c, answer.message.len ? buf_str(&answer.message)
                                        : STR("The user does not want this call to be made."));
        return -1;
    }
    if (call_take_input(c, buf_str(&answer.input), "The input was changed") < 0)
        return -1;
    call_update_permissions(c, buf_str(&answer.permissions));
    return 0;
}

/* The tool wants it, or has changed since it was allowed. */
static bool call_must_ask(const struct call *c)
{
    struct asker *asker = c->agent->spec.asker;
    bool is_there = asker && (!asker->is_there || asker->is_there(asker));

    if (!c->entry->must_ask)
        return false;
    if (is_there || !c->entry->may_go_unasked)
        return true;
    agent_notice(c->agent, LEVEL_WARNING, "%s: %s", c->entry->name, c->entry->must_ask);
    return false;
}

/* Decides by rules, mode, hooks, and finally the user. */
static int call_permission(struct call *c, enum hook_decision hooks_say, struct str reason)
{
    struct permit_answer answer;
    struct rule_subject subject;

    call_subject(c, &subject);
    permit_check(c->agent->spec.permit, &subject, c->flags, &answer);
    if (hooks_say == HOOK_ALLOW)
        call_decided(c, "hook", "hook");
    else
        call_decided(c, "config", answer.reason_type);
    /* A hook that wants the user to be asked has doubts about the command, not about its effects.
     */
    if (answer.has_trial && hooks_say != HOOK_ALLOW && hooks_say != HOOK_ASK) {
        switch (call_try(c, &subject, &answer)) {
        case CALL_TRIED:
            return 1;
        case CALL_ALLOWED:
            return 0;
        case CALL_REFUSED:
            return -1;
        case CALL_UNTRIED:
            break;
        }
    }
    if (answer.verdict == PERMIT_DENY) {
        if (answer.unasked && hooks_say == HOOK_ALLOW)
            return 0;
        call_deny(c, str_of(answer.reason));
        call_tell_denied(c, &answer);
        return -1;
    }
    if (call_must_ask(c)) {
        answer.reason_type = "safetyCheck";
        snprintf(answer.reason, sizeof(answer.reason), "%s", c->entry->must_ask);
        if (permit_mode(c->agent->spec.permit) != MODE_DONT_ASK)
            return call_ask(c, &subject, &answer);
        call_deny(c, str_of(answer.reason));
        call_tell_denied(c, &answer);
        return -1;
    }
    /* Tools that ask the user themselves (AskUserQuestion, ExitPlanMode). */
    if (c->flags & TOOL_PERSON && answer.verdict == PERMIT_ASK && !answer.by_rule)
        return 0;
    if (hooks_say == HOOK_ASK) {
        if (!reason.len)
            reason = STR("a hook wants it to be asked");
        reason = str_clip(reason, sizeof(answer.reason) - 1);
        (void)snprintf(answer.reason, sizeof(answer.reason), "%.*s", STR_ARG(reason));
        answer.reason_type = "hook";
    } else if (answer.verdict == PERMIT_ALLOW || (hooks_say == HOOK_ALLOW && !answer.by_rule &&
                                                  strcmp(answer.reason_type, "safetyCheck") != 0)) {
        return 0;
    }
    return call_ask(c, &subject, &answer);
}

int call_leave(struct call *c)
{
    CLEANUP(buf_release) struct buf reason = BUF_INIT(HOOK_MAX_TEXT);
    enum hook_decision hooks_say;

    agent_refresh(c->agent);
    if (call_before(c, &hooks_say, &reason) < 0)
        return -1;
    return call_permission(c, hooks_say, buf_str(&reason));
}
