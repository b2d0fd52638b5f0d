/*
 * strays: their mail waits in one mailbox until somebody asks; a job whose mail is not taken waits
 * itself (proc.h), so nothing grows meanwhile. The lock is held while a command is handed to proc
 * and while mail is looked through; neither waits for anybody.
 */
#include "hooks/strays.h"

#include "base/buf.h"
#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/vec.h"
#include "hooks/handler.h"
#include "hooks/output.h"
#include "hooks/program.h"
#include "proc/proc.h"
#include "sync/mailbox.h"
#include "sync/thread.h"

struct stray {
    struct proc *proc;
    struct hook_handler *handler;
    enum hook_event event;
    struct buf out, err;
};

struct strays {
    struct lock lock; /* of everything */
    struct mailbox *mail;
    VEC(struct stray) list;
    struct buf context, message; /* what is to be told */
};

struct strays *strays_new(void)
{
    struct strays *s = mem_zalloc(sizeof(*s));

    lock_init(&s->lock);
    s->mail = mailbox_new();
    buf_init(&s->context, HOOK_MAX_TEXT);
    buf_init(&s->message, HOOK_MAX_TEXT);
    return s;
}

static void stray_release(struct stray *one)
{
    proc_unref(one->proc);
    hook_handler_unref(one->handler);
    buf_release(&one->out);
    buf_release(&one->err);
}

void strays_free(struct strays *s)
{
    if (!s)
        return;
    VEC_EACH(&s->list, one) {
        stray_release(one);
    }
    vec_release(&s->list);
    mailbox_close(s->mail);
    mailbox_unref(s->mail);
    buf_release(&s->context);
    buf_release(&s->message);
    lock_release(&s->lock);
    mem_freep(&s);
}

/* What it says about the event, without what it decides: that has happened long ago. */
static void strays_hear(struct strays *s, const struct stray *one, const struct proc_mail *m)
{
    CLEANUP(hook_outcome_release) struct hook_outcome o = HOOK_OUTCOME_INIT;
    struct str title = hook_handler_title(one->handler);
    struct err err = {0};
    struct output output = {
        .end = m->how == PROC_EXITED        ? OUTPUT_EXITED
               : m->how == PROC_TIMED_OUT   ? OUTPUT_TIMED_OUT
               : m->how == PROC_NOT_STARTED ? OUTPUT_NOT_STARTED
                                            : OUTPUT_SIGNALLED,
        .code = m->code,
        .out = buf_str(&one->out),
        .err = m->how == PROC_NOT_STARTED ? buf_str(&m->bytes) : buf_str(&one->err),
        .cut = one->out.over,
    };

    if (output_merge(&output, one->event, /*flags=*/0, &o, &err) < 0) {
        CLEANUP(buf_release) struct buf line = BUF_INIT(1000);

        buf_addf(&line, "%s hook error: %.*s: %s", hook_event_name(one->event), STR_ARG(title),
                 err.text);
        hook_outcome_say(&s->message, buf_str(&line));
    }
    log_debug("hooks", "%s async: %.*s: over", hook_event_name(one->event), STR_ARG(title));
    hook_outcome_say(&s->context, buf_str(&o.context));
    hook_outcome_say(&s->message, buf_str(&o.message));
}

/* The lock is held. */
static void strays_read(struct strays *s)
{
    struct mail *m;

    for (m = mailbox_try(s->mail); m; m = mailbox_try(s->mail)) {
        const struct proc_mail *p = (const struct proc_mail *)m;

        for (size_t i = 0; i < s->list.len; i++) {
            struct stray *one = &s->list.ptr[i];

            if (one->proc != p->proc)
                continue;
            if (p->what == PROC_OUTPUT) {
                buf_add(p->fd == 1 ? &one->out : &one->err, buf_str(&p->bytes));
                break;
            }
            strays_hear(s, one, p);
            stray_release(one);
            *one = s->list.ptr[--s->list.len];
            break;
        }
        mail_free(m);
    }
}

int strays_start(struct strays *s, const struct program_place *place, struct hook_handler *h,
                 enum hook_event event, int64_t timeout_ms, struct str line, struct err *err)
{
    struct proc *p = NULL;
    struct stray *one;

    lock_take(&s->lock);
    strays_read(s);
    if (s->list.len == STRAYS_MAX)
        err_set(err, ERR_BUSY, "%d others still run", STRAYS_MAX);
    else
        p = program_start(place, h, timeout_ms, line, s->mail, err);
    if (p) {
        one = vec_add(&s->list);
        *one = (struct stray){
            .proc = p,
            .handler = hook_handler_ref(h),
            .event = event,
            .out = BUF_INIT(OUTPUT_MAX_BYTES),
            .err = BUF_INIT(OUTPUT_MAX_BYTES),
        };
    }
    lock_give(&s->lock);
    return p ? 0 : -1;
}

bool strays_have_news(struct strays *s)
{
    bool any;

    lock_take(&s->lock);
    strays_read(s);
    any = s->context.len || s->message.len;
    lock_give(&s->lock);
    return any;
}

void strays_tell(struct strays *s, struct hook_outcome *io)
{
    lock_take(&s->lock);
    strays_read(s);
    hook_outcome_say(&io->context, buf_str(&s->context));
    hook_outcome_say(&io->message, buf_str(&s->message));
    buf_clear(&s->context);
    buf_clear(&s->message);
    lock_give(&s->lock);
}
