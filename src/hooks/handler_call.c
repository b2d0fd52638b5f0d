/*
 * call: a reference-counted struct with two owners. The result belongs to the thread until its mail
 * is sent, then to the waiter.
 */
#include "hooks/handler_call.h"

#include <stdatomic.h>

#include "base/mem.h"
#include "hooks/handler.h"
#include "llm/message.h"
#include "sync/cancel.h"
#include "sync/crew.h"

struct handler_call {
    atomic_uint refs;
    handler_call_fn fn;
    void *arg;
    struct hook_handler *handler;
    struct hook_input in; /* in the arena */
    struct arena arena;
    struct cancel *cancel;
    struct mailbox *to;
    struct handler_call_result result;
};

static void mail_free_call(struct mail *m)
{
    mem_freep(&m);
}

const struct mail_kind handler_call_mail_kind = {"hook call", mail_free_call};

static void handler_call_unref(struct handler_call *e)
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

static void handler_call_thread(void *arg)
{
    struct handler_call *e = arg;
    struct handler_call_mail *m = mem_zalloc(sizeof(*m));

    e->fn(e->arg, e->handler, &e->in, e->cancel, &e->result);
    m->mail.kind = &handler_call_mail_kind;
    m->call = e;
    mailbox_send(e->to, &m->mail);
    handler_call_unref(e);
}

struct handler_call *handler_call_start(struct crew *crew, handler_call_fn fn, void *arg,
                                        struct hook_handler *h, const struct hook_input *in,
                                        struct cancel *cancel, struct mailbox *to, struct err *err)
{
    struct handler_call *e = mem_zalloc(sizeof(*e));
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
    e->result = (struct handler_call_result){
        .reason = BUF_INIT(HOOK_MAX_TEXT),
        .answer = BUF_INIT(HOOK_MAX_TEXT),
    };
    if (crew_start(crew, "hook", handler_call_thread, e, err) < 0) {
        handler_call_unref(e); /* the thread's */
        handler_call_unref(e);
        return NULL;
    }
    return e;
}

void handler_call_cancel(struct handler_call *e)
{
    cancel_set(e->cancel);
}

struct handler_call_result *handler_call_result(struct handler_call *e)
{
    return &e->result;
}

void handler_call_leave(struct handler_call *e)
{
    if (!e)
        return;
    cancel_set(e->cancel);
    handler_call_unref(e);
}
