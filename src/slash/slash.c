/*
 * slash: the thread that commands run on, and the way to it.
 *
 * The thread is started by the first command; a session without one never has it. Everything that
 * must keep its place behind a command (words for the model, the end of input) goes through the
 * same mailbox as long as one is at work.
 */
#include "slash/slash.h"

#include <string.h>
#include <unistd.h>

#include "agent/agent.h"
#include "agent/event.h"
#include "base/arena.h"
#include "base/clock.h"
#include "base/mem.h"
#include "conf/nearest.h"
#include "goal/argument.h"
#include "host/feed.h"
#include "host/host.h"
#include "llm/message.h"
#include "slash/commands.h"
#include "slash/expand.h"
#include "slash/front.h"
#include "slash/own.h"
#include "slash/prompt.h"
#include "sync/cancel.h"
#include "sync/mailbox.h"
#include "sync/thread.h"

#define SLASH_MAX_ANSWER ((size_t)4 << 20)
#define SLASH_MAX_WAITING 1000
#define SLASH_MAX_ID 1000

struct job;

struct slash {
    struct host *host;
    struct cancel *cancel;
    const struct slash_front *front; /* NULL: none */
    slash_anew_fn anew;              /* NULL: it cannot be */
    void *anew_arg;
    struct mailbox *mailbox;
    struct lock lock; /* of what follows */
    struct thread *thread;
    VEC(struct job *) jobs; /* that have not been dealt with, in order; the mailbox owns them */
    struct slash_end end;
    struct cancel *running; /* of the command at work; NULL: none is */
    bool is_left;           /* for another session: what is said behind that is not for this one */
    slash_input_vec behind; /* it is for that one */
    struct own_list *own;   /* as it was last read; NULL: nobody has asked */
};

enum job_kind {
    JOB_COMMAND,
    JOB_OWN,   /* "/name": a command of the person's own, or none at all */
    JOB_INPUT, /* said behind a command */
    JOB_FINISH,
    JOB_STOP,
};

struct job {
    struct mail mail;
    enum job_kind kind;
    bool has_begun, is_withdrawn; /* under the lock */
    int64_t until_ms;             /* when nobody waits for it any more; 0: somebody always does */
    const struct slash_command *command;
    struct agent_input input; /* its message is what was typed; NULL: nothing was */
    struct buf name;          /* of the command */
    struct buf args;
    struct goal_argument *goal; /* NULL: args count */
    slash_answer_fn answer;     /* NULL: host_answer() */
    void (*fn)(void *arg);      /* of JOB_FINISH */
    void *arg;                  /* of both */
};

static void job_free(struct mail *m)
{
    struct job *j = (struct job *)m;

    agent_input_release(&j->input);
    buf_release(&j->name);
    buf_release(&j->args);
    if (j->goal)
        goal_argument_release(j->goal);
    mem_freep(&j->goal);
    mem_freep(&j);
}

static const struct mail_kind job_mail_kind = {"slash", job_free};

static struct job *job_new(enum job_kind kind)
{
    struct job *j = mem_zalloc(sizeof(*j));

    j->mail.kind = &job_mail_kind;
    j->kind = kind;
    buf_init(&j->name, SLASH_MAX_ANSWER);
    buf_init(&j->args, SLASH_MAX_ANSWER);
    return j;
}

static void slash_note_end(struct slash *s, enum err_code failed, bool goes_on)
{
    lock_take(&s->lock);
    if (failed)
        s->end.failed = failed;
    s->end.goes_on = s->end.goes_on || goes_on;
    lock_give(&s->lock);
}

/* Observers are told. */
static void slash_tell(struct slash *s, struct job *j, struct slash_call *call,
                       const struct err *err)
{
    struct host_answer answer = {
        .input = &j->input,
        .command = buf_cstr(&j->name),
        .is_error = err,
        .goes_on = !err && call->goes_on,
    };

    if (err) {
        buf_clear(&call->text);
        buf_adds(&call->text, err->text[0] ? err->text : err_code_text(err->code));
    }
    answer.text = str_trim(buf_str(&call->text));
    /* Without a code in it, it says the same once more. */
    if (!err && call->color.len > call->text.len)
        answer.color = str_trim(buf_str(&call->color));
    slash_note_end(s, err ? err->code : ERR_NONE, answer.goes_on);
    host_answer(s->host, &answer);
}

/* What is said behind a switch is for the session that is switched to. */
static void slash_leave(struct slash *s, bool is_left)
{
    lock_take(&s->lock);
    s->is_left = is_left;
    lock_give(&s->lock);
}

static bool slash_is_left(struct slash *s)
{
    bool is_left;

    lock_take(&s->lock);
    is_left = s->is_left;
    lock_give(&s->lock);
    return is_left;
}

/* Nothing else is begun meanwhile: whether it is for this session is known then. */
static void slash_go(const struct slash_call *call, enum front_switch how)
{
    const struct slash_front *front = call->front;
    struct slash *s = call->slash;
    struct err err = {0};
    int rc;

    slash_leave(s, true);
    if (front)
        rc = front->go(front->arg, how, buf_str(&call->session), &err);
    else
        rc = s->anew(s->anew_arg, &err);
    if (rc == 0)
        return;
    slash_leave(s, false);
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

static void slash_call_release(struct slash_call *call)
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

/* Who can be interrupted. */
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

/* own NULL: the command is a row of the table. */
static void slash_run_call(struct slash *s, struct job *j, const struct own_command *own)
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
    failed = own ? expand_command(&call, own, &err) < 0 : j->command->run(&call, &err) < 0;
    slash_begin(s, /*running=*/NULL);
    if (!failed && call.prompt.len && !j->answer)
        failed = prompt_send(&call, buf_str(&j->name), &j->input, &err) < 0;
    if (j->answer)
        j->answer(j->arg, &call, failed ? &err : NULL);
    else if (failed || !call.prompt.len)
        slash_tell(s, j, &call, failed ? &err : NULL);
    /* Only now: what it answers comes before what it sets going. */
    if (!failed && call.goes_on && host_wake(s->host, &err) < 0) {
        slash_note_end(s, err.code, /*goes_on=*/false);
        host_notice(s->host, LEVEL_ERROR, str_of(err.text));
    }
    if (!failed)
        slash_do_after(&call);
}

static void slash_run_input(struct slash *s, struct job *j);

/* "/tmp is full" is about a folder. */
static bool slash_is_path(struct str name)
{
    CLEANUP(buf_release) struct buf path = BUF_INIT(4096);

    buf_addf(&path, "/%.*s", STR_ARG(str_clip(name, 255)));
    return access(buf_cstr(&path), F_OK) == 0;
}

static void slash_run_own(struct slash *s, struct job *j)
{
    CLEANUP(own_list_unrefp) struct own_list *own = slash_own(s);
    const struct own_command *c = own_find(own, buf_str(&j->name));
    struct slash_call none = {.text = BUF_INIT(SLASH_MAX_ANSWER)};
    struct nearest near;
    struct err err = {0};

    if (c && !c->is_hidden) {
        slash_run_call(s, j, c);
        return;
    }
    if (slash_is_path(buf_str(&j->name))) {
        slash_run_input(s, j);
        return;
    }
    nearest_init(&near, buf_str(&j->name));
    for (size_t i = 0; i < slash_count(); i++)
        nearest_offer(&near, str_of(slash_at(i)->name));
    VEC_EACH(&own->commands, o) {
        nearest_offer(&near, o->name);
    }
    err_set(&err, ERR_NOT_FOUND, "there is no command /%.*s%s%.*s%s; /help lists them",
            STR_ARG(str_clip(buf_str(&j->name), 80)), near.best.len ? " (did you mean /" : "",
            STR_ARG(near.best), near.best.len ? "?)" : "");
    slash_tell(s, j, &none, &err);
    buf_release(&none.text);
}

static void slash_run_input(struct slash *s, struct job *j)
{
    struct err err = {0};

    if (host_send(s->host, &j->input, &err) < 0) {
        struct event *e = host_event(s->host, EVENT_NOTICE);

        e->level = LEVEL_ERROR;
        e->id = arena_str(&e->arena, str_of(j->input.uuid));
        e->text = arena_str(&e->arena, str_of(err.text));
        feed_emit(host_feed(s->host), e, /*cancel=*/NULL);
    }
    j->input.message = NULL; /* taken either way */
    j->input.command = NULL;
}

/* The session is left before its turn came, or it came too late: words are there when the session
 * goes on, a command is not run. */
static void slash_run_never(struct slash *s, struct job *j)
{
    struct slash_call none = {.slash = s, .host = s->host, .text = BUF_INIT(SLASH_MAX_ANSWER)};
    struct err err = {0};

    if (j->kind == JOB_INPUT || (j->kind == JOB_OWN && slash_is_path(buf_str(&j->name)))) {
        if (host_keep(s->host, &j->input, &err) < 0)
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
    buf_release(&none.text);
}

static bool slash_is_for_next(struct slash *s, const struct job *j)
{
    return j->kind != JOB_FINISH && !j->answer && slash_is_left(s);
}

/* Without a message it is a person's own ("!", "#"), whose front end says it again. */
static void slash_put_behind(struct slash *s, struct job *j)
{
    if (!j->input.message)
        return;
    vec_push(&s->behind, j->input);
    j->input.message = NULL;
    j->input.command = NULL;
}

static void slash_run(struct slash *s, struct job *j)
{
    if (slash_is_for_next(s, j))
        slash_put_behind(s, j);
    else if ((j->kind != JOB_FINISH && cancel_is_set(s->cancel)) ||
             (j->until_ms && clock_mono_ms() > j->until_ms))
        slash_run_never(s, j);
    else if (j->kind == JOB_COMMAND)
        slash_run_call(s, j, /*own=*/NULL);
    else if (j->kind == JOB_OWN)
        slash_run_own(s, j);
    else if (j->kind == JOB_INPUT)
        slash_run_input(s, j);
    else
        host_finish(s->host, j->fn, j->arg);
}

/* False: it was taken back meanwhile. */
static bool slash_take_up(struct slash *s, struct job *j)
{
    lock_take(&s->lock);
    j->has_begun = !j->is_withdrawn;
    lock_give(&s->lock);
    return j->has_begun;
}

static void slash_done(struct slash *s)
{
    lock_take(&s->lock);
    memmove(s->jobs.ptr, s->jobs.ptr + 1, (s->jobs.len - 1) * sizeof(s->jobs.ptr[0]));
    s->jobs.len--;
    lock_give(&s->lock);
}

/* Something that was said, and can be taken back. The lock is held. */
static bool job_waits(const struct job *j)
{
    return j->input.message && !j->has_begun && !j->is_withdrawn;
}

bool slash_unqueue(struct slash *s, struct str uuid)
{
    bool found = false;

    lock_take(&s->lock);
    for (size_t i = 0; i < s->jobs.len && !found; i++) {
        struct job *j = s->jobs.ptr[i];

        found = job_waits(j) && str_is(uuid, j->input.uuid);
        if (found)
            j->is_withdrawn = true;
    }
    lock_give(&s->lock);
    return found;
}

void slash_queued(struct slash *s, bool drop, struct strv *ret)
{
    lock_take(&s->lock);
    VEC_EACH(&s->jobs, j) {
        if (!job_waits(*j))
            continue;
        strv_adds(ret, (*j)->input.uuid);
        (*j)->is_withdrawn = drop;
    }
    lock_give(&s->lock);
}

/* The commands' thread. */
static void slash_loop(void *arg)
{
    struct slash *s = arg;
    bool stopped = false;

    while (!stopped) {
        struct mail *m = NULL;
        struct job *j;

        if (mailbox_take(s->mailbox, /*cancel=*/NULL, /*deadline_ms=*/-1, &m, NULL) < 0)
            return;
        j = (struct job *)m;
        stopped = j->kind == JOB_STOP;
        if (!stopped && slash_take_up(s, j))
            slash_run(s, j);
        if (!stopped)
            slash_done(s);
        mail_free(m);
    }
}

struct slash *slash_new(struct host *h, struct cancel *cancel)
{
    struct slash *s = mem_zalloc(sizeof(*s));

    s->host = h;
    s->cancel = cancel_new(cancel);
    s->mailbox = mailbox_new();
    lock_init(&s->lock);
    return s;
}

void slash_set_front(struct slash *s, const struct slash_front *front)
{
    s->front = front;
}

void slash_inputs_release(slash_input_vec *inputs)
{
    VEC_EACH(inputs, in) {
        agent_input_release(in);
    }
    vec_release(inputs);
}

void slash_set_anew(struct slash *s, slash_anew_fn fn, void *arg)
{
    s->anew = fn;
    s->anew_arg = arg;
}

bool slash_can_begin_anew(const struct slash *s)
{
    return s->front || s->anew;
}

void slash_free(struct slash *s)
{
    slash_input_vec behind = VEC_INIT;

    slash_free_left(s, &behind);
    slash_inputs_release(&behind);
}

void slash_free_left(struct slash *s, slash_input_vec *ret_behind)
{
    if (!s)
        return;
    cancel_set(s->cancel);
    if (s->thread) {
        mailbox_send(s->mailbox, &job_new(JOB_STOP)->mail);
        thread_join(s->thread);
    }
    *ret_behind = s->behind;
    mailbox_close(s->mailbox);
    mailbox_unref(s->mailbox);
    cancel_unref(s->cancel);
    own_list_unref(s->own);
    vec_release(&s->jobs);
    lock_release(&s->lock);
    mem_freep(&s);
}

/* Read without the lock: it looks at folders. Two at once read twice, and one of them counts. */
struct own_list *slash_own(struct slash *s)
{
    const struct conf *conf = host_conf(s->host);
    struct own_list *now;
    struct own_list *old = NULL;

    lock_take(&s->lock);
    now = s->own ? own_list_ref(s->own) : NULL;
    lock_give(&s->lock);
    if (now && own_is_fresh(now, conf))
        return now;
    own_list_unref(now);
    now = own_read(conf);
    lock_take(&s->lock);
    old = s->own;
    s->own = own_list_ref(now);
    lock_give(&s->lock);
    own_list_unref(old);
    return now;
}

void slash_list(struct slash *s, struct arena *arena, slash_item_vec *ret)
{
    CLEANUP(own_list_unrefp) struct own_list *own = slash_own(s);

    for (size_t i = 0; i < slash_count(); i++) {
        const struct slash_command *c = slash_at(i);

        if (slash_is_listed(c, host_conf(s->host)))
            vec_push(ret, ((struct slash_item){.name = str_of(c->name),
                                               .hint = str_of(c->hint),
                                               .summary = str_of(c->summary)}));
    }
    VEC_EACH(&own->commands, c) {
        if (!c->is_hidden)
            vec_push(ret, ((struct slash_item){.name = arena_str(arena, c->name),
                                               .hint = arena_str(arena, c->hint),
                                               .summary = arena_str(arena, c->summary),
                                               .is_own = true,
                                               .is_skill = c->is_skill}));
    }
}

struct slash_end slash_end(struct slash *s)
{
    struct slash_end end;

    lock_take(&s->lock);
    end = s->end;
    lock_give(&s->lock);
    return end;
}

/* Takes the job. only_behind: only when others are there already; 1: it was not taken. */
static int slash_put(struct slash *s, struct job *j, bool only_behind, struct err *err)
{
    int rc = 0;

    lock_take(&s->lock);
    if (only_behind && !s->jobs.len && !s->is_left)
        rc = 1;
    else if (s->jobs.len >= SLASH_MAX_WAITING && j->kind != JOB_FINISH)
        rc = err_set(err, ERR_TOO_BIG, "%d commands wait already", SLASH_MAX_WAITING);
    else if (!s->thread)
        s->thread = thread_start("commands", slash_loop, s, err);
    if (rc == 0 && !s->thread)
        rc = -1;
    if (rc == 0) {
        vec_push(&s->jobs, j);
        mailbox_send(s->mailbox, &j->mail);
    }
    lock_give(&s->lock);
    return rc;
}

static bool is_name(struct str s)
{
    for (size_t i = 0; i < s.len; i++) {
        if (!str_is_alnum(s.ptr[i]) && !strchr("-_.:", s.ptr[i]))
            return false;
    }
    return s.len > 0;
}

/* What becomes of it: JOB_INPUT: it is for the model, or the agent takes it up itself. */
static void job_of_input(struct job *j, const struct agent_input *in)
{
    const struct message *m = in->is_literal || in->no_query ? NULL : in->message;
    struct str name;
    struct str args;

    j->kind = JOB_INPUT;
    if (!m || m->len != 1 || m->blocks[0].kind != BLOCK_TEXT ||
        !slash_split(m->blocks[0].text, &name, &args) || !is_name(name))
        return;
    j->command = slash_find(m->blocks[0].text, /*ret_args=*/NULL);
    if (j->command && !j->command->run)
        return;
    j->kind = j->command ? JOB_COMMAND : JOB_OWN;
    buf_add(&j->name, j->command ? str_of(j->command->name) : name);
    buf_add(&j->args, args);
}

int slash_send(struct slash *s, struct agent_input *input, struct err *err)
{
    struct job *j = job_new(JOB_INPUT);
    int rc = 1;

    job_of_input(j, input);
    j->input = *input;
    /* What interrupts waits for nothing but the session it is for. */
    if (j->kind != JOB_INPUT || input->when != INPUT_NOW || slash_is_left(s))
        rc = slash_put(s, j, /*only_behind=*/j->kind == JOB_INPUT, err);
    input->message = NULL;
    input->command = NULL;
    if (rc == 1) {
        rc = host_send(s->host, &j->input, err);
        j->input.message = NULL; /* taken either way */
        j->input.command = NULL;
        job_free(&j->mail);
    } else if (rc < 0) {
        job_free(&j->mail);
    }
    return rc;
}

/* A command that nobody has typed as such. */
static int slash_put_command(struct slash *s, struct job *j, const struct slash_command *command,
                             struct str args, struct err *err)
{
    j->command = command;
    buf_adds(&j->name, command->name);
    buf_add(&j->args, str_trim(args));
    if (slash_put(s, j, /*only_behind=*/false, err) == 0)
        return 0;
    job_free(&j->mail);
    return -1;
}

int slash_shell(struct slash *s, struct str command, struct err *err)
{
    return slash_put_command(s, job_new(JOB_COMMAND), &slash_shell_entry, command, err);
}

int slash_note(struct slash *s, struct str note, struct err *err)
{
    return slash_put_command(s, job_new(JOB_COMMAND), &slash_note_entry, note, err);
}

int slash_goal(struct slash *s, struct goal_argument *goal, struct err *err)
{
    struct job *j = job_new(JOB_COMMAND);

    j->goal = mem_zalloc(sizeof(*j->goal));
    *j->goal = *goal;
    *goal = (struct goal_argument)GOAL_ARGUMENT_INIT;
    return slash_put_command(s, j, &slash_goal_entry, STR(""), err);
}

int slash_ask(struct slash *s, const struct slash_command *command, struct str args,
              int64_t wait_ms, slash_answer_fn fn, void *arg, struct err *err)
{
    struct job *j = job_new(JOB_COMMAND);

    j->until_ms = wait_ms > 0 ? clock_mono_ms() + wait_ms : 0;
    j->answer = fn;
    j->arg = arg;
    return slash_put_command(s, j, command, args, err);
}

void slash_finish(struct slash *s, void (*fn)(void *arg), void *arg)
{
    struct job *j = job_new(JOB_FINISH);

    j->fn = fn;
    j->arg = arg;
    if (slash_put(s, j, /*only_behind=*/true, /*err=*/NULL) == 0)
        return;
    job_free(&j->mail);
    host_finish(s->host, fn, arg);
}
