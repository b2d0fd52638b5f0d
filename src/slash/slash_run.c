/*
 * slash_run: executes one job: runs a command and reports its output, passes a prompt on, or asks
 * the front end for what only it can do.
 */
#include <unistd.h>

#include "agent/agent.h"
#include "agent/event.h"
#include "base/arena.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/id.h"
#include "conf/nearest.h"
#include "host/events/feed.h"
#include "host/host.h"
#include "llm/message.h"
#include "slash/answer.h"
#include "slash/commands.h"
#include "slash/expand.h"
#include "slash/front.h"
#include "slash/job.h"
#include "slash/mcp_prompt.h"
#include "slash/own.h"
#include "slash/prompt.h"
#include "slash/skill_tool.h"
#include "sync/cancel.h"

#define SLASH_MAX_ID 1000

static void slash_note_end(struct slash *s, enum err_code failed, bool goes_on)
{
    lock_take(&s->lock);
    if (failed)
        s->end.failed = failed;
    s->end.goes_on = s->end.goes_on || goes_on;
    lock_give(&s->lock);
}

/* Notifies observers. */
static void slash_tell(struct slash *s, struct slash_job *j, struct slash_call *call,
                       const struct err *err)
{
    static const struct agent_input none; /* "!" and "#" are shown by their answer */
    bool is_left = err && err->code == ERR_CANCELLED && call->front; /* by the user: no error */
    bool is_slash =
        !j->command || (j->command != &slash_shell_entry && j->command != &slash_note_entry);
    struct host_answer answer = {
        .input = is_slash ? j->input : &none,
        .command = buf_cstr(&j->name),
        .is_markdown = call->is_markdown && !err,
        .is_error = err && !is_left,
        .goes_on = !err && call->goes_on,
        .counts = j->input && j->input->in_order,
    };

    if (err) {
        buf_clear(&call->text);
        buf_clear(&call->color);
        slash_say(call, is_left ? INK_FAINT : INK_PLAIN,
                  str_of(err->text[0] ? err->text : err_code_text(err->code)));
    }
    answer.text = str_trim(buf_str(&call->text));
    /* Without color codes it is the same text. */
    if (call->color.len > call->text.len)
        answer.color = str_trim(buf_str(&call->color));
    slash_note_end(s, err ? err->code : ERR_NONE, answer.goes_on);
    host_answer(s->host, &answer);
}

/* Input after a switch is for the next session. */
static void slash_mark_left(struct slash *s, bool is_left)
{
    lock_take(&s->lock);
    s->is_left = is_left;
    lock_give(&s->lock);
}

/* Nothing else is started until it is known whether that is for this session. */
static void slash_go(const struct slash_call *call, enum front_switch how)
{
    const struct slash_front *front = call->front;
    struct slash *s = call->slash;
    struct err err = {0};
    int rc;

    slash_mark_left(s, true);
    if (front)
        rc = front->go(front->arg, how, buf_str(&call->session), &err);
    else
        rc = s->anew(s->anew_arg, &err);
    if (rc == 0)
        return;
    slash_mark_left(s, false);
    if (err.code != ERR_CANCELLED)
        host_notice(call->host, LEVEL_ERROR, str_of(err.text));
}

/* What only a front end can do, once the answer is out. */
static void slash_do_after(const struct slash_call *call)
{
    static const enum front_switch ways[] = {
        [AFTER_NEW] = SWITCH_NEW, [AFTER_RESUME] = SWITCH_RESUME, [AFTER_FORK] = SWITCH_FORK};
    const struct slash_front *front = call->front;

    if (call->after == AFTER_NEW && !front && call->slash->anew)
        slash_go(call, SWITCH_NEW);
    if (!front || call->after == AFTER_NOTHING)
        return;
    if (call->after == AFTER_LEAVE) {
        front->leave(front->arg);
    } else if (call->after == AFTER_REWIND) {
        front->rewind(front->arg);
    } else {
        slash_go(call, ways[call->after]);
    }
}

void slash_call_release(struct slash_call *call)
{
    buf_release(&call->text);
    buf_release(&call->color);
    buf_release(&call->prompt);
    buf_release(&call->session);
    strv_release(&call->allow);
    strv_release(&call->deny);
    strv_release(&call->only);
    cancel_unref(call->cancel);
}

/* ---- Run ---- */

/* Sets the running command, which can be interrupted; NULL = none. */
static void slash_begin(struct slash *s, struct cancel *running)
{
    struct cancel *old;

    lock_take(&s->lock);
    old = s->running;
    s->running = running ? cancel_ref(running) : NULL;
    lock_give(&s->lock);
    cancel_unref(old);
}

bool slash_interrupt(struct slash *s)
{
    struct cancel *running;

    lock_take(&s->lock);
    running = s->running ? cancel_ref(s->running) : NULL;
    lock_give(&s->lock);
    if (!running)
        return false;
    cancel_set(running);
    cancel_unref(running);
    return true;
}

/* A file's text is the prompt; with `context: fork` a subagent gets it, and its answer becomes part
 * of the conversation without a turn. */
static int slash_run_file(struct slash_call *call, const struct own_command *own, struct err *err)
{
    CLEANUP(buf_release) struct buf said = BUF_INIT(SLASH_MAX_TEXT);
    struct agent_input in = {.no_query = true, .is_literal = true};

    if (expand_command(call, own, err) < 0)
        return -1;
    if (!own->forks)
        return 0;
    if (skill_run_apart(host_spawner(call->host), /*by=*/NULL, /*tool_id=*/STR(""), own, call,
                        call->cancel, &call->text, err) < 0)
        return -1;
    buf_clear(&call->prompt);
    buf_addf(&said,
             "<command-name>/%.*s</command-name>\n<command-args>%.*s</command-args>\n"
             "<local-command-stdout>%.*s</local-command-stdout>",
             STR_ARG(own->name), STR_ARG(call->args), STR_ARG(buf_str(&call->text)));
    if (buf_check(&said, err) < 0)
        return -1;
    id_uuid(in.uuid);
    in.message = message_user_text(buf_str(&said));
    return host_send(call->host, &in, err);
}

/* own NULL: the command is a row of the table. */
static void slash_run_call(struct slash *s, struct slash_job *j, const struct own_command *own)
{
    static const char *const sources[] = {[LEVEL_USER] = "user",
                                          [LEVEL_PROJECT] = "project",
                                          [LEVEL_LOCAL] = "local",
                                          [LEVEL_FLAG] = "flag",
                                          [LEVEL_MANAGED] = "managed"};
    CLEANUP(slash_call_release)
    struct slash_call call = {
        .slash = s,
        .host = s->host,
        .front = j->answer ? NULL : s->front,
        .args = buf_str(&j->args),
        .source = own ? sources[own->level] : "built-in",
        .goal = j->goal,
        .is_client = j->answer != NULL,
        .cancel = cancel_new(s->cancel),
        .text = BUF_INIT(SLASH_MAX_ANSWER),
        .color = BUF_INIT(2 * SLASH_MAX_ANSWER),
        .prompt = BUF_INIT(SLASH_MAX_ANSWER),
        .session = BUF_INIT(SLASH_MAX_ID),
    };
    struct err err = {0};
    bool failed;

    slash_begin(s, call.cancel);
    failed = own ? slash_run_file(&call, own, &err) < 0 : j->command->run(&call, &err) < 0;
    slash_begin(s, /*running=*/NULL);
    if (!failed && call.prompt.len && !j->answer)
        failed = prompt_send(&call, buf_str(&j->name), j->input, &err) < 0;
    if (j->answer)
        j->answer(j->arg, &call, failed ? &err : NULL);
    else if (failed || !call.prompt.len)
        slash_tell(s, j, &call, failed ? &err : NULL);
    /* Only now, so that its output comes before the turn that it starts. */
    if (!failed && call.goes_on && host_wake(s->host, &err) < 0) {
        slash_note_end(s, err.code, /*goes_on=*/false);
        host_notice(s->host, LEVEL_ERROR, str_of(err.text));
    }
    if (!failed)
        slash_do_after(&call);
}

static void slash_run_command(struct slash *s, struct slash_job *j)
{
    CLEANUP(own_list_unrefp)
    struct own_list *own = j->command->gives_way && !j->answer ? slash_own(s) : NULL;
    const struct own_command *c = own ? own_find(own, str_of(j->command->name)) : NULL;

    slash_run_call(s, j, c && !c->is_hidden ? c : NULL);
}

static int slash_run_input(struct slash *s, struct slash_job *j, struct err *err);

/* "/tmp is full" is about a folder. */
static bool slash_is_path(struct str name)
{
    CLEANUP(buf_release) struct buf path = BUF_INIT(4096);

    buf_addf(&path, "/%.*s", STR_ARG(str_clip(name, 255)));
    return access(buf_cstr(&path), F_OK) == 0;
}

/* "/ help" is a command with a blank too many, "/ is full" is about a folder. */
static int slash_run_apart(struct slash *s, struct slash_job *j, const struct own_list *own,
                           struct err *ret_err)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(SLASH_MAX_ANSWER);
    struct slash_call none = {.text = BUF_INIT(SLASH_MAX_ANSWER),
                              .color = BUF_INIT(SLASH_MAX_ANSWER)};
    struct str word = slash_word(buf_str(&j->args));
    const struct own_command *c = own_find(own, word);
    struct err err = {0};

    buf_addf(&text, "/%.*s", STR_ARG(word));
    if (!slash_find(buf_str(&text), /*ret_args=*/NULL) && (!c || c->is_hidden)) {
        return slash_run_input(s, j, ret_err);
    }
    err_set(&err, ERR_BAD_INPUT, "there is a space after the slash; did you mean %s?",
            buf_cstr(&text));
    buf_add(&j->name, word);
    slash_tell(s, j, &none, &err);
    slash_call_release(&none);
    return 0;
}

static int slash_run_own(struct slash *s, struct slash_job *j, struct err *ret_err)
{
    CLEANUP(own_list_unrefp) struct own_list *own = slash_own(s);
    const struct own_command *c = own_find(own, buf_str(&j->name));
    struct slash_call none = {.text = BUF_INIT(SLASH_MAX_ANSWER),
                              .color = BUF_INIT(SLASH_MAX_ANSWER)};
    struct nearest near;
    struct err err = {0};

    if (!j->name.len)
        return slash_run_apart(s, j, own, ret_err);
    if (c && !c->is_hidden) {
        slash_run_call(s, j, c);
        return 0;
    }
    if (!c && mcp_prompt_is(s->host, buf_str(&j->name), s->cancel)) {
        j->command = &slash_mcp_prompt_entry;
        buf_insert(&j->args, 0, STR(" "));
        buf_insert(&j->args, 0, buf_str(&j->name));
        slash_run_call(s, j, /*own=*/NULL);
        return 0;
    }
    if (slash_is_path(buf_str(&j->name)))
        return slash_run_input(s, j, ret_err);
    nearest_init(&near, buf_str(&j->name));
    for (size_t i = 0; i < slash_count(); i++)
        nearest_offer(&near, str_of(slash_at(i)->name));
    VEC_EACH(&own->commands, o) {
        if (!o->is_hidden)
            nearest_offer(&near, o->name);
    }
    if (c && c->is_users)
        err_set(&err, ERR_DENIED, "/%.*s is switched off", STR_ARG(c->name));
    else if (c)
        err_set(&err, ERR_DENIED, "/%.*s is for the model: its file says user-invocable: false",
                STR_ARG(c->name));
    else
        err_set(&err, ERR_NOT_FOUND, "there is no command /%.*s%s%.*s%s; /help lists them",
                STR_ARG(str_clip(buf_str(&j->name), 80)), near.best.len ? " (did you mean /" : "",
                STR_ARG(near.best), near.best.len ? "?)" : "");
    slash_tell(s, j, &none, &err);
    slash_call_release(&none);
    return 0;
}

/* The session's agent type may have an initial prompt. */
static void add_first_prompt(struct host *h, struct agent_input *in)
{
    CLEANUP(buf_release) struct buf first = BUF_INIT(BUF_NO_LIMIT);
    struct message *old = in->message;

    if (!old || !host_take_first_prompt(h, &first))
        return;
    in->message = message_user_text(buf_str(&first));
    for (size_t i = 0; i < old->len; i++)
        (void)message_add(in->message, &old->blocks[i]);
    message_unref(old);
}

static int slash_run_input(struct slash *s, struct slash_job *j, struct err *err)
{
    add_first_prompt(s->host, j->input);
    j->is_passed = true;
    return host_pass(s->host, j->input, err);
}

/* The session is being left, or input came too late: prompts are kept for the resumed session,
 * commands are not run. */
static void slash_run_never(struct slash *s, struct slash_job *j)
{
    struct slash_call none = {.slash = s,
                              .host = s->host,
                              .text = BUF_INIT(SLASH_MAX_ANSWER),
                              .color = BUF_INIT(SLASH_MAX_ANSWER)};
    struct err err = {0};

    if (j->kind == JOB_INPUT || (j->kind == JOB_OWN && slash_is_path(buf_str(&j->name)))) {
        if (host_keep(s->host, j->input, &err) < 0)
            host_notice(s->host, LEVEL_ERROR, str_of(err.text));
        return;
    }
    if (cancel_is_set(s->cancel))
        err_set(&err, ERR_CANCELLED, "the session was left before this could run");
    else
        err_set(&err, ERR_TIMEOUT, "another command was at work for too long");
    if (j->answer)
        j->answer(j->arg, &none, &err);
    else
        slash_tell(s, j, &none, &err);
    slash_call_release(&none);
}

static void slash_run_refuse(struct slash *s, const struct slash_job *j)
{
    host_answer(s->host,
                &(struct host_answer){
                    .command = "", .text = buf_str(&j->args), .is_error = true, .counts = true});
}

int slash_run(struct slash *s, struct slash_job *j, struct err *err)
{
    if (j->kind == JOB_REFUSE)
        slash_run_refuse(s, j);
    else if ((j->kind != JOB_FINISH && cancel_is_set(s->cancel)) ||
             (j->until_ms && clock_mono_ms() > j->until_ms))
        slash_run_never(s, j);
    else if (j->kind == JOB_COMMAND)
        slash_run_command(s, j);
    else if (j->kind == JOB_OWN)
        return slash_run_own(s, j, err);
    else if (j->kind == JOB_INPUT)
        return slash_run_input(s, j, err);
    else
        host_finish(s->host, j->fn, j->arg);
    return 0;
}
