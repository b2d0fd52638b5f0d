/*
 * Input from other threads: it is added to the agent's queue (input.h), and recorded in the journal
 * if it has to wait. The record is removed only after the input's transcript line was written.
 */
#include "agent/agent_state.h"
#include "agent/journal.h"
#include "base/clock.h"
#include "base/err.h"
#include "llm/pace.h"
#include "sync/cancel.h"

/* Removes the record of an input that was taken or withdrawn. One that was never recorded needs
 * none. */
void agent_unkeep(struct agent *a, enum journal_queue what, const struct agent_input *in)
{
    struct journal *journal = a->spec.journal;
    struct err err = {0};

    if (in->kept && journal && journal->queue(journal, what, in, &err) < 0)
        agent_notice(a, LEVEL_WARNING, "%s", err.text);
}

/* Records input that has to wait. True if it is in the journal's queue. */
static bool agent_keep_waiting(struct agent *a, const struct agent_input *input)
{
    struct journal *journal = a->spec.journal;
    struct err err = {0};
    bool waits;

    lock_take(&a->lock);
    waits = a->turn_cancel || input->is_notice;
    lock_give(&a->lock);
    waits = waits || !inputs_rests(a->inputs);
    if (!journal || !waits || input->go_on)
        return false;
    if (journal->queue(journal, QUEUE_ENQUEUE, input, &err) == 0)
        return true;
    agent_notice(a, LEVEL_WARNING, "%s", err.text);
    return false;
}

/* True if input that waited when the previous session ended resumes the interrupted turn, so that
 * this "continue" request is not needed. */
static bool agent_goes_on_by_itself(struct agent *a, const struct agent_input *input)
{
    bool takes_up;

    lock_take(&a->lock);
    takes_up = a->takes_up;
    a->takes_up = false;
    lock_give(&a->lock);
    return takes_up && input->go_on;
}

/* Wakes the agent for new input; interrupts the turn for INPUT_NOW. */
static void agent_hears(struct agent *a, enum input_when when)
{
    struct cancel *running = NULL;

    lock_take(&a->lock);
    if (when == INPUT_NOW && a->turn_cancel) {
        running = cancel_ref(a->turn_cancel);
        a->pushed = true;
    }
    lock_give(&a->lock);
    if (running)
        cancel_set(running);
    cancel_unref(running);
    agent_wake(a);
}

void agent_send(struct agent *a, struct agent_input *input)
{
    enum input_when when = input->when;

    if (agent_goes_on_by_itself(a, input))
        return;
    input->kept = agent_keep_waiting(a, input);
    inputs_put(a->inputs, input);
    agent_hears(a, when);
}

void agent_pass(struct agent *a, struct agent_input *claimed)
{
    enum input_when when = claimed->when;
    bool passes = !agent_goes_on_by_itself(a, claimed);
    bool kept = passes && agent_keep_waiting(a, claimed);

    if (passes && inputs_pass(a->inputs, claimed, kept)) {
        agent_hears(a, when);
        return;
    }
    if (passes)
        agent_unkeep(a, QUEUE_REMOVE, claimed);
    inputs_done(a->inputs, claimed);
}

struct inputs *agent_inputs(struct agent *a)
{
    return a->inputs;
}

void agent_keep_in(struct agent *a, struct journal *journal)
{
    a->spec.journal = journal;
}

void agent_forget(struct agent *a, struct agent_input *in)
{
    agent_unkeep(a, QUEUE_REMOVE, in);
    agent_input_release(in);
}

bool agent_return(struct agent *a, struct str uuid)
{
    struct agent_input was = {0};

    if (!inputs_return(a->inputs, uuid, &was))
        return false;
    agent_unkeep(a, QUEUE_REMOVE, &was);
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

    if (drop_queued)
        any.kept = inputs_drop(a->inputs, INPUTS_WAITING);
    lock_take(&a->lock);
    if (a->turn_cancel)
        running = cancel_ref(a->turn_cancel);
    lock_give(&a->lock);
    agent_unkeep(a, QUEUE_POP_ALL, &any);
    if (running)
        cancel_set(running);
    cancel_unref(running);
}

void agent_interrupt_turn(struct agent *a, int64_t turn)
{
    struct cancel *running = NULL;

    lock_take(&a->lock);
    if (a->turn_cancel && a->turn == turn)
        running = cancel_ref(a->turn_cancel);
    lock_give(&a->lock);
    if (running)
        cancel_set(running);
    cancel_unref(running);
}

void agent_notify(struct agent *a, enum input_origin origin, struct str id, struct str text,
                  bool wake)
{
    inputs_note(a->inputs, origin, id, text, wake);
    agent_wake(a);
}
