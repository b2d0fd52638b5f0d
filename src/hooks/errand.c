/*
 * errand: one struct, two owners, and a count that says who is the last. The result is the thread's
 * until its mail is sent, and the waiter's from then on.
 */
#include "hooks/errand.h"

#include <stdatomic.h>

#include "base/mem.h"
#include "hooks/handler.h"
#include "llm/message.h"
#include "sync/cancel.h"
#include "sync/crew.h"

struct errand {
    atomic_uint refs;
    errand_fn fn;
    void *arg;
    struct hook_handler *handler;
    struct hook_input in; /* in the arena */
    struct arena arena;
    struct cancel *cancel;
    struct mailbox *to;
    struct errand_result result;
};

static void mail_free_errand(struct mail *m)
{
    mem_freep(&m);
}

const struct mail_kind errand_mail_kind = {"errand", mail_free_errand};

static void errand_unref(struct errand *e)
{
    if (atomic_fetch_sub_explicit(&e->refs, 1, memory_order_acq_rel) > 1)
        return;
    hook_handler_unref(e->handler);
    buf_release(&e->result.reason);
    buf_release(&e->result.answer);
    for (size_t i = 0; i < e->in.talk_len; i++)
        message_unref(e->in.talk[i]);
    cancel_unref(e->cancel);
    mailbox_unref(e->to);
    arena_release(&e->arena);
    mem_freep(&e);
}

static void errand_thread(void *arg)
{
    struct errand *e = arg;
    struct errand_mail *m = mem_zalloc(sizeof(*m));

    e->fn(e->arg, e->handler, &e->in, e->cancel, &e->result);
    m->mail.kind = &errand_mail_kind;
    m->errand = e;
    mailbox_send(e->to, &m->mail);
    errand_unref(e);
}

struct errand *errand_start(struct crew *crew, errand_fn fn, void *arg, struct hook_handler *h,
                            const struct hook_input *in, struct cancel *cancel, struct mailbox *to,
                            struct err *err)
{
    struct errand *e = mem_zalloc(sizeof(*e));
    struct message **talk = arena_alloc(&e->arena, in->talk_len * sizeof(*talk));

    for (size_t i = 0; i < in->talk_len; i++)
        talk[i] = message_ref(in->talk[i]);
    atomic_init(&e->refs, 2);
    e->fn = fn;
    e->arg = arg;
    e->handler = hook_handler_ref(h);
    e->in = (struct hook_input){
        .event = in->event,
        .subject = arena_str(&e->arena, in->subject),
        .json = arena_str(&e->arena, in->json),
        .tool_use_id = arena_str(&e->arena, in->tool_use_id),
        .talk = talk,
        .talk_len = in->talk_len,
    };
    e->cancel = cancel_new(cancel);
    e->to = mailbox_ref(to);
    e->result = (struct errand_result){
        .reason = BUF_INIT(HOOK_MAX_TEXT),
        .answer = BUF_INIT(HOOK_MAX_TEXT),
    };
    if (crew_start(crew, "hook", errand_thread, e, err) < 0) {
        errand_unref(e); /* the thread's */
        errand_unref(e);
        return NULL;
    }
    return e;
}

void errand_cancel(struct errand *e)
{
    cancel_set(e->cancel);
}

struct errand_result *errand_result(struct errand *e)
{
    return &e->result;
}

void errand_leave(struct errand *e)
{
    if (!e)
        return;
    cancel_set(e->cancel);
    errand_unref(e);
}
