/*
 * Test helper for broken streams: a listener that keeps only valid text. Text that LLM_RETRY
 * discards is removed; what is left at the end must be the answer, once.
 */
#pragma once

#include "base/buf.h"
#include "llm/event.h"
#include "llm/message.h"

struct heard_check {
    struct buf text;
    bool in_text;
};

static inline int heard_check_fn(const struct llm_event *ev, void *arg, struct err *err)
{
    struct heard_check *h = arg;

    (void)err;
    if (ev->kind == LLM_RETRY)
        buf_clear(&h->text);
    else if (ev->kind == LLM_BLOCK_START)
        h->in_text = ev->block->kind == BLOCK_TEXT;
    else if (ev->kind == LLM_BLOCK_DELTA && h->in_text)
        buf_add(&h->text, ev->text);
    return 0;
}
