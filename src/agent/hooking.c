/*
 * The agent's side of hooks: the common input fields, and the events around a run. Called on the
 * agent's thread and on call threads; uses only fields that never change.
 */
#include <string.h>

#include "agent/agent_state.h"
#include "agent/call/call.h"
#include "agent/hook_lines.h"
#include "agent/hook_sight.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/id.h"
#include "base/log.h"
#include "base/secret.h"
#include "conf/conf.h"
#include "guard/permit.h"
#include "guard/workspace.h"
#include "json/json.h"
#include "json/jw.h"
#include "llm/effort.h"
#include "llm/pace.h"
#include "sync/cancel.h"

/* The uuid of the input being processed. */
static void hook_prompt_id(const struct agent *a, char ret[static ID_UUID_LEN + 1])
{
    struct agent *self = (struct agent *)a; /* only to take the lock */

    lock_take(&self->lock);
    memcpy(ret, a->prompt_id, ID_UUID_LEN + 1);
    lock_give(&self->lock);
}

/* The current effort level, or "". */
static const char *hook_effort(const struct agent *a)
{
    struct agent *self = (struct agent *)a;
    enum effort effort;

    lock_take(&self->lock);
    effort = a->turn_effort ? a->turn_effort : a->spec.effort;
    lock_give(&self->lock);
    return effort_name(effort);
}

void agent_hook_begin(const struct agent *a, struct jw *w, enum hook_event event)
{
    CLEANUP(mem_freep) char *cwd = workspace_cwd(a->spec.workspace);
    const char *effort = hook_effort(a);
    char prompt_id[ID_UUID_LEN + 1];

    hook_prompt_id(a, prompt_id);
    jw_object(w);
    jw_kcstr(w, "session_id", a->spec.identity.session);
    jw_kcstr(w, "transcript_path", a->spec.transcript_path ? a->spec.transcript_path : "");
    jw_kcstr(w, "cwd", cwd);
    if (!identity_is_main(&a->spec.identity))
        jw_kcstr(w, "agent_id", a->spec.identity.agent);
    if (a->spec.identity.type)
        jw_kcstr(w, "agent_type", a->spec.identity.type);
    if (prompt_id[0])
        jw_kcstr(w, "prompt_id", prompt_id);
    jw_kcstr(w, "permission_mode", permit_mode_name(permit_mode(a->spec.permit)));
    if (*effort) {
        jw_key(w, "effort");
        jw_object(w);
        jw_kcstr(w, "level", effort);
        jw_object_end(w);
    }
    jw_kcstr(w, "hook_event_name", hook_event_name(event));
}

void agent_hook_title(const struct agent *a, struct jw *w)
{
    CLEANUP(buf_release) struct buf title = BUF_INIT(HOOK_MAX_TEXT);

    if (a->spec.title)
        a->spec.title(a->spec.title_arg, &title);
    if (title.len)
        jw_kstr(w, "session_title", buf_str(&title));
}

/* Applies what a hook may change for later: the session's title, shell lines for commands, files to
 * watch. */
static void hook_take_over(const struct agent *a, enum hook_event event, struct hook_outcome *o)
{
    if (o->title.len && a->spec.rename)
        a->spec.rename(a->spec.title_arg, buf_str(&o->title));
    if (event == HOOK_SESSION_START && o->shell.len)
        workspace_set_shell(a->spec.workspace, WORKSPACE_SHELL_SESSION, buf_str(&o->shell));
    if (event == HOOK_CWD_CHANGED || (event == HOOK_FILE_CHANGED && o->shell.len))
        workspace_set_shell(a->spec.workspace, WORKSPACE_SHELL_FOLDER, buf_str(&o->shell));
    if (o->watches && a->spec.watch)
        a->spec.watch(a->spec.refresh_arg, &o->watch);
}

bool agent_hook_wanted(const struct agent *a, enum hook_event event, struct str subject)
{
    return hooks_want(a->spec.hooks, event, subject);
}

bool agent_session_hook_wanted(const struct agent *a, enum hook_event event, struct str subject)
{
    return identity_is_main(&a->spec.identity) && agent_hook_wanted(a, event, subject);
}

static struct event *hook_event_made(const struct agent *a, enum event_kind kind, struct str id,
                                     enum hook_event event, struct str subject)
{
    struct event *e = agent_event(a, kind);
    CLEANUP(buf_release) struct buf name = BUF_INIT(4096);

    buf_adds(&name, hook_event_name(event));
    if (subject.len)
        buf_addf(&name, ":%.*s", STR_ARG(subject));
    e->id = arena_str(&e->arena, id);
    e->name = arena_str(&e->arena, buf_str(&name));
    e->text = str_of(hook_event_name(event));
    return e;
}

/* --- single handlers ------------------------------------------------------------------------ */

static struct str hook_shown(struct event *e, struct str printed, enum hook_stage stage)
{
    CLEANUP(buf_release) struct buf shown = BUF_INIT(BUF_NO_LIMIT); /* limited by the next line */

    secret_shown(printed, stage == HOOK_GOES_ON, HOOK_MAX_STRING, &shown);
    return arena_str(&e->arena, buf_str(&shown));
}

static void agent_note_hook(const struct agent *a, const struct hook_news *news, struct str out,
                            struct str err)
{
    struct agent *self = (struct agent *)a; /* the lock guards the lines */

    if (!a->spec.journal)
        return;
    lock_take(&self->lock);
    hook_lines_add(&self->hook_lines, news, out, err);
    lock_give(&self->lock);
}

void agent_write_hooks(struct agent *a, const struct hook_outcome *stop)
{
    struct journal *journal = a->spec.journal;
    struct hook_lines now;

    if (!journal || !journal->attach || !journal->stop_hooks)
        return;
    lock_take(&a->lock);
    now = a->hook_lines;
    a->hook_lines = (struct hook_lines)HOOK_LINES_INIT;
    lock_give(&a->lock);
    hook_lines_write(&now, journal, stop);
    hook_lines_release(&now);
}

void agent_tell_handler(const struct agent *a, const struct hook_news *news, struct cancel *cancel)
{
    static const enum event_kind kinds[] = {
        [HOOK_BEGUN] = EVENT_HANDLER_STARTED,
        [HOOK_GOES_ON] = EVENT_HANDLER_PROGRESS,
        [HOOK_ENDED] = EVENT_HANDLER_DONE,
    };
    struct event *e =
        hook_event_made(a, kinds[news->stage], str_of(news->id), news->event, news->subject);

    if (news->stage != HOOK_BEGUN) {
        e->json = hook_shown(e, news->out, news->stage);
        e->data = hook_shown(e, news->err, news->stage);
        e->duration_ms = news->duration_ms;
    }
    if (news->stage == HOOK_ENDED) {
        e->is_error = news->end != HOOK_SUCCESS;
        if (e->is_error)
            e->error = news->end == HOOK_CANCELLED ? ERR_CANCELLED : ERR_IO;
        e->has_code = news->has_code;
        e->code = news->code;
        agent_note_hook(a, news, e->json, e->data);
    }
    agent_emit(a, e, cancel);
}

/* Observer of the handlers of one run. */
struct hooking {
    const struct agent *agent;
    struct cancel *cancel;
};

static void hooking_tell(void *arg, const struct hook_news *news)
{
    const struct hooking *h = arg;

    agent_tell_handler(h->agent, news, h->cancel);
}

/* --- a whole event --------------------------------------------------------------------------- */

int agent_hook_run(const struct agent *a, enum hook_event event, struct str subject,
                   struct str json, struct call *call, struct cancel *cancel,
                   struct hook_outcome *io, struct err *err)
{
    CLEANUP(buf_release) struct buf clean = BUF_INIT(BUF_NO_LIMIT); /* a copy */
    CLEANUP(buf_release) struct buf status = BUF_INIT(HOOK_MAX_TEXT);
    struct hooking hooking = {.agent = a, .cancel = cancel};
    struct hook_watch watch = {hooking_tell, &hooking};
    struct rule_subject about;
    struct hook_input in = {.event = event,
                            .subject = subject,
                            .json = json,
                            .effort = str_of(hook_effort(a)),
                            .watch = &watch};
    int64_t start_ms = clock_mono_ms();
    int64_t duration_ms;
    char id[ID_UUID_LEN + 1];
    struct event *e;
    int r;

    if (secret_is_in(json)) { /* hooks write logs and send data elsewhere */
        buf_add(&clean, json);
        secret_scrub(&clean);
        in.json = buf_str(&clean);
    }
    if (call) {
        call_subject(call, &about);
        in.tool_use_id = call->id;
        in.call = &about;
    }
    if (event == HOOK_STOP) {
        in.talk = a->history.list.ptr;
        in.talk_len = a->history.list.len;
    }
    io->workspace = a->spec.workspace;
    id_uuid(id);
    hooks_status(a->spec.hooks, &in, &status);
    e = hook_event_made(a, EVENT_HOOK_STARTED, str_of(id), event, subject);
    e->show = arena_str(&e->arena, buf_str(&status));
    agent_emit(a, e, cancel);
    r = hooks_run(a->spec.hooks, &in, cancel, io, err);
    duration_ms = clock_mono_ms() - start_ms;
    pace_hook(a->pace, duration_ms);
    e = hook_event_made(a, EVENT_HOOK_DONE, str_of(id), event, subject);
    e->duration_ms = duration_ms;
    e->is_error = r < 0;
    e->show = arena_str(&e->arena, buf_str(&io->terminal));
    if (r < 0)
        e->error = err->code;
    agent_emit(a, e, cancel);
    secret_scrub(&io->context);
    secret_scrub(&io->reason);
    secret_scrub(&io->output);
    hook_take_over(a, event, io);
    if (io->message.len)
        agent_notice(a, LEVEL_INFO, "%s", buf_cstr(&io->message));
    /* The caller reports denials; an interrupt needs no report. */
    if (r < 0 && err->code != ERR_CANCELLED && err->code != ERR_DENIED)
        agent_notice(a, LEVEL_WARNING, "%s hook error: %s", hook_event_name(event), err->text);
    return r;
}

int agent_ask_hooks(struct agent *a, const char *event, struct str members, struct call *call,
                    struct cancel *cancel, struct buf *ret_reason, struct err *err)
{
    CLEANUP(hook_outcome_release) struct hook_outcome o = HOOK_OUTCOME_INIT;
    CLEANUP(buf_release) struct buf json = BUF_INIT(BUF_NO_LIMIT);
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    const struct json *own = NULL;
    enum hook_event which;
    struct jw w;

    if (!hook_event_parse(str_of(event), &which))
        BUG("there is no event %s", event);
    if (!agent_hook_wanted(a, which, STR("")))
        return 0;
    if (json_parse(&arena, members, &own, /*ret_info=*/NULL, err) < 0)
        return -1;
    jw_init(&w, &json, 0);
    agent_hook_begin(a, &w, which);
    JSON_EACH(own, it) {
        jw_key_str(&w, json_key(it));
        jw_json(&w, it);
    }
    jw_object_end(&w);
    if (agent_hook_run(a, which, STR(""), buf_str(&json), /*call=*/NULL, cancel, &o, err) < 0 &&
        (err->code == ERR_CANCELLED || err->code == ERR_DENIED)) {
        if (err->code == ERR_CANCELLED)
            return -1;
        hook_outcome_decide(&o, HOOK_DENY, str_of(err->text));
    }
    err_clear(err);
    if (call)
        call_heed(call, &o);
    else if (o.context.len)
        agent_notify(a, INPUT_BY_HOOK, /*id=*/STR(""), buf_str(&o.context), /*wake=*/false);
    if (o.decision != HOOK_DENY && !o.stop)
        return 0;
    buf_add(ret_reason, o.reason.len ? buf_str(&o.reason) : buf_str(&o.stop_reason));
    if (!ret_reason->len)
        buf_addf(ret_reason, "a %s hook objected", event);
    return 1;
}

bool agent_may_change(struct agent *a, const char *source, const char *path)
{
    CLEANUP(hook_outcome_release) struct hook_outcome o = HOOK_OUTCOME_INIT;
    CLEANUP(buf_release) struct buf json = BUF_INIT(BUF_NO_LIMIT);
    CLEANUP(cancel_unrefp) struct cancel *cancel = NULL;
    struct err err = {0};
    struct jw w;

    if (!agent_hook_wanted(a, HOOK_CONFIG_CHANGE, str_of(source)))
        return true;
    lock_take(&a->lock);
    cancel = cancel_ref(a->turn_cancel ? a->turn_cancel : a->aside_cancel);
    lock_give(&a->lock);
    jw_init(&w, &json, 0);
    agent_hook_begin(a, &w, HOOK_CONFIG_CHANGE);
    jw_kcstr(&w, "source", source);
    jw_kcstr(&w, "file_path", path);
    jw_object_end(&w);
    (void)agent_hook_run(a, HOOK_CONFIG_CHANGE, str_of(source), buf_str(&json), /*call=*/NULL,
                         cancel, &o, &err);
    if (!o.stop && o.decision != HOOK_DENY && err.code != ERR_DENIED)
        return true;
    agent_notice(a, LEVEL_WARNING, "a hook blocked the change of %s%s%s", path,
                 o.reason.len ? ": " : "", buf_cstr(&o.reason));
    return false;
}

void agent_ask_form(struct agent *a, bool with_answer, struct str server, struct str members,
                    struct cancel *cancel, struct buf *ret_answer)
{
    CLEANUP(hook_outcome_release) struct hook_outcome o = HOOK_OUTCOME_INIT;
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    CLEANUP(buf_release) struct buf json = BUF_INIT(BUF_NO_LIMIT);
    enum hook_event event = with_answer ? HOOK_ELICITATION_RESULT : HOOK_ELICITATION;
    const struct json *own = NULL;
    struct err err = {0};
    struct jw w;

    if (!agent_hook_wanted(a, event, server) ||
        json_parse(&arena, members, &own, /*ret_info=*/NULL, &err) < 0)
        return;
    jw_init(&w, &json, 0);
    agent_hook_begin(a, &w, event);
    JSON_EACH(own, it) {
        jw_key_str(&w, json_key(it));
        jw_json(&w, it);
    }
    jw_object_end(&w);
    (void)agent_hook_run(a, event, server, buf_str(&json), /*call=*/NULL, cancel, &o, &err);
    if (o.stop || o.decision == HOOK_DENY || err.code == ERR_DENIED)
        buf_adds(ret_answer, "{\"action\":\"decline\"}");
    else
        buf_add(ret_answer, buf_str(&o.form));
    if (o.message.len)
        agent_notice(a, LEVEL_INFO, "%s", buf_cstr(&o.message));
}

/* Timeouts for SessionEnd hooks. */
static void hook_end_times(const struct agent *a, struct hook_input *in)
{
    const char *text = conf_env(a->spec.conf, "CLAUDE_CODE_SESSIONEND_HOOKS_TIMEOUT_MS");
    int64_t ms = 0;

    in->least_ms = HOOK_END_MS;
    in->most_ms = HOOK_END_MAX_MS;
    if (!text || str_to_i64(str_of(text), &ms, /*err=*/NULL) < 0 || ms < 1)
        return;
    in->least_ms = in->most_ms = ms < HOOK_END_MAX_MS ? ms : HOOK_END_MAX_MS;
}

void agent_end_as(struct agent *a, const char *reason)
{
    lock_take(&a->lock);
    a->end_reason = reason;
    lock_give(&a->lock);
}

static struct str hook_end_reason(struct agent *a)
{
    const char *reason;

    lock_take(&a->lock);
    reason = a->end_reason;
    lock_give(&a->lock);
    return str_of(reason ? reason : "other");
}

void agent_tell_end(struct agent *a)
{
    struct str reason = hook_end_reason(a);
    CLEANUP(hook_outcome_release) struct hook_outcome o = HOOK_OUTCOME_INIT;
    CLEANUP(buf_release) struct buf json = BUF_INIT(BUF_NO_LIMIT);
    struct hook_input in = {
        .event = HOOK_SESSION_END, .subject = reason, .effort = str_of(hook_effort(a))};
    /* Its own cancel token, because the process's may be the reason for the end of the session. */
    CLEANUP(cancel_unrefp) struct cancel *cancel = NULL;
    struct err err = {0};
    struct jw w;

    if (!agent_session_hook_wanted(a, HOOK_SESSION_END, reason))
        return;
    jw_init(&w, &json, 0);
    agent_hook_begin(a, &w, HOOK_SESSION_END);
    jw_kstr(&w, "reason", reason);
    jw_object_end(&w);
    in.json = buf_str(&json);
    hook_end_times(a, &in);
    cancel = cancel_new(/*parent=*/NULL);
    /* No events: there may be no observers any more. */
    if (hooks_run(a->spec.hooks, &in, cancel, &o, &err) < 0)
        log_debug("agent", "SessionEnd hook error: %s", err.text);
    if (o.message.len)
        agent_notice(a, LEVEL_INFO, "%s", buf_cstr(&o.message));
}
