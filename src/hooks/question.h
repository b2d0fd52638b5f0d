/*
 * A prompt handler: one question to a model, without tools, about the event.
 *
 * $ARGUMENTS in the prompt is the event's JSON (without it, the JSON follows the prompt). Where the
 * event brings the conversation (Stop), that comes first and the prompt is the last message. The
 * answer, all of it, is {"ok", "reason", "impossible"?}; one that cannot be read is asked for once
 * more. The model is the handler's, else a small one of the session's provider, else the session's.
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

/* Lent to all questions of a session. */
struct question_place {
    const struct conf *conf;
    struct net *net;                           /* NULL: only scripted models can be asked */
    void (*model)(void *arg, struct buf *ret); /* "provider/name", in use now */
    void *model_arg;
    struct spending *spending; /* NULL: they cost nothing */
};

/* An handler_call_fn; arg is the place. */
void question_ask(void *arg, struct hook_handler *h, const struct hook_input *in,
                  struct cancel *cancel, struct handler_call_result *ret);

/* The conversation of an event as messages of text for a model with this window: calls and results
 * as text, thoughts and secrets left out, the oldest messages when there is too much. */
typedef VEC(struct message *) question_messages;
void question_talk(const struct hook_input *in, int64_t window, question_messages *ret);
void question_messages_release(question_messages *m);

/* The text of the prompt. */
void question_fill(struct str prompt, struct str json, struct buf *ret);
/* Reads the answer; ERR_PROTOCOL when it does not have the form. */
int question_read(struct str answer, enum verdict *ret, struct buf *ret_reason, struct err *err);
