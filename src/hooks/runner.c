/*
 * runner: everything that matches is started, then one mailbox is waited on.
 *
 * Commands are children whose mail comes straight here; what blocks inside tenax (a question to a
 * model, a function) is an errand on a thread of the crew. run() is called by the agent and by the
 * threads of its calls, several at once; each has its own mailbox, so they share nothing but what
 * never changes.
 */
#include "hooks/runner.h"

#include <inttypes.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/vec.h"
#include "conf/rule.h"
#include "hooks/errand.h"
#include "hooks/output.h"
#include "hooks/point.h"
#include "hooks/program.h"
#include "hooks/question.h"
#include "hooks/registry.h"
#include "hooks/strays.h"
#include "proc/proc.h"
#include "sync/cancel.h"
#include "sync/crew.h"

#define RUNNER_MAX_INPUT ((size_t)16 << 20) /* what proc takes */
#define RUNNER_GRACE_MS 100                 /* for an errand that was told that its time is over */

enum work_state {
    WORK_RUNS,
    WORK_ENDED,
    WORK_LEFT, /* an errand that did not end when it was told to: its result is not ours */
};

/* One handler at work. */
struct work {
    struct hook_handler *handler;
    enum work_state state;

    struct proc *proc; /* a command */
    struct buf out, err;
    enum output_end end;
    int code;

    struct errand *errand; /* anything else */
    int64_t timeout_ms, deadline_ms;
    bool is_late;
};
typedef VEC(struct work) works;

struct runner {
    struct hook_runner hooks; /* first: it is what the agent holds */
    struct hook_registry *registry;
    struct program_place programs;
    struct question_place questions;
    struct crew *crew;
    struct strays *strays;
};

/* --- which ---------------------------------------------------------------------------------- */

/* "if" is about a call; one that has none to look at keeps nobody from running. */
static bool is_meant(const struct handler_spec *h, const struct hook_input *in)
{
    return !h->only || !in->call || rule_matches(h->only, in->call);
}

static bool is_repeated(const works *list, struct hook_handler *h)
{
    VEC_EACH(list, w) {
        if (hook_handler_same(w->handler, h))
            return true;
    }
    return false;
}

/* One time for all: the longest that any of them asks for, within the limits. */
static void works_share(works *list, const struct hook_input *in)
{
    int64_t most = in->least_ms;

    VEC_EACH(list, w) {
        most = w->timeout_ms > most ? w->timeout_ms : most;
    }
    VEC_EACH(list, w) {
        w->timeout_ms = most < in->most_ms ? most : in->most_ms;
    }
}

static void works_collect(works *list, const struct hook_set *set, const struct hook_input *in)
{
    VEC_EACH(&set->entries, e) {
        if (!hook_entry_matches(set, e, in->event, in->subject))
            continue;
        VEC_EACH(&e->handlers, h) {
            const struct handler_spec *spec = hook_handler_spec(*h);
            struct work *w;

            if (spec->flags & HANDLER_REFEREE || !is_meant(spec, in) ||
                (e->source != HOOK_SESSION && is_repeated(list, *h)))
                continue;
            w = vec_add(list);
            *w = (struct work){
                .handler = hook_handler_ref(*h),
                .out = BUF_INIT(OUTPUT_MAX_BYTES),
                .err = BUF_INIT(OUTPUT_MAX_BYTES),
                .timeout_ms = point_timeout_ms(in->event, spec),
            };
        }
    }
    if (in->most_ms)
        works_share(list, in);
}

static bool runner_wants(struct hook_runner *self, enum hook_event event, struct str subject)
{
    struct runner *r = (struct runner *)self;
    CLEANUP(hook_set_unrefp) const struct hook_set *set = hook_registry_get(r->registry);

    if (event == HOOK_USER_PROMPT_SUBMIT && strays_have_news(r->strays))
        return true;
    VEC_EACH(&set->entries, e) {
        if (!hook_entry_matches(set, e, event, subject))
            continue;
        VEC_EACH(&e->handlers, h) {
            if (!(hook_handler_spec(*h)->flags & HANDLER_REFEREE))
                return true;
        }
    }
    return false;
}

/* --- started -------------------------------------------------------------------------------- */

static void work_fail(struct work *w, const struct err *err)
{
    w->state = WORK_ENDED;
    w->end = OUTPUT_NOT_STARTED;
    buf_adds(&w->err, err->text);
}

static void function_call(void *arg, struct hook_handler *h, const struct hook_input *in,
                          struct cancel *cancel, struct errand_result *ret)
{
    const struct handler_spec *spec = hook_handler_spec(h);
    int r = spec->fn(spec->arg, in, cancel, &ret->reason, &ret->err);

    (void)arg;
    ret->rc = r < 0 ? -1 : 0;
    ret->verdict = r > 0 ? VERDICT_OBJECTS : VERDICT_FINE;
    if (r > 0 && !ret->reason.len)
        buf_add(&ret->reason, spec->error_message);
}

/* line: the input, as commands read it. */
static void work_start(struct work *w, struct runner *r, const struct hook_input *in,
                       struct str line, struct cancel *cancel, struct mailbox *to)
{
    const struct handler_spec *spec = hook_handler_spec(w->handler);
    struct err err = {0};

    w->deadline_ms = clock_mono_ms() + w->timeout_ms;
    switch (spec->type) {
    case HANDLER_COMMAND:
        if (spec->flags & HANDLER_ASYNC) {
            if (strays_start(r->strays, &r->programs, w->handler, in->event, w->timeout_ms, line,
                             &err) < 0)
                work_fail(w, &err);
            w->state = WORK_ENDED;
            return;
        }
        w->proc = program_start(&r->programs, w->handler, w->timeout_ms, line, to, &err);
        break;
    case HANDLER_PROMPT:
        w->errand =
            errand_start(r->crew, question_ask, &r->questions, w->handler, in, cancel, to, &err);
        break;
    case HANDLER_FUNCTION:
        w->errand = errand_start(r->crew, function_call, NULL, w->handler, in, cancel, to, &err);
        break;
    }
    if (!w->proc && !w->errand)
        work_fail(w, &err);
}

/* --- waited for ----------------------------------------------------------------------------- */

static void work_take_exit(struct work *w, const struct proc_mail *m)
{
    w->state = WORK_ENDED;
    w->code = m->code;
    switch (m->how) {
    case PROC_EXITED:
        w->end = OUTPUT_EXITED;
        break;
    case PROC_TIMED_OUT:
        w->end = OUTPUT_TIMED_OUT;
        break;
    case PROC_NOT_STARTED:
        w->end = OUTPUT_NOT_STARTED;
        buf_add(&w->err, buf_str(&m->bytes));
        break;
    case PROC_SIGNALLED:
    case PROC_KILLED:
        w->end = OUTPUT_SIGNALLED;
        break;
    }
}

static void works_take(works *list, const struct mail *m)
{
    VEC_EACH(list, w) {
        if (m->kind == &proc_mail_kind && w->proc == ((const struct proc_mail *)m)->proc) {
            const struct proc_mail *p = (const struct proc_mail *)m;

            if (p->what == PROC_EXIT)
                work_take_exit(w, p);
            else
                buf_add(p->fd == 1 ? &w->out : &w->err, buf_str(&p->bytes));
        } else if (m->kind == &errand_mail_kind && w->errand &&
                   w->errand == ((const struct errand_mail *)m)->errand) {
            w->state = WORK_ENDED;
        }
    }
}

/* Children are watched by proc; errands have to be told. */
static int64_t works_deadline(const works *list)
{
    int64_t next = -1;

    VEC_EACH(list, w) {
        if (w->errand && w->state == WORK_RUNS && (next < 0 || w->deadline_ms < next))
            next = w->deadline_ms;
    }
    return next;
}

/* Told first, and left behind when that does not help. */
static void works_expire(works *list)
{
    int64_t now = clock_mono_ms();

    VEC_EACH(list, w) {
        if (!w->errand || w->state != WORK_RUNS || w->deadline_ms > now)
            continue;
        errand_cancel(w->errand);
        if (w->is_late)
            w->state = WORK_LEFT;
        w->is_late = true;
        w->deadline_ms = now + RUNNER_GRACE_MS;
    }
}

static bool works_run(const works *list)
{
    VEC_EACH(list, w) {
        if (w->state == WORK_RUNS)
            return true;
    }
    return false;
}

static int works_await(works *list, struct mailbox *mail, struct cancel *cancel, struct err *err)
{
    while (works_run(list)) {
        struct mail *m;
        struct err why = {0};

        if (mailbox_take(mail, cancel, works_deadline(list), &m, &why) == 0) {
            works_take(list, m);
            mail_free(m);
        } else if (why.code == ERR_TIMEOUT) {
            works_expire(list);
        } else {
            return err_set(err, why.code, "%s", why.text);
        }
    }
    return 0;
}

/* What still runs is ended, by others. */
static void works_release(works *list)
{
    VEC_EACH(list, w) {
        proc_unref(w->proc);
        errand_leave(w->errand);
        hook_handler_unref(w->handler);
        buf_release(&w->out);
        buf_release(&w->err);
    }
    vec_release(list);
}

/* --- merged --------------------------------------------------------------------------------- */

/* What a model, or a function, thinks of it. */
static void merge_objection(const struct work *w, const struct errand_result *result,
                            enum hook_event event, struct hook_outcome *io)
{
    const struct handler_spec *spec = hook_handler_spec(w->handler);
    enum point_judged judged = point_of(event)->judged;
    struct str reason = result->reason.len ? buf_str(&result->reason)
                                           : STR("A hook objects, and does not say why.");

    if (spec->type == HANDLER_FUNCTION) {
        output_object(event, reason, io);
        return;
    }
    if (result->verdict == VERDICT_IMPOSSIBLE && judged == JUDGED_DENIES) {
        /* No use in sending it back: the person decides. */
        hook_outcome_say(&io->message, reason);
        return;
    }
    if (judged == JUDGED_ENDS_UNLESS)
        judged = spec->flags & HANDLER_CONTINUE_ON_BLOCK ? JUDGED_DENIES : JUDGED_ENDS;
    if (judged == JUDGED_DENIES)
        hook_outcome_decide(io, HOOK_DENY, reason);
    if (judged == JUDGED_ENDS)
        hook_outcome_stop(io, reason);
}

static int merge_errand(const struct work *w, enum hook_event event, struct hook_outcome *io,
                        struct err *err)
{
    struct errand_result *result = w->state == WORK_ENDED ? errand_result(w->errand) : NULL;

    if (result) {
        VEC_EACH(&result->spent.spends, spend) {
            hook_outcome_spend(io, spend);
        }
    }
    if (!result || w->is_late)
        return err_set(err, ERR_TIMEOUT, "it took too long and was ended");
    if (result->rc < 0)
        return err_set(err, ERR_IO, "%s", result->err.text);
    if (result->verdict != VERDICT_FINE)
        merge_objection(w, result, event, io);
    return 0;
}

static int merge_work(const struct work *w, const struct hook_input *in, struct hook_outcome *io,
                      struct err *err)
{
    const struct handler_spec *spec = hook_handler_spec(w->handler);
    struct output output = {
        .end = w->end,
        .code = w->code,
        .out = buf_str(&w->out),
        .err = buf_str(&w->err),
        .cut = w->out.over,
    };

    /* A guard that cannot be shown the call has not let it pass. */
    if (w->end == OUTPUT_NOT_STARTED && in->event == HOOK_PRE_TOOL_USE &&
        in->json.len >= RUNNER_MAX_INPUT) {
        hook_outcome_decide(io, HOOK_DENY, STR("The input is too long to be shown to a hook."));
        return 0;
    }
    if (spec->flags & HANDLER_ASYNC && w->end == OUTPUT_EXITED)
        return 0;
    return w->errand ? merge_errand(w, in->event, io, err)
                     : output_merge(&output, in->event, spec->flags, io, err);
}

/* In order. The first failure is told by name, the others by number. */
static int works_merge(const works *list, const struct hook_input *in, struct hook_outcome *io,
                       struct err *err)
{
    struct err first = {0};
    size_t failed = 0;

    VEC_EACH(list, w) {
        struct str title = hook_handler_title(w->handler);
        struct err one = {0};
        int r = merge_work(w, in, io, &one);

        log_debug("hooks", "%s %s: %.*s: %s", hook_event_name(in->event),
                  handler_type_name(hook_handler_spec(w->handler)->type), STR_ARG(title),
                  r < 0 ? one.text : "done");
        if (r < 0 && failed++ == 0)
            err_set(&first, one.code, "%.*s: %s", STR_ARG(title), one.text);
    }
    if (!failed)
        return 0;
    if (failed > 1)
        return err_set(err, first.code, "%s (and %zu more)", first.text, failed - 1);
    return err_set(err, first.code, "%s", first.text);
}

static int runner_run(struct hook_runner *self, const struct hook_input *in, struct cancel *cancel,
                      struct hook_outcome *io, struct err *err)
{
    struct runner *r = (struct runner *)self;
    const struct hook_set *set = hook_registry_get(r->registry);
    struct mailbox *mail = mailbox_new();
    CLEANUP(buf_release) struct buf line = BUF_INIT(BUF_NO_LIMIT);
    works list = VEC_INIT;
    int rc;

    works_collect(&list, set, in);
    hook_set_unref(set);
    buf_add(&line, in->json);
    buf_addc(&line, '\n'); /* without it a shell's read fails, with all it has read */
    VEC_EACH(&list, w) {
        work_start(w, r, in, buf_str(&line), cancel, mail);
    }
    if (in->event == HOOK_USER_PROMPT_SUBMIT)
        strays_tell(r->strays, io);
    rc = works_await(&list, mail, cancel, err);
    if (rc == 0)
        rc = works_merge(&list, in, io, err);
    works_release(&list);
    mailbox_close(mail);
    mailbox_unref(mail);
    return rc;
}

/* --- made ----------------------------------------------------------------------------------- */

struct runner *runner_new(const struct runner_spec *spec)
{
    struct runner *r = mem_zalloc(sizeof(*r));

    r->hooks = (struct hook_runner){.wants = runner_wants, .run = runner_run};
    r->registry = spec->registry;
    program_place_init(&r->programs, spec->workspace, spec->conf);
    r->questions = (struct question_place){
        .conf = spec->conf,
        .model = spec->model,
        .model_arg = spec->model_arg,
    };
    r->crew = crew_new();
    r->strays = strays_new();
    return r;
}

void runner_free(struct runner *r)
{
    if (!r)
        return;
    crew_free(r->crew);
    strays_free(r->strays);
    program_place_release(&r->programs);
    mem_freep(&r);
}

void runner_set_net(struct runner *r, struct net *net)
{
    r->questions.net = net;
}

struct hook_runner *runner_hooks(struct runner *r)
{
    return &r->hooks;
}
