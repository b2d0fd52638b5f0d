/*
 * How a turn recovers from an unusable answer: cut, empty, too long, or rejected because of an
 * image. Every remedy is tried before the problem is reported, and no answer is discarded when
 * there is no step left for another. Agent thread.
 */
#include <inttypes.h>

#include "agent/agent_state.h"
#include "agent/call/call.h"
#include "agent/compact/compact.h"
#include "agent/journal.h"
#include "agent/step.h"
#include "base/err.h"
#include "llm/message.h"
#include "llm/model.h"
#include "llm/provider.h"

#define TURN_GO_ON 3 /* consecutive requests to continue a cut answer */

static bool turn_has_step(const struct agent *a, const struct turn *t)
{
    return !a->spec.max_steps || t->steps < a->spec.max_steps;
}

/* Raises the output limit for the same request, once, if the model allows more. */
static bool turn_raise_cap(struct agent *a, struct turn *t)
{
    const struct model *m = &agent_provider(a, t->provider)->model;

    if (t->max_tokens || !m->long_output || m->max_output <= m->default_output ||
        spending_max_usd(a->spec.spending) > 0)
        return false;
    t->max_tokens = m->max_output;
    return true;
}

/* The call at the end of the answer if it is too incomplete to run, or NULL. */
static struct call *turn_cut_call(const struct step *s)
{
    const struct message *m = s->reply.message;
    struct call *c = s->batch.calls.len ? s->batch.calls.ptr[s->batch.calls.len - 1] : NULL;

    return c && !c->args && m->blocks[m->len - 1].kind == BLOCK_TOOL_USE ? c : NULL;
}

bool turn_after_cut(struct agent *a, struct turn *t, struct step *s)
{
    struct call *call = turn_cut_call(s);

    if (s->reply.stop != STOP_MAX_TOKENS) {
        t->go_on = 0;
        return false;
    }
    if (s->batch.calls.len && !call)
        return false; /* all calls are complete */
    if (turn_has_step(a, t) &&
        turn_raise_cap(a, t)) { /* no call with side effects has started yet */
        step_drop(s, STR("the answer was cut at the output limit"));
        turn_again(t, WHY_MORE_TOKENS);
        return true;
    }
    if (call) {
        call_fail(call,
                  "The answer was cut at the output limit (%" PRId64
                  " tokens) in the middle of this call. Nothing was done. Do it in smaller parts, "
                  "each of them a separate call.",
                  s->reply.usage.output);
        t->go_on++;
        return false;
    }
    if (!turn_has_step(a, t) || t->go_on >= TURN_GO_ON || message_is_empty(s->reply.message))
        return false;
    t->go_on++;
    if (turn_keep_reply(a, t, s) < 0)
        return true; /* the caller ends the turn */
    t->continues = true;
    agent_remind(a,
                 STR("Your answer was cut at the output limit. Continue exactly where it stops: no "
                     "apology, no summary, no repetition; and give the rest in smaller "
                     "parts."));
    turn_again(t, WHY_GO_ON);
    return true;
}

bool turn_is_cut_for_good(const struct turn *t)
{
    return t->go_on > TURN_GO_ON;
}

bool turn_after_nothing(struct agent *a, struct turn *t, struct step *s, bool *ret_again)
{
    if (s->reply.stop == STOP_REFUSAL || !message_is_empty(s->reply.message))
        return false;
    step_drop(s, STR("the answer was empty"));
    *ret_again = !t->asked_again && turn_has_step(a, t);
    if (!*ret_again) {
        err_set(&t->err, ERR_PROTOCOL, "the model answered with nothing%s",
                t->asked_again ? ", twice" : "");
        return true;
    }
    t->asked_again = true;
    agent_remind(a, STR("Your answer was empty. Continue with the task, or say that it is done."));
    turn_again(t, WHY_EMPTY);
    return true;
}

void agent_keep_drops(struct agent *a, const struct history_drops *drops)
{
    struct journal *journal = a->spec.journal;
    VEC(struct journal_replacement) list = VEC_INIT;
    struct err err = {0};

    VEC_EACH(&drops->list, it) {
        vec_push(&list, ((struct journal_replacement){.entry = it->entry,
                                                      .tool_use_id = it->tool_use_id,
                                                      .block_index = it->index,
                                                      .stub = it->text,
                                                      .is_dropped = true}));
    }
    if (journal && list.len && journal->replaced(journal, list.ptr, list.len, &err) < 0)
        agent_notice(a, LEVEL_WARNING, "%s", err.text);
    vec_release(&list);
}

bool turn_drops_media(struct agent *a, struct turn *t, const struct step *s)
{
    enum history_media of = s->blames_media ? history_newest_media(&a->history) : MEDIA_NONE;
    struct history_drops drops = {.list = VEC_INIT};
    size_t n = of ? history_drop_media(&a->history, of, &drops) : 0;

    agent_keep_drops(a, &drops);
    vec_release(&drops.list);
    if (of == MEDIA_OF_USER)
        agent_notice(a, LEVEL_WARNING, "%s left out of the conversation from here on",
                     n > 1 ? "the images and files you sent are" : "the image or file you sent is");
    if (of != MEDIA_OF_TOOL)
        return false;
    agent_notice(a, LEVEL_WARNING, "%s; continuing without %s that a tool had read", t->err.text,
                 n > 1 ? "the images and files" : "the image or file");
    err_clear(&t->err);
    turn_again(t, WHY_NO_MEDIA);
    return true;
}

/* True if the answer broke off because the window was full and has no calls. */
static bool turn_ran_out(const struct agent *a, const struct turn *t, const struct step *s)
{
    return s->reply.stop == STOP_CONTEXT_FULL && s->reply.message &&
           !message_count(s->reply.message, BLOCK_TOOL_USE) && turn_has_step(a, t);
}

bool turn_makes_room(struct agent *a, struct turn *t, struct step *s)
{
    bool too_long = t->err.code == ERR_CONTEXT_FULL ||
                    (t->err.code == ERR_TOO_BIG && !s->message_id[0]) || turn_ran_out(a, t, s);

    if (!too_long || !compact_for_room(a, t))
        return false;
    step_drop(s, STR("the model's context was full"));
    err_clear(&t->err);
    turn_again(t, WHY_MORE_ROOM);
    return true;
}
