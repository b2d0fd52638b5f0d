/*
 * The chain of referees: asks each one, from the innermost to the outermost. Agent thread.
 */
#include "agent/referee.h"

void referee_call_release(struct referee_call *c)
{
    buf_release(&c->tail);
    buf_release(&c->say);
    buf_release(&c->why);
    buf_release(&c->keep);
}

void referee_verdict_release(struct referee_verdict *v)
{
    buf_release(&v->feedback);
    buf_release(&v->keep);
}

/* The first referee with work to do wins; among those that wait, the earliest time. */
enum referee_idle referee_idle(struct referee *first, struct agent_input *ret,
                               int64_t *ret_until_ms)
{
    enum referee_idle most = IDLE_REST;

    *ret_until_ms = -1;
    for (struct referee *r = first; r; r = r->outer) {
        int64_t until_ms = -1;
        enum referee_idle next = r->idle ? r->idle(r, ret, &until_ms) : IDLE_REST;

        if (next == IDLE_TURN)
            return next;
        if (next == IDLE_REST)
            continue;
        if (most == IDLE_REST || *ret_until_ms < 0 || (until_ms >= 0 && until_ms < *ret_until_ms))
            *ret_until_ms = until_ms;
        most = IDLE_WAIT;
    }
    return most;
}

void referee_turn_begins(struct referee *first, struct cancel *turn)
{
    for (struct referee *r = first; r; r = r->outer) {
        if (r->turn_begins)
            r->turn_begins(r, turn);
    }
}

bool referee_ended_turn(struct referee *first, struct buf *ret_why)
{
    for (struct referee *r = first; r; r = r->outer) {
        if (r->ended_turn && r->ended_turn(r, ret_why))
            return true;
    }
    return false;
}

/* Texts are concatenated; the shortest waiting limit applies. */
int referee_before_call(struct referee *first, struct referee_call *ret)
{
    for (struct referee *r = first; r; r = r->outer) {
        int64_t before_ms = ret->most_wait_ms;

        if (r->before_call && r->before_call(r, ret) > 0)
            return 1;
        if (before_ms > 0 && (ret->most_wait_ms <= 0 || ret->most_wait_ms > before_ms))
            ret->most_wait_ms = before_ms;
    }
    return 0;
}

void referee_restate(struct referee *first, struct buf *ret)
{
    for (struct referee *r = first; r; r = r->outer) {
        if (r->restate)
            r->restate(r, ret);
    }
}

void referee_tool_done(struct referee *first, const struct referee_tool *t)
{
    for (struct referee *r = first; r; r = r->outer) {
        if (r->tool_done)
            r->tool_done(r, t);
    }
}

/* Outer referees are asked once all inner ones agree. If an outer one objects, the inner ones are
 * notified that the turn continues. */
int referee_may_stop(struct referee *first, const struct message *last, struct cancel *cancel,
                     struct referee_verdict *ret, struct err *err)
{
    for (struct referee *r = first; r; r = r->outer) {
        int answer = r->may_stop ? r->may_stop(r, last, cancel, ret, err) : 0;

        for (struct referee *within = first; answer > 0 && within != r; within = within->outer) {
            if (within->sent_back)
                within->sent_back(within);
        }
        if (answer)
            return answer;
    }
    return 0;
}

void referee_sent_back(struct referee *first)
{
    for (struct referee *r = first; r; r = r->outer) {
        if (r->sent_back)
            r->sent_back(r);
    }
}

void referee_after_turn(struct referee *first, const struct referee_end *e)
{
    for (struct referee *r = first; r; r = r->outer) {
        if (r->after_turn)
            r->after_turn(r, e);
    }
}
