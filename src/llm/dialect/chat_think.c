/*
 * Separates <think>…</think> at the start of an answer. A buffer holds text that is still
 * undecided; each state consumes as much as it can from its front. Runs on the thread of the agent
 * that made the call.
 */
#include "llm/dialect/chat_think.h"

#define OPEN_TAG STR("<think>")
#define CLOSE_TAG STR("</think>")
#define MAX_SPACE 256

void chat_think_init(struct chat_think *t, chat_think_fn fn, void *arg)
{
    *t = (struct chat_think){.held = BUF_INIT(BUF_NO_LIMIT), .fn = fn, .arg = arg};
}

void chat_think_release(struct chat_think *t)
{
    buf_release(&t->held);
}

/* Emits and removes the first n held bytes. */
static int tell(struct chat_think *t, enum block_kind kind, size_t n, struct err *err)
{
    if (n && t->fn(kind, str_first(buf_str(&t->held), n), t->arg, err) < 0)
        return -1;
    buf_cut(&t->held, 0, n);
    return 0;
}

static size_t space_len(struct str s)
{
    size_t n = 0;

    while (n < s.len &&
           (s.ptr[n] == ' ' || s.ptr[n] == '\n' || s.ptr[n] == '\r' || s.ptr[n] == '\t'))
        n++;
    return n;
}

/* How many bytes at the end of s could be the start of the tag. */
static size_t tag_begun(struct str s, struct str tag)
{
    for (size_t n = s.len < tag.len ? s.len : tag.len - 1; n; n--)
        if (str_starts(tag, str_from(s, s.len - n)))
            return n;
    return 0;
}

/* Handles one state; *ret_more says whether the next state continues. */
static int step(struct chat_think *t, bool *ret_more, struct err *err)
{
    struct str held = buf_str(&t->held);
    size_t space = space_len(held);
    struct str rest = str_from(held, space);
    size_t at;

    *ret_more = true;
    switch (t->state) {
    case THINK_START:
        if (str_starts(rest, OPEN_TAG)) {
            buf_cut(&t->held, 0, space + OPEN_TAG.len);
            t->state = THINK_OPENED;
        } else if (space > MAX_SPACE || !str_starts(OPEN_TAG, rest)) {
            t->state = THINK_OVER;
        } else {
            *ret_more = false;
        }
        return 0;
    case THINK_OPENED:
    case THINK_CLOSED:
        buf_cut(&t->held, 0, space);
        if (rest.len)
            t->state = t->state == THINK_OPENED ? THINK_INSIDE : THINK_OVER;
        else
            *ret_more = false;
        return 0;
    case THINK_INSIDE:
        at = str_find(held, CLOSE_TAG);
        if (at == held.len) {
            *ret_more = false;
            return tell(t, BLOCK_THINKING, held.len - tag_begun(held, CLOSE_TAG), err);
        }
        if (tell(t, BLOCK_THINKING, at, err) < 0)
            return -1;
        buf_cut(&t->held, 0, CLOSE_TAG.len);
        t->state = THINK_CLOSED;
        return 0;
    case THINK_OVER:
        *ret_more = false;
        return tell(t, BLOCK_TEXT, held.len, err);
    }
    return 0;
}

int chat_think_feed(struct chat_think *t, struct str text, struct err *err)
{
    bool more = true;

    if (!text.len)
        return 0;
    if (t->state == THINK_OVER)
        return t->fn(BLOCK_TEXT, text, t->arg, err);
    buf_add(&t->held, text);
    while (more && t->held.len)
        if (step(t, &more, err) < 0)
            return -1;
    return 0;
}

int chat_think_end(struct chat_think *t, struct err *err)
{
    enum block_kind kind = t->state == THINK_INSIDE ? BLOCK_THINKING : BLOCK_TEXT;

    if (!str_trim(buf_str(&t->held)).len)
        buf_clear(&t->held);
    if (t->held.len && t->state == THINK_START)
        t->state = THINK_OVER;
    return tell(t, kind, t->held.len, err);
}
