/*
 * What waits to be heard: inputs and notes, under the agent's lock; taken by its thread between
 * steps and turns. Input that has to wait is written down before it waits, and taken out of the
 * journal only behind the line that says it was heard.
 */
#include <string.h>

#include "agent/compact.h"
#include "agent/inside.h"
#include "agent/journal.h"
#include "agent/pace.h"
#include "base/clock.h"
#include "base/err.h"
#include "llm/message.h"
#include "llm/provider.h"
#include "sync/cancel.h"

/* ---- Taken by the agent's thread ---- */

/* Input that was taken up, or back. What was never written as waiting needs no word. */
void agent_unkeep(struct agent *a, enum journal_queue what, const struct agent_input *in)
{
    struct journal *journal = a->spec.journal;
    struct err err = {0};

    if (in->kept && journal && journal->queue(journal, what, in, &err) < 0)
        agent_notice(a, LEVEL_WARNING, "%s", err.text);
}

void agent_command_free(struct agent_command *c)
{
    if (!c)
        return;
    mem_freep(&c->name);
    mem_freep(&c->args);
    mem_freep(&c->source);
    strv_release(&c->allow);
    strv_release(&c->deny);
    strv_release(&c->only);
    if (c->provider)
        provider_release(c->provider);
    mem_freep(&c->provider);
    mem_freep(&c);
}

void agent_input_release(struct agent_input *in)
{
    message_unref(in->message);
    in->message = NULL;
    agent_command_free(in->command);
    in->command = NULL;
}

bool agent_next_input(struct agent *a, bool between, struct agent_input *ret)
{
    bool found = false;

    lock_take(&a->lock);
    for (size_t i = 0; i < a->queue.len && !found; i++) {
        struct str keep;

        if (between &&
            (a->queue.ptr[i].when != INPUT_NEXT || compact_is_wanted(&a->queue.ptr[i], &keep)))
            continue;
        *ret = a->queue.ptr[i];
        memmove(&a->queue.ptr[i], &a->queue.ptr[i + 1],
                (a->queue.len - i - 1) * sizeof(a->queue.ptr[0]));
        a->queue.len--;
        found = true;
    }
    if (!between)
        a->busy = found;
    lock_give(&a->lock);
    return found;
}

bool agent_put_back(struct agent *a, struct agent_input *in)
{
    size_t at = 0;
    bool dropped;

    lock_take(&a->lock);
    dropped = a->dropped_queue;
    if (!dropped) {
        while (at < a->queue.len && a->queue.ptr[at].when == INPUT_NOW)
            at++;
        vec_push(&a->queue, *in); /* makes the room */
        memmove(&a->queue.ptr[at + 1], &a->queue.ptr[at],
                (a->queue.len - 1 - at) * sizeof(a->queue.ptr[0]));
        a->queue.ptr[at] = *in;
        in->message = NULL;
        in->command = NULL;
    }
    lock_give(&a->lock);
    return !dropped;
}

bool agent_take_note(struct agent *a, struct buf *ret)
{
    char *note = NULL;

    lock_take(&a->lock);
    if (a->notes.len) {
        note = a->notes.ptr[0];
        memmove(a->notes.ptr, a->notes.ptr + 1, (a->notes.len - 1) * sizeof(note));
        a->notes.len--;
    }
    if (!a->notes.len)
        a->wake = false;
    lock_give(&a->lock);
    if (!note)
        return false;
    buf_adds(ret, note);
    mem_freep(&note);
    return true;
}

/* ---- Put by anybody ---- */

void agent_drop_queue(struct agent *a)
{
    VEC_EACH(&a->queue, in) {
        agent_input_release(in);
    }
    a->queue.len = 0;
}

/* Input that has to wait is written down first. */
static void agent_keep_waiting(struct agent *a, struct agent_input *input)
{
    struct journal *journal = a->spec.journal;
    struct err err = {0};
    bool waits;

    lock_take(&a->lock);
    waits = a->busy || a->turn_cancel || a->queue.len || input->is_notice;
    lock_give(&a->lock);
    input->kept = false;
    if (!journal || !waits || input->go_on)
        return;
    if (journal->queue(journal, QUEUE_ENQUEUE, input, &err) < 0)
        agent_notice(a, LEVEL_WARNING, "%s", err.text);
    else
        input->kept = true;
}

/* What waited when the session ended takes up what was left open: no other turn is needed for it.
 */
static bool agent_goes_on_by_itself(struct agent *a, const struct agent_input *input)
{
    bool takes_up;

    lock_take(&a->lock);
    takes_up = a->takes_up;
    a->takes_up = false;
    lock_give(&a->lock);
    return takes_up && input->go_on;
}

void agent_send(struct agent *a, struct agent_input *input)
{
    struct cancel *running = NULL;

    if (agent_goes_on_by_itself(a, input))
        return;
    agent_keep_waiting(a, input);
    lock_take(&a->lock);
    if (input->when == INPUT_NOW) {
        vec_push(&a->queue, *input); /* makes the room */
        memmove(&a->queue.ptr[1], &a->queue.ptr[0], (a->queue.len - 1) * sizeof(a->queue.ptr[0]));
        a->queue.ptr[0] = *input;
        if (a->turn_cancel) {
            running = cancel_ref(a->turn_cancel);
            a->pushed = true;
        }
    } else {
        vec_push(&a->queue, *input);
    }
    lock_give(&a->lock);
    input->message = NULL;
    input->command = NULL;
    if (running)
        cancel_set(running);
    cancel_unref(running);
    agent_wake(a);
}

void agent_queued(struct agent *a, struct strv *ret_uuids, struct strv *ret_texts)
{
    lock_take(&a->lock);
    VEC_EACH(&a->queue, in) {
        CLEANUP(buf_release) struct buf text = BUF_INIT(BUF_NO_LIMIT);

        strv_adds(ret_uuids, in->uuid);
        if (ret_texts && in->message)
            message_text(in->message, &text);
        if (ret_texts)
            strv_add(ret_texts, buf_str(&text));
    }
    lock_give(&a->lock);
}

void agent_keep_in(struct agent *a, struct journal *journal)
{
    a->spec.journal = journal;
}

bool agent_unqueue(struct agent *a, struct str uuid)
{
    struct agent_input in = {0};

    lock_take(&a->lock);
    for (size_t i = 0; i < a->queue.len && !in.message; i++) {
        if (!str_is(uuid, a->queue.ptr[i].uuid))
            continue;
        in = a->queue.ptr[i];
        memmove(&a->queue.ptr[i], &a->queue.ptr[i + 1],
                (a->queue.len - i - 1) * sizeof(a->queue.ptr[0]));
        a->queue.len--;
    }
    lock_give(&a->lock);
    if (!in.message)
        return false;
    agent_unkeep(a, QUEUE_REMOVE, &in);
    agent_input_release(&in);
    return true;
}

void agent_asks(struct agent *a, bool on)
{
    pace_ask(a->pace, on, clock_mono_ms());
}

void agent_interrupt(struct agent *a, bool drop_queued)
{
    struct agent_input any = {0};
    struct cancel *running = NULL;

    lock_take(&a->lock);
    if (a->turn_cancel)
        running = cancel_ref(a->turn_cancel);
    VEC_EACH(&a->queue, in) {
        any.kept = any.kept || in->kept;
    }
    if (drop_queued) {
        agent_drop_queue(a);
        a->dropped_queue = true;
    }
    lock_give(&a->lock);
    if (drop_queued)
        agent_unkeep(a, QUEUE_POP_ALL, &any);
    if (running)
        cancel_set(running);
    cancel_unref(running);
}

void agent_notify(struct agent *a, struct str text, bool wake)
{
    char *note = mem_dup(text.ptr, text.len);

    lock_take(&a->lock);
    vec_push(&a->notes, note);
    a->wake = a->wake || wake;
    lock_give(&a->lock);
    agent_wake(a);
}
