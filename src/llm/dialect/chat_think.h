/*
 * Separates <think>…</think> at the start of an answer from the answer.
 *
 * Some servers leave a model's thinking in its text. Only a tag at the very start counts: later
 * ones are text about tags. Tags may be split at any byte; white space around them is dropped. At
 * most a tag or a little white space is held back.
 */
#pragma once

#include "base/buf.h"
#include "base/str.h"
#include "llm/message.h"

struct err;

typedef int (*chat_think_fn)(enum block_kind kind, struct str text, void *arg, struct err *err);

struct chat_think {
    enum {
        THINK_START,  /* only white space so far */
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
/* Emits held text unless it is white space. More may be fed afterwards. */
int chat_think_end(struct chat_think *t, struct err *err);
