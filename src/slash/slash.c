/*
 * slash: reads a session's inputs (agent/input.h) and runs commands on a thread.
 *
 * The sender of input processes the unread inputs as long as they are prompts; the first command is
 * left to the commands' thread, which is started for it and continues reading from there.
 */
#include "slash/slash.h"

#include <string.h>

#include "agent/event.h"
#include "agent/input.h"
#include "base/arena.h"
#include "base/clock.h"
#include "base/mem.h"
#include "conf/conf.h"
#include "goal/argument/argument.h"
#include "host/events/feed.h"
#include "host/host.h"
#include "llm/message.h"
#include "slash/commands.h"
#include "slash/job.h"
#include "slash/mcp_prompt.h"
#include "slash/own.h"
#include "slash/own_now.h"
#include "slash/skill_tool.h"
#include "sync/cancel.h"
#include "sync/mailbox.h"
#include "sync/thread.h"

/* Mail for the commands' thread: there is something to read. */
static void nudge_free(struct mail *m)
{
    mem_freep(&m);
}

static const struct mail_kind nudge_kind = {"slash", nudge_free};
static const struct mail_kind stop_kind = {"slash stop", nudge_free};

static void slash_nudge(struct mailbox *mailbox, const struct mail_kind *kind)
{
    struct mail *m = mem_zalloc(sizeof(*m));

    m->kind = kind;
    mailbox_send(mailbox, m);
}

/* The agent has nothing left to do: a command that waited for that can run. */
static void slash_on_settled(void *arg)
{
    slash_nudge(arg, &nudge_kind);
}

static void slash_release_mailbox(void *arg)
{
    mailbox_unref(arg);
}

static void job_free(struct input_order *o)
{
    struct slash_job *j = (struct slash_job *)o;

    buf_release(&j->name);
    buf_release(&j->args);
    if (j->goal)
        goal_argument_release(j->goal);
    mem_freep(&j->goal);
    mem_freep(&j);
}

static struct slash_job *job_new(enum job_kind kind)
{
    struct slash_job *j = mem_zalloc(sizeof(*j));

    j->order.free = job_free;
    j->kind = kind;
    buf_init(&j->name, SLASH_MAX_ANSWER);
    buf_init(&j->args, SLASH_MAX_ANSWER);
    return j;
}

/* Whether nothing is left to wait for: all earlier input has been answered. */
static bool slash_has_settled(struct slash *s)
{
    return cancel_is_set(s->cancel) || host_has_settled(s->host);
}

static bool slash_is_left(struct slash *s)
{
    bool is_left;

    lock_take(&s->lock);
    is_left = s->is_left;
    lock_give(&s->lock);
    return is_left;
}

static bool is_name(struct str s)
{
    for (size_t i = 0; i < s.len; i++) {
        if (!str_is_alnum(s.ptr[i]) && !strchr("-_.:", s.ptr[i]))
            return false;
    }
    return s.len > 0;
}

static void job_is_command(struct slash_job *j, const struct slash_command *command,
                           struct str args)
{
    j->kind = JOB_COMMAND;
    j->command = command;
    buf_adds(&j->name, command->name);
    buf_add(&j->args, str_trim(args));
}

/* Recognizes commands; everything else is a prompt. */
static void job_read(struct slash_job *j, const struct agent_input *in)
{
    const struct message *m = in->is_literal || in->no_query ? NULL : in->message;
    const struct slash_command *command;
    struct str text;
    struct str name;
    struct str args;

    if (!m || m->len != 1 || m->blocks[0].kind != BLOCK_TEXT)
        return;
    text = m->blocks[0].text;
    if (in->origin == INPUT_BY_TERMINAL && str_starts(text, STR("!"))) {
        job_is_command(j, &slash_shell_entry, str_from(text, 1));
        return;
    }
    if (in->origin == INPUT_BY_TERMINAL && str_starts(text, STR("#"))) {
        job_is_command(j, &slash_note_entry, str_from(text, 1));
        return;
    }
    if (!slash_split(text, &name, &args) || !is_name(name.len ? name : slash_word(args)))
        return;
    command = slash_find(text, /*ret_args=*/NULL);
    if (command && !command->run)
        return; /* the agent's own, in its turn */
    if (command) {
        job_is_command(j, command, args);
        return;
    }
    j->kind = JOB_OWN;
    buf_add(&j->name, name);
    buf_add(&j->args, args);
}

static struct slash_job *job_of(struct agent_input *in)
{
    struct slash_job *j = in->order ? (struct slash_job *)in->order : job_new(JOB_INPUT);

    j->input = in;
    if (!in->order)
        job_read(j, in);
    return j;
}

/* The sender of the prompt is gone, or counts results. */
static void slash_tell_lost(struct slash *s, const struct agent_input *lost, const struct err *err)
{
    struct str uuid = str_of(lost->uuid);
    struct event *e;

    if (lost->in_order) {
        host_answer(s->host, &(struct host_answer){.input = lost,
                                                   .command = "",
                                                   .text = str_of(err->text),
                                                   .is_error = true,
                                                   .counts = true});
        return;
    }
    e = host_event(s->host, EVENT_NOTICE);
    e->level = LEVEL_ERROR;
    e->id = arena_str(&e->arena, uuid);
    e->text = arena_str(&e->arena, str_of(err->text));
    feed_emit(host_feed(s->host), e, /*cancel=*/NULL);
}

/* The commands' thread reads on from here. */
static int slash_leave_to_thread(struct slash *s, struct agent_input *in, struct err *err);

/* Processes a claimed input. 1: it is a command, for the commands' thread; -1: it could not be
 * passed on. */
static int slash_read_one(struct slash *s, struct agent_input *in, bool can_run, struct err *err)
{
    struct inputs *q = host_inputs(s->host);
    bool is_order = in->order != NULL;
    struct slash_job *j = job_of(in);
    bool is_command = j->kind != JOB_INPUT;
    bool is_skipped = is_order && !j->answer && j->kind != JOB_FINISH && j->kind != JOB_REFUSE &&
                      slash_is_left(s);
    bool is_ours;
    int rc = 0;

    if (is_command && can_run && in->in_order && j->kind != JOB_FINISH && !slash_has_settled(s)) {
        if (!is_order)
            job_free(&j->order);
        inputs_put_off(q, in);
        return 0;
    }
    if (is_command && !can_run && !is_skipped)
        rc = 1;
    else if (!is_skipped && (!is_command || inputs_run(q, in)))
        rc = slash_run(s, j, err);
    is_ours = rc != 1 && !j->is_passed;
    if (!is_order)
        job_free(&j->order);
    if (is_ours)
        inputs_done(q, in); /* and the job with it, if it is an order */
    return rc;
}

/* Reads the unread input, in order; can_run: commands, too. -1: `mine`, or a thread for it, is
 * impossible; problems with others become notices. */
static int slash_read(struct slash *s, bool can_run, struct str mine, struct err *err)
{
    struct inputs *q = host_inputs(s->host);
    int result = 0;

    for (;;) {
        struct agent_input *in =
            inputs_claim(q, /*only_orders=*/slash_is_left(s), slash_has_settled(s));
        struct agent_input was = {0};
        struct err why = {0};
        int rc;

        if (!in)
            return result;
        was.in_order = in->in_order;
        was.is_named = in->is_named;
        memcpy(was.uuid, in->uuid, sizeof(was.uuid));
        rc = slash_read_one(s, in, can_run, &why);
        if (rc > 0 && slash_leave_to_thread(s, in, &why) == 0)
            return result;
        if (rc == 0)
            continue;
        if (mine.len && str_is(mine, was.uuid)) {
            *err = why;
            result = -1;
        } else {
            slash_tell_lost(s, &was, &why);
        }
    }
}

static void slash_loop(void *arg)
{
    struct slash *s = arg;
    struct mail *m = NULL;

    while (mailbox_take(s->mailbox, /*cancel=*/NULL, /*deadline_ms=*/-1, &m, NULL) == 0) {
        bool stops = m->kind == &stop_kind;

        mail_free(m);
        if (stops)
            return;
        (void)slash_read(s, /*can_run=*/true, /*mine=*/STR(""), /*err=*/NULL);
    }
}

static int slash_leave_to_thread(struct slash *s, struct agent_input *in, struct err *err)
{
    bool has_thread;

    lock_take(&s->lock);
    if (!s->thread)
        s->thread = thread_start("commands", slash_loop, s, err);
    has_thread = s->thread;
    lock_give(&s->lock);
    if (!has_thread) {
        inputs_done(host_inputs(s->host), in);
        return -1;
    }
    inputs_unread(host_inputs(s->host), in);
    slash_nudge(s->mailbox, &nudge_kind);
    return 0;
}

struct slash *slash_new(struct host *h, struct cancel *cancel)
{
    struct slash *s = mem_zalloc(sizeof(*s));

    s->host = h;
    s->cancel = cancel_new(cancel);
    s->mailbox = mailbox_new();
    lock_init(&s->lock);
    s->own = own_now_new(h);
    host_on_settled(h, slash_on_settled, mailbox_ref(s->mailbox), slash_release_mailbox);
    /* If the session has already started, continues without it; nothing else can fail here. */
    if (!conf_get_bool(host_conf(h), "disableSlashCommands", false))
        (void)skill_tool_add(h, s->own, /*err=*/NULL);
    return s;
}

void slash_set_front(struct slash *s, const struct slash_front *front)
{
    s->front = front;
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
static void slash_stop(struct slash *s, bool is_left)
{
    cancel_set(s->cancel);
    if (s->thread) {
        slash_nudge(s->mailbox, &stop_kind);
        thread_join(s->thread);
    }
    lock_take(&s->lock);
    s->is_left = is_left;
    lock_give(&s->lock);
    (void)slash_read(s, /*can_run=*/true, /*mine=*/STR(""),
                     /*err=*/NULL); /* is not run, and reports that */
    if (s->anew)
        s->anew_release(s->anew_arg);
    mailbox_close(s->mailbox);
    mailbox_unref(s->mailbox);
    cancel_unref(s->cancel);
    own_now_unref(s->own);
    lock_release(&s->lock);
    mem_freep(&s);
}

void slash_free(struct slash *s)
{
    if (s)
        slash_stop(s, /*is_left=*/false);
}

void slash_leave(struct slash *s)
{
    if (s)
        slash_stop(s, /*is_left=*/true);
}

struct own_list *slash_own(struct slash *s)
{
    host_reload(s->host); /* it may have changed, and hooks may block that */
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
    mcp_prompt_list(s->host, arena, ret);
}

struct slash_end slash_end(struct slash *s)
{
    struct slash_end end;

    lock_take(&s->lock);
    end = s->end;
    lock_give(&s->lock);
    return end;
}

int slash_attend(struct slash *s, struct str uuid, struct err *err)
{
    return slash_read(s, /*can_run=*/false, uuid, err);
}

int slash_send(struct slash *s, struct agent_input *input, struct err *err)
{
    char uuid[ID_UUID_LEN + 1];
    struct slash_job *j = job_of(input);
    bool is_prompt = j->kind == JOB_INPUT;

    job_free(&j->order);
    memcpy(uuid, input->uuid, sizeof(uuid));
    /* What interrupts waits for nothing but the session it is for. */
    if (is_prompt && input->when == INPUT_NOW && !slash_is_left(s))
        return host_send(s->host, input, err);
    if (inputs_push(host_inputs(s->host), input, err) < 0)
        return -1;
    return slash_attend(s, str_of(uuid), err);
}

/* An order that was not typed. */
static int slash_order(struct slash *s, struct slash_job *j, struct err *err)
{
    struct agent_input in = {.order = &j->order, .in_order = j->in_order};
    char uuid[ID_UUID_LEN + 1];

    id_uuid(in.uuid);
    memcpy(uuid, in.uuid, sizeof(uuid));
    if (inputs_push(host_inputs(s->host), &in, err) < 0)
        return -1;
    return slash_attend(s, str_of(uuid), err);
}

int slash_goal(struct slash *s, struct goal_argument *goal, struct err *err)
{
    struct slash_job *j = job_new(JOB_COMMAND);

    j->goal = mem_zalloc(sizeof(*j->goal));
    *j->goal = *goal;
    *goal = (struct goal_argument)GOAL_ARGUMENT_INIT;
    job_is_command(j, &slash_goal_entry, STR(""));
    return slash_order(s, j, err);
}

int slash_ask(struct slash *s, const struct slash_command *command, struct str args,
              int64_t wait_ms, slash_answer_fn fn, void *arg, struct err *err)
{
    struct slash_job *j = job_new(JOB_COMMAND);

    j->until_ms = wait_ms > 0 ? clock_mono_ms() + wait_ms : 0;
    j->answer = fn;
    j->arg = arg;
    job_is_command(j, command, args);
    return slash_order(s, j, err);
}

void slash_refuse(struct slash *s, struct str text)
{
    struct slash_job *j = job_new(JOB_REFUSE);
    struct err err = {0};

    j->in_order = true;
    buf_add(&j->args, text);
    if (slash_order(s, j, &err) < 0) /* no thread can be started */
        host_notice(s->host, LEVEL_ERROR, text);
}

void slash_finish(struct slash *s, void (*fn)(void *arg), void *arg)
{
    struct slash_job *j;
    struct err err = {0};

    if (inputs_is_clear(host_inputs(s->host))) {
        host_finish(s->host, fn, arg);
        return;
    }
    j = job_new(JOB_FINISH);
    j->in_order = true;
    j->fn = fn;
    j->arg = arg;
    if (slash_order(s, j, &err) < 0) /* no thread can be started */
        host_finish(s->host, fn, arg);
}
