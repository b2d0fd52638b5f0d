/*
 * work: commands are children whose mail goes to the run's mailbox; what blocks inside tenax (a
 * question to a model, an HTTP request, a function) is a handler call on a thread of the crew.
 */
#include "hooks/work.h"

#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "guard/workspace.h"
#include "hooks/async_hooks.h"
#include "hooks/handler.h"
#include "hooks/handler_call.h"
#include "hooks/point.h"
#include "proc/proc.h"

#define WORK_GRACE_MS 100 /* for a handler call that has timed out */

void works_add(works *list, struct hook_handler *h, int64_t timeout_ms)
{
    struct work *w = vec_add(list);

    *w = (struct work){
        .handler = hook_handler_ref(h),
        .out = BUF_INIT(OUTPUT_MAX_BYTES),
        .err = BUF_INIT(OUTPUT_MAX_BYTES),
        .shell_path = BUF_INIT(BUF_NO_LIMIT), /* the system bounds it */
        .timeout_ms = timeout_ms,
    };
}

/* --- started -------------------------------------------------------------------------------- */

static void work_fail(struct work *w, const struct err *err)
{
    w->state = WORK_ENDED;
    w->end = OUTPUT_NOT_STARTED;
    buf_adds(&w->err, err->text);
}

static void function_call(void *arg, struct hook_handler *h, const struct hook_input *in,
                          struct cancel *cancel, struct handler_call_result *ret)
{
    const struct handler_spec *spec = hook_handler_spec(h);
    int r = spec->fn(spec->arg, in, cancel, &ret->reason, &ret->err);

    (void)arg;
    ret->rc = r < 0 ? -1 : 0;
    ret->verdict = r > 0 ? VERDICT_OBJECTS : VERDICT_FINE;
    if (r > 0 && !ret->reason.len)
        buf_add(&ret->reason, spec->error_message);
}

/* A file for shell lines; if it cannot be created, the handler still runs. */
static const char *work_shell_file(struct work *w, struct work_place *p, enum hook_event event)
{
    struct err err = {0};

    if (!(point_of(event)->flags & POINT_SHELL))
        return NULL;
    if (workspace_spill(p->workspace, STR("env"), &w->shell_path, &err) == 0)
        return buf_cstr(&w->shell_path);
    log_debug("hooks", "no CLAUDE_ENV_FILE: %s", err.text);
    return NULL;
}

/* line: the input as commands read it. */
static void work_begin(struct work *w, struct work_place *p, const struct hook_input *in,
                       struct str line, struct cancel *cancel, struct mailbox *to)
{
    const struct handler_spec *spec = hook_handler_spec(w->handler);
    struct program_input input = {.text = line, .effort = in->effort};
    struct err err = {0};

    w->deadline_ms = clock_mono_ms() + w->timeout_ms;
    switch (spec->type) {
    case HANDLER_COMMAND:
        if (spec->flags & HANDLER_ASYNC) {
            if (async_hooks_start(p->async_hooks, &p->programs, w->handler, &w->sight, in->event,
                                  w->timeout_ms, &input, &err) < 0)
                work_fail(w, &err);
            w->state = WORK_ENDED;
            return;
        }
        input.env_file = work_shell_file(w, p, in->event);
        w->proc = program_start(&p->programs, w->handler, w->timeout_ms, &input, to, &err);
        break;
    case HANDLER_HTTP:
        w->call =
            handler_call_start(p->crew, post_send, &p->posts, w->handler, in, cancel, to, &err);
        break;
    case HANDLER_PROMPT:
        w->call = handler_call_start(p->crew, question_ask, &p->questions, w->handler, in, cancel,
                                     to, &err);
        break;
    case HANDLER_FUNCTION:
        w->call =
            handler_call_start(p->crew, function_call, NULL, w->handler, in, cancel, to, &err);
        break;
    }
    if (!w->proc && !w->call)
        work_fail(w, &err);
}

void works_start(works *list, struct work_place *p, const struct hook_input *in,
                 struct cancel *cancel, struct mailbox *to)
{
    CLEANUP(buf_release) struct buf line = BUF_INIT(BUF_NO_LIMIT);

    buf_add(&line, in->json);
    buf_addc(&line, '\n'); /* otherwise a shell's read would fail although it has read everything */
    VEC_EACH(list, w) {
        hook_sight_begin(&w->sight, in, hook_handler_title(w->handler));
        work_begin(w, p, in, buf_str(&line), cancel, to);
        if (w->state == WORK_ENDED)
            work_tell_end(w, in);
    }
}

/* --- waited for ----------------------------------------------------------------------------- */

static void work_take_exit(struct work *w, const struct proc_mail *m)
{
    w->state = WORK_ENDED;
    w->code = m->code;
    w->end = output_end_of(m->how);
    if (m->how == PROC_NOT_STARTED)
        buf_add(&w->err, buf_str(&m->bytes));
}

static void work_take_output(struct work *w, const struct proc_mail *m)
{
    buf_add(m->fd == 1 ? &w->out : &w->err, buf_str(&m->bytes));
    if (m->fd == 1 && !w->is_stray)
        w->is_stray = output_is_async(buf_str(&w->out), &w->async_hook_ms);
}

static void works_take(works *list, const struct hook_input *in, const struct mail *m)
{
    VEC_EACH(list, w) {
        if (m->kind == &proc_mail_kind && w->proc == ((const struct proc_mail *)m)->proc) {
            const struct proc_mail *p = (const struct proc_mail *)m;

            if (p->what == PROC_EXIT)
                work_take_exit(w, p);
            else
                work_take_output(w, p);
        } else if (m->kind == &handler_call_mail_kind && w->call &&
                   w->call == ((const struct handler_call_mail *)m)->call) {
            w->state = WORK_ENDED;
        } else {
            continue;
        }
        if (w->state == WORK_ENDED)
            work_tell_end(w, in);
    }
}

static int64_t earlier(int64_t a, int64_t b)
{
    return a < 0 || (b >= 0 && b < a) ? b : a;
}

/* proc enforces the timeouts of children; handler calls must be cancelled here. */
static int64_t works_deadline(const works *list)
{
    int64_t next = -1;

    VEC_EACH(list, w) {
        if (w->state != WORK_RUNS)
            continue;
        if (w->call)
            next = earlier(next, w->deadline_ms);
        next = earlier(next, hook_sight_due_ms(&w->sight, w->out.len + w->err.len));
    }
    return next;
}

static void works_show(works *list)
{
    VEC_EACH(list, w) {
        if (w->state == WORK_RUNS)
            hook_sight_show(&w->sight, buf_str(&w->out), buf_str(&w->err));
    }
}

/* Cancels, then abandons what does not end. */
static void works_expire(works *list, const struct hook_input *in)
{
    int64_t now = clock_mono_ms();

    VEC_EACH(list, w) {
        if (!w->call || w->state != WORK_RUNS || w->deadline_ms > now)
            continue;
        handler_call_cancel(w->call);
        if (w->is_late) {
            w->state = WORK_LEFT;
            work_tell_end(w, in);
        }
        w->is_late = true;
        w->deadline_ms = now + WORK_GRACE_MS;
    }
}

static bool works_run(const works *list)
{
    VEC_EACH(list, w) {
        if (w->state == WORK_RUNS && !w->is_stray)
            return true;
    }
    return false;
}

int works_await(works *list, const struct hook_input *in, struct mailbox *mail,
                struct cancel *cancel, struct err *err)
{
    while (works_run(list)) {
        struct mail *m;
        struct err why = {0};

        if (mailbox_take(mail, cancel, works_deadline(list), &m, &why) == 0) {
            works_take(list, in, m);
            mail_free(m);
        } else if (why.code == ERR_TIMEOUT) {
            works_expire(list, in);
        } else {
            VEC_EACH(list, w) {
                work_tell_end(w, in);
            }
            return err_set(err, why.code, "%s", why.text);
        }
        works_show(list);
    }
    return 0;
}

bool works_leave(works *list, struct work_place *p, enum hook_event event, struct mailbox *mail)
{
    async_hook_vec left_running = VEC_INIT;
    struct err err = {0};
    bool left;

    VEC_EACH(list, w) {
        struct async_hook *one;

        if (!w->is_stray)
            continue;
        one = vec_add(&left_running);
        *one = (struct async_hook){
            .handler = hook_handler_ref(w->handler),
            .event = event,
            .proc = TAKE_PTR(w->proc),
            .deadline_ms = w->async_hook_ms ? clock_mono_ms() + w->async_hook_ms : -1,
        };
        buf_move(&one->out, &w->out);
        buf_move(&one->err, &w->err);
        async_hooks_watch(p->async_hooks, one, &w->sight);
        if (w->state == WORK_ENDED) {
            async_hooks_hear(p->async_hooks, one, w->end, w->code);
            async_hook_release(one);
            left_running.len--;
        }
    }
    left = left_running.len && async_hooks_adopt(p->async_hooks, mail, &left_running, &err) == 0;
    VEC_EACH(&left_running, one) { /* too many of them: ended here */
        log_debug("hooks", "%s async: %s", hook_event_name(event), err.text);
        hook_sight_end(&one->sight, &(struct hook_news){.out = buf_str(&one->out),
                                                        .err = buf_str(&one->err),
                                                        .end = HOOK_CANCELLED});
        async_hook_release(one);
    }
    vec_release(&left_running);
    return left;
}

void works_release(works *list)
{
    VEC_EACH(list, w) {
        if (w->shell_path.len)
            (void)unlink(buf_cstr(&w->shell_path));
        buf_release(&w->shell_path);
        proc_unref(w->proc);
        handler_call_leave(w->call);
        hook_handler_unref(w->handler);
        hook_sight_release(&w->sight);
        buf_release(&w->out);
        buf_release(&w->err);
    }
    vec_release(list);
}
