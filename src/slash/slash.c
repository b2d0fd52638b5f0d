/*
 * slash: the thread that commands run on, and the way to it.
 *
 * The thread is started by the first command; a session without one never has it. Everything that
 * must keep its place behind a command (words for the model, the end of input) goes through the
 * same mailbox as long as one is at work.
 */
#include "slash/slash.h"

#include <string.h>

#include "agent/agent.h"
#include "base/arena.h"
#include "base/clock.h"
#include "base/mem.h"
#include "goal/argument.h"
#include "host/host.h"
#include "llm/message.h"
#include "slash/commands.h"
#include "slash/job.h"
#include "slash/own.h"
#include "slash/own_now.h"
#include "sync/cancel.h"
#include "sync/mailbox.h"
#include "sync/thread.h"

#define SLASH_MAX_WAITING 1000

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

/* What is said behind a switch is for the session that is switched to. The lock is held. */
static bool slash_is_for_next(const struct slash *s, const struct job *j)
{
    return j->kind != JOB_FINISH && !j->answer && s->is_left;
}

/* Without a message it is a person's own ("!", "#"), whose front end says it again. The lock is
 * held. */
static void slash_put_behind(struct slash *s, struct job *j)
{
    if (!j->input.message)
        return;
    vec_push(&s->behind, j->input);
    j->input.message = NULL;
    j->input.command = NULL;
}

/* False: it was taken back meanwhile, or is for another session. */
static bool slash_take_up(struct slash *s, struct job *j)
{
    lock_take(&s->lock);
    if (!j->is_withdrawn && slash_is_for_next(s, j))
        slash_put_behind(s, j);
    else
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

/* The lock is held. */
static bool slash_unqueue_behind(struct slash *s, struct str uuid)
{
    struct agent_input *all = s->behind.ptr;
    size_t i = 0;

    while (i < s->behind.len && !str_is(uuid, all[i].uuid))
        i++;
    if (i == s->behind.len)
        return false;
    agent_input_release(&all[i]);
    s->behind.len--;
    memmove(all + i, all + i + 1, (s->behind.len - i) * sizeof(all[0]));
    return true;
}

bool slash_unqueue(struct slash *s, struct str uuid)
{
    bool found;

    lock_take(&s->lock);
    found = slash_unqueue_behind(s, uuid);
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
    VEC_EACH(&s->behind, in) {
        strv_adds(ret, in->uuid);
    }
    if (drop)
        slash_inputs_release(&s->behind);
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
    s->own = own_now_new(h);
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

void slash_set_anew(struct slash *s, slash_anew_fn fn, void *arg, void (*release)(void *arg))
{
    s->anew = fn;
    s->anew_arg = arg;
    s->anew_release = release;
}

bool slash_can_begin_anew(const struct slash *s)
{
    return s->front || s->anew;
}

/* No other command is begun from here on. */
static void slash_stop(struct slash *s)
{
    cancel_set(s->cancel);
    if (s->thread) {
        mailbox_send(s->mailbox, &job_new(JOB_STOP)->mail);
        thread_join(s->thread);
    }
}

static void slash_release(struct slash *s)
{
    if (s->anew)
        s->anew_release(s->anew_arg);
    mailbox_close(s->mailbox);
    mailbox_unref(s->mailbox);
    cancel_unref(s->cancel);
    own_now_unref(s->own);
    vec_release(&s->jobs);
    lock_release(&s->lock);
    mem_freep(&s);
}

void slash_free_left(struct slash *s, slash_input_vec *ret_behind)
{
    if (!s)
        return;
    slash_stop(s);
    *ret_behind = s->behind;
    slash_release(s);
}

struct own_list *slash_own(struct slash *s)
{
    host_reload(s->host); /* it may have changed, and hooks may have a say in that */
    return own_now_get(s->own);
}

void slash_own_folders(struct slash *s, struct strv *ret)
{
    own_now_folders(s->own, ret);
}

void slash_list(struct slash *s, struct arena *arena, slash_item_vec *ret)
{
    CLEANUP(own_list_unrefp) struct own_list *own = own_now_get(s->own);

    for (size_t i = 0; i < slash_count(); i++) {
        const struct slash_command *c = slash_at(i);

        if (slash_is_listed(c, host_conf(s->host)) &&
            !(c->gives_way && own_find(own, str_of(c->name))))
            vec_push(ret, ((struct slash_item){.name = str_of(c->name),
                                               .aliases = str_of(c->aliases ? c->aliases : ""),
                                               .hint = str_of(c->hint),
                                               .summary = str_of(c->summary),
                                               .in_terminal = c->in_terminal}));
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
        !slash_split(m->blocks[0].text, &name, &args) ||
        !is_name(name.len ? name : slash_word(args)))
        return;
    j->command = slash_find(m->blocks[0].text, /*ret_args=*/NULL);
    if (j->command && !j->command->run)
        return;
    j->kind = j->command ? JOB_COMMAND : JOB_OWN;
    buf_add(&j->name, j->command ? str_of(j->command->name) : name);
    buf_add(&j->args, args);
}

/* The session that they are for was never begun. */
static void slash_keep_behind(struct slash *s)
{
    VEC_EACH(&s->behind, in) {
        struct job *j = job_new(JOB_INPUT);

        job_of_input(j, in);
        j->input = *in;
        slash_run(s, j); /* we are about to end: it is kept, or told that it is not run */
        job_free(&j->mail);
    }
    vec_release(&s->behind);
}

void slash_free(struct slash *s)
{
    if (!s)
        return;
    slash_stop(s);
    slash_keep_behind(s);
    slash_release(s);
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
