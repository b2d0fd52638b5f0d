/*
 * The agent's side of the referee: what it reports, and what it does with the answers. Agent
 * thread.
 */
#include <math.h>

#include "agent/agent_state.h"
#include "agent/call/call.h"
#include "agent/compact/compact.h"
#include "agent/referee.h"
#include "base/err.h"
#include "llm/message.h"
#include "llm/model.h"

void agent_tell_tool(struct agent *a, const struct call *c, const struct block *result)
{
    struct referee_tool t = {
        .name = c->name,
        .id = c->id,
        .input = buf_str(&c->expanded),
        .text = result->content_len ? result->content[0].text : STR(""),
        .is_error = result->is_error,
        .ran = c->ran,
        .unanswered = c->unanswered,
        .flags = c->flags,
        .changed_file = c->changed_file,
    };

    referee_tool_done(a->spec.referee, &t);
}

/* Replaces the conversation by a summary, as the referee requested. A failure does not end the
 * turn. */
static void turn_begin_anew(struct agent *a, struct turn *t, struct str keep)
{
    CLEANUP(buf_release) struct buf said = BUF_INIT(REFEREE_MAX_TEXT);
    struct err err = {0};

    if (compact_asked(a, t, keep, &said, &err) < 0)
        agent_notice(a, LEVEL_WARNING, "the conversation could not be summarized: %s", err.text);
}

bool turn_is_called_off(struct agent *a, struct turn *t)
{
    CLEANUP(referee_call_release) struct referee_call call = REFEREE_CALL_INIT;

    buf_clear(&t->tail);
    t->most_wait_ms = 0;
    if (referee_before_call(a->spec.referee, &call) > 0) {
        buf_add(&t->note, buf_str(&call.why));
        return true;
    }
    if (call.fresh)
        turn_begin_anew(a, t, buf_str(&call.keep));
    if (call.say.len)
        agent_remind(a, buf_str(&call.say));
    buf_add(&t->tail, buf_str(&call.tail));
    t->most_wait_ms = call.most_wait_ms;
    return false;
}

int turn_ask_referee(struct agent *a, struct turn *t)
{
    CLEANUP(referee_verdict_release) struct referee_verdict v = REFEREE_VERDICT_INIT;
    int r =
        referee_may_stop(a->spec.referee, history_last_reply(&a->history), t->cancel, &v, &t->err);

    if (r <= 0)
        return r;
    if (v.fresh)
        turn_begin_anew(a, t, buf_str(&v.keep));
    (void)turn_say_text(a, t, buf_str(&v.feedback), USER_ADDED);
    return r;
}
