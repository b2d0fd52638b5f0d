/*
 * async_hooks: one thread for each hook that was started as async, and one for the hooks that left
 * a run together. It waits on the mailbox that gets their mail; their results are kept until they
 * are requested.
 */
#include "hooks/async_hooks.h"

#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "guard/workspace.h"
#include "hooks/handler.h"
#include "hooks/output.h"
#include "hooks/program.h"
#include "proc/proc.h"
#include "sync/cancel.h"
#include "sync/crew.h"
#include "sync/mailbox.h"
#include "sync/thread.h"

struct async_hooks {
    struct hook_watch watch; /* passed to the sights */
    struct async_hooks_spec spec;
    struct cancel *cancel; /* set when the session ends */
    struct crew *crew;
    struct gate gate; /* guards the fields below */
    size_t running;
    size_t telling; /* calls of the spec's functions in progress */
    bool is_mute;
    struct buf context, message; /* text to be delivered */
};

/* Hooks that share a mailbox. */
struct async_hook_group {
    struct async_hooks *async_hooks;
    struct mailbox *mail;
    async_hook_vec list;
};

static void async_hooks_pass_on(void *arg, const struct hook_news *news);

struct async_hooks *async_hooks_new(const struct async_hooks_spec *spec)
{
    struct async_hooks *s = mem_zalloc(sizeof(*s));

    s->watch = (struct hook_watch){async_hooks_pass_on, s};
    s->spec = *spec;
    s->cancel = cancel_new(/*parent=*/NULL);
    s->crew = crew_new();
    gate_init(&s->gate);
    buf_init(&s->context, HOOK_MAX_TEXT);
    buf_init(&s->message, HOOK_MAX_TEXT);
    return s;
}

void async_hooks_free(struct async_hooks *s)
{
    if (!s)
        return;
    cancel_set(s->cancel);
    crew_free(s->crew);
    cancel_unref(s->cancel);
    buf_release(&s->context);
    buf_release(&s->message);
    gate_release(&s->gate);
    mem_freep(&s);
}

void async_hook_release(struct async_hook *one)
{
    proc_unref(one->proc);
    hook_handler_unref(one->handler);
    hook_sight_release(&one->sight);
    buf_release(&one->out);
    buf_release(&one->err);
}

/* --- heard ---------------------------------------------------------------------------------- */

static void join(struct buf *to, struct str text)
{
    if (text.len && to->len)
        buf_addc(to, '\n');
    buf_add(to, text);
}

/* Brackets a callback: async_hooks_mute() waits until it has returned. */
static bool async_hooks_may_tell(struct async_hooks *s)
{
    bool may;

    gate_take(&s->gate);
    may = !s->is_mute;
    s->telling += may;
    gate_give(&s->gate);
    return may;
}

static void async_hooks_told(struct async_hooks *s)
{
    gate_take(&s->gate);
    s->telling--;
    gate_wake(&s->gate);
    gate_give(&s->gate);
}

static void async_hooks_call_wake(struct async_hooks *s, struct str text)
{
    if (!s->spec.wake || !async_hooks_may_tell(s))
        return;
    s->spec.wake(s->spec.wake_arg, text);
    async_hooks_told(s);
}

static void async_hooks_pass_on(void *arg, const struct hook_news *news)
{
    struct async_hooks *s = arg;

    if (!s->spec.watch || !async_hooks_may_tell(s))
        return;
    s->spec.watch->tell(s->spec.watch->arg, news);
    async_hooks_told(s);
}

void async_hooks_watch(struct async_hooks *s, struct async_hook *one, struct hook_sight *sight)
{
    hook_sight_move(&one->sight, sight);
    if (one->sight.watch)
        one->sight.watch = &s->watch;
}

void async_hooks_mute(struct async_hooks *s)
{
    gate_take(&s->gate);
    s->is_mute = true;
    while (s->telling)
        gate_wait(&s->gate, /*deadline_ms=*/-1);
    gate_give(&s->gate);
}

/* Reports an objection at once. */
static void async_hooks_wake(struct async_hooks *s, const struct async_hook *one)
{
    CLEANUP(hook_outcome_release) struct hook_outcome o = HOOK_OUTCOME_INIT;
    CLEANUP(buf_release) struct buf text = BUF_INIT(2 * HOOK_MAX_TEXT);
    struct str words = str_trim(buf_str(&one->err));

    o.workspace = s->spec.workspace;
    if (!words.len)
        words = str_trim(buf_str(&one->out));
    hook_outcome_say(&o, &o.context, words.len ? words : STR("It objects, and does not say why."));
    buf_addf(&text, "%s hook feedback, from a hook that runs in the background (%.*s):\n%.*s",
             hook_event_name(one->event), STR_ARG(hook_handler_title(one->handler)),
             STR_ARG(buf_str(&o.context)));
    async_hooks_call_wake(s, buf_str(&text));
}

/* Keeps its text; its decision comes too late. */
void async_hooks_hear(struct async_hooks *s, struct async_hook *one, int end, int code)
{
    CLEANUP(hook_outcome_release) struct hook_outcome o = HOOK_OUTCOME_INIT;
    struct str title = hook_handler_title(one->handler);
    struct err err = {0};
    struct output output = {
        .end = (enum output_end)end,
        .code = code,
        .out = output_behind_async(buf_str(&one->out)),
        .err = buf_str(&one->err),
        .cut = one->out.over,
    };

    o.workspace = s->spec.workspace;
    log_debug("hooks", "%s async: %.*s: over", hook_event_name(one->event), STR_ARG(title));
    output_tell(&output, one->event, &one->sight);
    if (end == OUTPUT_EXITED && code == 2 &&
        hook_handler_spec(one->handler)->flags & HANDLER_REWAKE) {
        async_hooks_wake(s, one);
        return;
    }
    if (output_merge(&output, one->event, /*flags=*/0, &o, &err) < 0) {
        CLEANUP(buf_release) struct buf line = BUF_INIT(1000);

        buf_addf(&line, "%s hook error: %.*s: %s", hook_event_name(one->event), STR_ARG(title),
                 err.text);
        join(&o.message, buf_str(&line));
    }
    gate_take(&s->gate);
    join(&s->context, buf_str(&o.context));
    join(&s->message, buf_str(&o.message));
    gate_give(&s->gate);
}

/* --- waited for ----------------------------------------------------------------------------- */

static void async_hooks_count(struct async_hooks *s, size_t gone)
{
    gate_take(&s->gate);
    s->running -= gone;
    gate_give(&s->gate);
}

static void group_take(struct async_hook_group *g, const struct proc_mail *m)
{
    for (size_t i = 0; i < g->list.len; i++) {
        struct async_hook *one = &g->list.ptr[i];

        if (one->proc != m->proc)
            continue;
        if (m->what == PROC_OUTPUT) {
            buf_add(m->fd == 1 ? &one->out : &one->err, buf_str(&m->bytes));
            return;
        }
        if (m->how == PROC_NOT_STARTED)
            buf_add(&one->err, buf_str(&m->bytes));
        async_hooks_hear(g->async_hooks, one, output_end_of(m->how), m->code);
        async_hooks_count(g->async_hooks, 1);
        async_hook_release(one);
        *one = g->list.ptr[--g->list.len];
        return;
    }
}

static int64_t group_deadline(const struct async_hook_group *g)
{
    int64_t next = -1;

    VEC_EACH(&g->list, one) {
        int64_t due_ms = hook_sight_due_ms(&one->sight, one->out.len + one->err.len);

        if (one->deadline_ms >= 0 && (next < 0 || one->deadline_ms < next))
            next = one->deadline_ms;
        if (due_ms >= 0 && (next < 0 || due_ms < next))
            next = due_ms;
    }
    return next;
}

static void group_expire(struct async_hook_group *g)
{
    int64_t now = clock_mono_ms();

    VEC_EACH(&g->list, one) {
        if (one->deadline_ms < 0 || one->deadline_ms > now)
            continue;
        proc_end(one->proc); /* its mail follows */
        one->deadline_ms = -1;
    }
}

static void group_thread(void *arg)
{
    struct async_hook_group *g = arg;

    while (g->list.len) {
        struct err err = {0};
        struct mail *m;

        if (mailbox_take(g->mail, g->async_hooks->cancel, group_deadline(g), &m, &err) == 0) {
            if (m->kind == &proc_mail_kind)
                group_take(g, (const struct proc_mail *)m);
            mail_free(m);
        } else if (err.code == ERR_TIMEOUT) {
            group_expire(g);
        } else {
            break; /* the session ends, and the hooks with it */
        }
        VEC_EACH(&g->list, one) {
            hook_sight_show(&one->sight, buf_str(&one->out), buf_str(&one->err));
        }
    }
    async_hooks_count(g->async_hooks, g->list.len);
    VEC_EACH(&g->list, one) {
        async_hook_release(one);
    }
    vec_release(&g->list);
    mailbox_close(g->mail);
    mailbox_unref(g->mail);
    mem_freep(&g);
}

int async_hooks_adopt(struct async_hooks *s, struct mailbox *mail, async_hook_vec *list,
                      struct err *err)
{
    struct async_hook_group *g;
    bool full;

    gate_take(&s->gate);
    full = s->running + list->len > ASYNC_HOOKS_MAX;
    if (!full)
        s->running += list->len;
    gate_give(&s->gate);
    if (full)
        return err_set(err, ERR_BUSY, "%d others still run", ASYNC_HOOKS_MAX);
    g = mem_zalloc(sizeof(*g));
    g->async_hooks = s;
    g->mail = mailbox_ref(mail);
    g->list = *list;
    if (crew_start(s->crew, "hook", group_thread, g, err) < 0) {
        async_hooks_count(s, list->len);
        mailbox_unref(g->mail);
        mem_freep(&g);
        return -1;
    }
    *list = (async_hook_vec)VEC_INIT;
    return 0;
}

int async_hooks_start(struct async_hooks *s, const struct program_place *place,
                      struct hook_handler *h, struct hook_sight *sight, enum hook_event event,
                      int64_t timeout_ms, const struct program_input *in, struct err *err)
{
    struct hook_watch *watch = sight->watch;
    struct mailbox *mail = mailbox_new();
    struct proc *p = program_start(place, h, timeout_ms, in, mail, err);
    async_hook_vec list = VEC_INIT;
    int rc = -1;

    if (p) {
        struct async_hook *one = vec_add(&list);

        *one = (struct async_hook){
            .proc = p,
            .handler = hook_handler_ref(h),
            .event = event,
            .out = BUF_INIT(OUTPUT_MAX_BYTES),
            .err = BUF_INIT(OUTPUT_MAX_BYTES),
            .deadline_ms = -1,
        };
        async_hooks_watch(s, one, sight);
        rc = async_hooks_adopt(s, mail, &list, err);
    }
    VEC_EACH(&list, left) {
        hook_sight_move(sight, &left->sight);
        sight->watch = watch;
        async_hook_release(left);
    }
    vec_release(&list);
    if (rc < 0)
        mailbox_close(mail);
    mailbox_unref(mail);
    return rc;
}

/* --- told ----------------------------------------------------------------------------------- */

bool async_hooks_have_news(struct async_hooks *s)
{
    bool any;

    gate_take(&s->gate);
    any = s->context.len || s->message.len;
    gate_give(&s->gate);
    return any;
}

void async_hooks_tell(struct async_hooks *s, struct hook_outcome *io)
{
    gate_take(&s->gate);
    join(&io->context, buf_str(&s->context));
    join(&io->message, buf_str(&s->message));
    buf_clear(&s->context);
    buf_clear(&s->message);
    gate_give(&s->gate);
}
