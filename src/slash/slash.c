/*
 * slash: the table of commands, and the thread they run on.
 *
 * The thread is started by the first command; a session without one never has it. Everything that
 * must keep its place behind a command (words for the model, the end of input) goes through the
 * same mailbox as long as one is at work.
 */
#include "slash/slash.h"

#include <string.h>

#include "agent/agent.h"
#include "agent/event.h"
#include "base/mem.h"
#include "conf/conf.h"
#include "goal/argument.h"
#include "host/host.h"
#include "llm/message.h"
#include "slash/commands.h"
#include "sync/cancel.h"
#include "sync/mailbox.h"
#include "sync/thread.h"

#define SLASH_MAX_ANSWER ((size_t)4 << 20)
#define SLASH_MAX_WAITING 1000

/* Order is that of lists. */
static const struct slash_command commands[] = {
    {"goal", "[<condition> | clear]", "Work until a condition holds; tenax checks it itself",
     "goal.enabled", slash_goal_run},
};

size_t slash_count(void)
{
    return ARRAY_LEN(commands);
}

const struct slash_command *slash_at(size_t i)
{
    return &commands[i];
}

bool slash_is_listed(const struct slash_command *c, const struct conf *conf)
{
    return !c->setting || conf_get_bool(conf, c->setting, true);
}

const struct slash_command *slash_find(struct str text, struct str *ret_args)
{
    text = str_trim(text);
    if (!str_starts(text, STR("/")))
        return NULL;
    text = str_from(text, 1);
    for (size_t i = 0; i < ARRAY_LEN(commands); i++) {
        struct str name = str_of(commands[i].name);
        struct str rest = str_from(text, name.len);

        if (!str_starts(text, name) || (rest.len && !strchr(" \t\r\n", rest.ptr[0])))
            continue; /* "/goals" is another word */
        if (ret_args)
            *ret_args = str_trim(rest);
        return &commands[i];
    }
    return NULL;
}

/* ---- the thread ---- */

struct slash {
    struct host *host;
    struct cancel *cancel;
    struct mailbox *mailbox;
    struct lock lock; /* of what follows */
    struct thread *thread;
    size_t waiting; /* mails that have not been dealt with */
    struct slash_end end;
};

enum job_kind {
    JOB_COMMAND,
    JOB_INPUT, /* said behind a command */
    JOB_FINISH,
    JOB_STOP,
};

struct job {
    struct mail mail;
    enum job_kind kind;
    const struct slash_command *command;
    struct agent_input input; /* its message is what was typed; NULL: nothing was */
    struct buf args;
    struct goal_argument *goal; /* NULL: args count */
    slash_answer_fn answer;     /* NULL: host_answer() */
    void (*fn)(void *arg);      /* of JOB_FINISH */
    void *arg;                  /* of both */
};

static void job_free(struct mail *m)
{
    struct job *j = (struct job *)m;

    message_unrefp(&j->input.message);
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
        .command = j->command->name,
        .is_error = err,
        .goes_on = !err && call->goes_on,
    };

    if (err) {
        buf_clear(&call->text);
        buf_adds(&call->text, err->text[0] ? err->text : err_code_text(err->code));
    }
    answer.text = str_trim(buf_str(&call->text));
    slash_note_end(s, err ? err->code : ERR_NONE, answer.goes_on);
    host_answer(s->host, &answer);
}

static void slash_run_command(struct slash *s, struct job *j)
{
    struct slash_call call = {
        .host = s->host,
        .args = buf_str(&j->args),
        .goal = j->goal,
        .is_client = j->answer != NULL,
        .cancel = s->cancel,
        .text = BUF_INIT(SLASH_MAX_ANSWER),
    };
    struct err err = {0};
    bool failed = j->command->run(&call, &err) < 0;

    if (j->answer)
        j->answer(j->arg, &call, failed ? &err : NULL);
    else
        slash_tell(s, j, &call, failed ? &err : NULL);
    /* Only now: what it answers comes before what it sets going. */
    if (!failed && call.goes_on && host_wake(s->host, &err) < 0) {
        slash_note_end(s, err.code, /*goes_on=*/false);
        host_notice(s->host, LEVEL_ERROR, str_of(err.text));
    }
    buf_release(&call.text);
}

static void slash_run_input(struct slash *s, struct job *j)
{
    struct err err = {0};

    if (host_send(s->host, &j->input, &err) < 0)
        host_notice(s->host, LEVEL_ERROR, str_of(err.text));
    j->input.message = NULL; /* taken either way */
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
        if (j->kind == JOB_COMMAND)
            slash_run_command(s, j);
        else if (j->kind == JOB_INPUT)
            slash_run_input(s, j);
        else if (j->kind == JOB_FINISH)
            host_finish(s->host, j->fn, j->arg);
        else
            stopped = true;
        lock_take(&s->lock);
        s->waiting--;
        lock_give(&s->lock);
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

void slash_free(struct slash *s)
{
    if (!s)
        return;
    cancel_set(s->cancel);
    if (s->thread) {
        mailbox_send(s->mailbox, &job_new(JOB_STOP)->mail);
        thread_join(s->thread);
    }
    mailbox_close(s->mailbox);
    mailbox_unref(s->mailbox);
    cancel_unref(s->cancel);
    lock_release(&s->lock);
    mem_freep(&s);
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
    if (only_behind && !s->waiting)
        rc = 1;
    else if (s->waiting >= SLASH_MAX_WAITING && j->kind != JOB_FINISH)
        rc = err_set(err, ERR_TOO_BIG, "%d commands wait already", SLASH_MAX_WAITING);
    else if (!s->thread)
        s->thread = thread_start("commands", slash_loop, s, err);
    if (rc == 0 && !s->thread)
        rc = -1;
    if (rc == 0) {
        s->waiting++;
        mailbox_send(s->mailbox, &j->mail);
    }
    lock_give(&s->lock);
    return rc;
}

static const struct slash_command *slash_of_input(const struct agent_input *in,
                                                  struct str *ret_args)
{
    const struct message *m = in->is_literal || in->no_query ? NULL : in->message;

    if (!m || m->len != 1 || m->blocks[0].kind != BLOCK_TEXT)
        return NULL;
    return slash_find(m->blocks[0].text, ret_args);
}

int slash_send(struct slash *s, struct agent_input *input, struct err *err)
{
    struct str args = STR("");
    const struct slash_command *command = slash_of_input(input, &args);
    struct job *j = job_new(command ? JOB_COMMAND : JOB_INPUT);
    int rc = 1;

    j->command = command;
    buf_add(&j->args, args);
    j->input = *input;
    if (command || input->when == INPUT_LATER)
        rc = slash_put(s, j, /*only_behind=*/!command, err);
    input->message = NULL;
    if (rc == 1) {
        rc = host_send(s->host, &j->input, err);
        j->input.message = NULL; /* taken either way */
        job_free(&j->mail);
    } else if (rc < 0) {
        job_free(&j->mail);
    }
    return rc;
}

int slash_goal(struct slash *s, struct goal_argument *goal, struct err *err)
{
    struct job *j = job_new(JOB_COMMAND);

    j->command = slash_find(STR("/goal"), /*ret_args=*/NULL);
    j->goal = mem_zalloc(sizeof(*j->goal));
    *j->goal = *goal;
    *goal = (struct goal_argument)GOAL_ARGUMENT_INIT;
    if (slash_put(s, j, /*only_behind=*/false, err) == 0)
        return 0;
    job_free(&j->mail);
    return -1;
}

int slash_ask(struct slash *s, const struct slash_command *command, struct str args,
              slash_answer_fn fn, void *arg, struct err *err)
{
    struct job *j = job_new(JOB_COMMAND);

    j->command = command;
    buf_add(&j->args, args);
    j->answer = fn;
    j->arg = arg;
    if (slash_put(s, j, /*only_behind=*/false, err) == 0)
        return 0;
    job_free(&j->mail);
    return -1;
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
