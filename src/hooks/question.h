/*
 * A prompt handler: asks a model one question about the event, without tools.
 *
 * $ARGUMENTS in the prompt is replaced by the event's JSON; without it, the JSON follows the
 * prompt. If the event comes with the conversation (Stop), that goes first and the prompt is the
 * last message. The whole answer must be {"ok", "reason", "impossible"?}; if it is invalid, the
 * question is repeated once. The model is the handler's, else a small one of the session's
 * provider, else the session's.
 */
#pragma once

#include "base/buf.h"
#include "base/vec.h"
#include "hooks/handler_call.h"

struct conf;
struct json;
struct message;
struct net;
struct spending;

/* Shared by all questions of a session; lent. */
struct question_place {
    const struct conf *conf;
    struct net *net;                           /* NULL = only scripted models can be used */
    void (*model)(void *arg, struct buf *ret); /* "provider/name", in use now */
    void *model_arg;
    struct spending *spending; /* may be NULL: costs are not counted */
};

/* An handler_call_fn; arg is the place. */
void question_ask(void *arg, struct hook_handler *h, const struct hook_input *in,
                  struct cancel *cancel, struct handler_call_result *ret);

/* The conversation of an event as text messages for a model with this window: calls and results
 * become text, thinking and secrets are left out, and the oldest messages if there is too much. */
typedef VEC(struct message *) question_messages;
void question_talk(const struct hook_input *in, int64_t window, question_messages *ret);
void question_messages_release(question_messages *m);

/* The text of the prompt. */
void question_fill(struct str prompt, struct str json, struct buf *ret);
/* Parses the answer; ERR_PROTOCOL if it is invalid. */
int question_read(struct str answer, enum verdict *ret, struct buf *ret_reason, struct err *err);
