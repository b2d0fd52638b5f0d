/*
 * summary: asks for the summary until there is a usable answer.
 */
#include "agent/compact/summary.h"

#include "agent/agent_state.h"
#include "agent/step.h"
#include "base/err.h"
#include "base/log.h"
#include "llm/message.h"

#define SUMMARY_PARTS                                                                              \
    4 /* after each request that is too long, another quarter of the history is left out */

struct question {
    struct agent *agent;
    struct turn *turn;
    struct buf text;
    size_t first; /* index of the first message that is included */
    enum tool_choice choice;
};

/* The messages from q->first on, and the question. */
static struct message **question_messages(const struct question *q, size_t *ret_count)
{
    const struct history *h = &q->agent->history;
    struct message **list = mem_alloc((h->list.len + 2) * sizeof(*list));
    struct message *last = NULL;
    struct block ask = {.kind = BLOCK_TEXT, .text = buf_str(&q->text)};
    size_t n = 0;

    if (q->first && h->list.ptr[q->first]->role == ROLE_ASSISTANT)
        list[n++] = message_user_text(
            STR("[The beginning of the conversation is left out here: it no longer fits.]"));
    for (size_t i = q->first; i < h->list.len; i++)
        list[n++] = message_ref(h->list.ptr[i]);
    last = message_new(ROLE_USER, 4);
    if (n && list[n - 1]->role == ROLE_USER) {
        struct message *words = list[--n];

        for (size_t i = 0; i < words->len; i++)
            message_add(last, &words->blocks[i]);
        message_unref(words);
    }
    message_add(last, &ask);
    list[n++] = last;
    *ret_count = n;
    return list;
}

static int question_send(const struct question *q, struct step *s, struct err *err)
{
    size_t count;
    struct message **list = question_messages(q, &count);
    struct step_aside aside = {
        .messages = list,
        .count = count,
        .epoch = q->first ? 0 : q->agent->history.epoch,
        .choice = q->choice,
    };
    int r = step_ask(s, &aside, err);

    for (size_t i = 0; i < count; i++)
        message_unref(list[i]);
    mem_freep(&list);
    return r;
}

/* Checks the answer. */
static int question_heard(const struct step *s, struct buf *ret, struct err *err)
{
    const struct message *m = s->reply.message;
    CLEANUP(buf_release) struct buf text = BUF_INIT(AGENT_MAX_TEXT);

    if (s->reply.stop == STOP_CONTEXT_FULL)
        return err_set(err, ERR_CONTEXT_FULL,
                       "the context was full before the summary was complete");
    if (s->reply.stop == STOP_REFUSAL)
        return err_set(err, ERR_PROTOCOL, "the model refused to summarize the conversation");
    if (message_count(m, BLOCK_TOOL_USE))
        return err_set(err, ERR_PROTOCOL, "the model called a tool instead of summarizing");
    message_text(m, &text);
    if (!str_trim(buf_str(&text)).len)
        return err_set(err, ERR_PROTOCOL, "the model's summary is empty");
    buf_add(ret, str_trim(buf_str(&text)));
    if (s->reply.stop == STOP_MAX_TOKENS)
        buf_adds(ret, "\n\n[The summary was cut here, at the output limit.]");
    return 0;
}

static int question_ask(const struct question *q, struct buf *ret, struct err *err)
{
    struct step s;
    int r;

    step_init(&s, q->agent, q->turn);
    r = question_send(q, &s, err);
    if (r == 0)
        r = question_heard(&s, ret, err);
    step_release(&s);
    return r;
}

/* True if there is a shorter request to try. */
static bool question_shorten(struct question *q, int part)
{
    struct history *h = &q->agent->history;
    size_t bytes = history_bytes(h, 0) / SUMMARY_PARTS * (size_t)(SUMMARY_PARTS - part);
    size_t first = history_tail(h, bytes);

    if (first <= q->first || first + 1 >= h->list.len)
        return false;
    q->first = first;
    return true;
}

int summary_ask(struct agent *a, struct turn *t, struct str instructions, struct buf *ret,
                struct err *err)
{
    struct question q = {.agent = a, .turn = t, .text = BUF_INIT(AGENT_MAX_TEXT)};
    int part = 0;
    int r;

    history_seal(&a->history);
    buf_adds(&q.text, summary_md);
    if (instructions.len)
        buf_addf(&q.text, "\n\nThe user asks for this summary, and wants kept above all: %.*s",
                 STR_ARG(instructions));
    for (;;) {
        r = question_ask(&q, ret, err);
        if (r == 0)
            break;
        log_debug("agent", "summary: %s", err->text);
        if (err->code == ERR_PROTOCOL && q.choice == CHOICE_AUTO) {
            buf_adds(&q.text, "\n\nYour last answer was not a summary. Answer with text only.");
            q.choice = CHOICE_NONE;
        } else if ((err->code != ERR_CONTEXT_FULL && err->code != ERR_TOO_BIG) ||
                   ++part == SUMMARY_PARTS || !question_shorten(&q, part)) {
            break;
        }
        err_clear(err);
    }
    buf_release(&q.text);
    return r;
}
