/*
 * <think>…</think> at the start of an answer, told apart from the answer.
 *
 * Servers that do not know their model's template leave its thinking in the text. Only a tag that
 * opens the answer counts: further on it is a model writing about tags. Tags may be cut at any
 * byte; white space around them is dropped. No more than a tag or a little white space is ever held
 * back.
 */
#pragma once

#include "base/buf.h"
#include "base/str.h"
#include "llm/message.h"

struct err;

typedef int (*chat_think_fn)(enum block_kind kind, struct str text, void *arg, struct err *err);

struct chat_think {
    enum {
        THINK_START,  /* nothing but white space so far */
        THINK_OPENED, /* after the opening tag */
        THINK_INSIDE,
        THINK_CLOSED, /* after the closing tag */
        THINK_OVER,   /* the rest is the answer */
    } state;
    struct buf held;
    chat_think_fn fn;
    void *arg;
};

void chat_think_init(struct chat_think *t, chat_think_fn fn, void *arg);
void chat_think_release(struct chat_think *t);
int chat_think_feed(struct chat_think *t, struct str text, struct err *err);
/* Emits the held text, unless it is white space. More may still be fed. */
int chat_think_end(struct chat_think *t, struct err *err);
