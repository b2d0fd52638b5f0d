/*
 * strays: a thread for each that was begun as one, and one for those that left a run together. It
 * waits on the mailbox their mail goes to; their results are kept until they are asked for.
 */
#include "hooks/strays.h"

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

struct strays {
    struct hook_watch watch; /* what sights hold */
    struct strays_spec spec;
    struct cancel *cancel; /* set when the session ends */
    struct crew *crew;
    struct gate gate; /* of what follows */
    size_t running;
    size_t telling; /* calls of the spec's functions that have not returned */
    bool is_mute;
    struct buf context, message; /* the text to report */
};

/* Those of one mailbox. */
struct stray_group {
    struct strays *strays;
    struct mailbox *mail;
    stray_vec list;
};

static void strays_pass_on(void *arg, const struct hook_news *news);

struct strays *strays_new(const struct strays_spec *spec)
{
    struct strays *s = mem_zalloc(sizeof(*s));

    s->watch = (struct hook_watch){strays_pass_on, s};
    s->spec = *spec;
    s->cancel = cancel_new(/*parent=*/NULL);
    s->crew = crew_new();
    gate_init(&s->gate);
    buf_init(&s->context, HOOK_MAX_TEXT);
    buf_init(&s->message, HOOK_MAX_TEXT);
    return s;
}

void strays_free(struct strays *s)
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

void stray_release(struct stray *one)
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

/* Around a callback: strays_mute() waits until it has returned. */
static bool strays_may_tell(struct strays *s)
{
    bool may;

    gate_take(&s->gate);
    may = !s->is_mute;
    s->telling += may;
    gate_give(&s->gate);
    return may;
}

static void strays_told(struct strays *s)
{
    gate_take(&s->gate);
    s->telling--;
    gate_wake(&s->gate);
    gate_give(&s->gate);
}

static void strays_call_wake(struct strays *s, struct str text)
{
    if (!s->spec.wake || !strays_may_tell(s))
        return;
    s->spec.wake(s->spec.wake_arg, text);
    strays_told(s);
}

static void strays_pass_on(void *arg, const struct hook_news *news)
{
    struct strays *s = arg;

    if (!s->spec.watch || !strays_may_tell(s))
        return;
    s->spec.watch->tell(s->spec.watch->arg, news);
    strays_told(s);
}

void strays_watch(struct strays *s, struct stray *one, struct hook_sight *sight)
{
    hook_sight_move(&one->sight, sight);
    if (one->sight.watch)
        one->sight.watch = &s->watch;
}

void strays_mute(struct strays *s)
{
    gate_take(&s->gate);
    s->is_mute = true;
    while (s->telling)
        gate_wait(&s->gate, /*deadline_ms=*/-1);
    gate_give(&s->gate);
}

/* It objects, and must be reported at once. */
static void strays_wake(struct strays *s, const struct stray *one)
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
    strays_call_wake(s, buf_str(&text));
}

/* What it says about the event, without what it decides: that has happened long ago. */
void strays_hear(struct strays *s, struct stray *one, int end, int code)
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
        strays_wake(s, one);
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

static void strays_count(struct strays *s, size_t gone)
{
    gate_take(&s->gate);
    s->running -= gone;
    gate_give(&s->gate);
}

static void group_take(struct stray_group *g, const struct proc_mail *m)
{
    for (size_t i = 0; i < g->list.len; i++) {
        struct stray *one = &g->list.ptr[i];

        if (one->proc != m->proc)
            continue;
        if (m->what == PROC_OUTPUT) {
            buf_add(m->fd == 1 ? &one->out : &one->err, buf_str(&m->bytes));
            return;
        }
        if (m->how == PROC_NOT_STARTED)
            buf_add(&one->err, buf_str(&m->bytes));
        strays_hear(g->strays, one, output_end_of(m->how), m->code);
        strays_count(g->strays, 1);
        stray_release(one);
        *one = g->list.ptr[--g->list.len];
        return;
    }
}

static int64_t group_deadline(const struct stray_group *g)
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

static void group_expire(struct stray_group *g)
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
    struct stray_group *g = arg;

    while (g->list.len) {
        struct err err = {0};
        struct mail *m;

        if (mailbox_take(g->mail, g->strays->cancel, group_deadline(g), &m, &err) == 0) {
            if (m->kind == &proc_mail_kind)
                group_take(g, (const struct proc_mail *)m);
            mail_free(m);
        } else if (err.code == ERR_TIMEOUT) {
            group_expire(g);
        } else {
            break; /* the session ends, and they with it */
        }
        VEC_EACH(&g->list, one) {
            hook_sight_show(&one->sight, buf_str(&one->out), buf_str(&one->err));
        }
    }
    strays_count(g->strays, g->list.len);
    VEC_EACH(&g->list, one) {
        stray_release(one);
    }
    vec_release(&g->list);
    mailbox_close(g->mail);
    mailbox_unref(g->mail);
    mem_freep(&g);
}

int strays_adopt(struct strays *s, struct mailbox *mail, stray_vec *list, struct err *err)
{
    struct stray_group *g;
    bool full;

    gate_take(&s->gate);
    full = s->running + list->len > STRAYS_MAX;
    if (!full)
        s->running += list->len;
    gate_give(&s->gate);
    if (full)
        return err_set(err, ERR_BUSY, "%d others still run", STRAYS_MAX);
    g = mem_zalloc(sizeof(*g));
    g->strays = s;
    g->mail = mailbox_ref(mail);
    g->list = *list;
    if (crew_start(s->crew, "hook", group_thread, g, err) < 0) {
        strays_count(s, list->len);
        mailbox_unref(g->mail);
        mem_freep(&g);
        return -1;
    }
    *list = (stray_vec)VEC_INIT;
    return 0;
}

int strays_start(struct strays *s, const struct program_place *place, struct hook_handler *h,
                 struct hook_sight *sight, enum hook_event event, int64_t timeout_ms,
                 const struct program_input *in, struct err *err)
{
    struct hook_watch *watch = sight->watch;
    struct mailbox *mail = mailbox_new();
    struct proc *p = program_start(place, h, timeout_ms, in, mail, err);
    stray_vec list = VEC_INIT;
    int rc = -1;

    if (p) {
        struct stray *one = vec_add(&list);

        *one = (struct stray){
            .proc = p,
            .handler = hook_handler_ref(h),
            .event = event,
            .out = BUF_INIT(OUTPUT_MAX_BYTES),
            .err = BUF_INIT(OUTPUT_MAX_BYTES),
            .deadline_ms = -1,
        };
        strays_watch(s, one, sight);
        rc = strays_adopt(s, mail, &list, err);
    }
    VEC_EACH(&list, left) {
        hook_sight_move(sight, &left->sight);
        sight->watch = watch;
        stray_release(left);
    }
    vec_release(&list);
    if (rc < 0)
        mailbox_close(mail);
    mailbox_unref(mail);
    return rc;
}

/* --- told ----------------------------------------------------------------------------------- */

bool strays_have_news(struct strays *s)
{
    bool any;

    gate_take(&s->gate);
    any = s->context.len || s->message.len;
    gate_give(&s->gate);
    return any;
}

void strays_tell(struct strays *s, struct hook_outcome *io)
{
    gate_take(&s->gate);
    join(&io->context, buf_str(&s->context));
    join(&io->message, buf_str(&s->message));
    buf_clear(&s->context);
    buf_clear(&s->message);
    gate_give(&s->gate);
}
