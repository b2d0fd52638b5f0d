/*
 * An http handler: POSTs the event and interprets the answer like a command's output.
 *
 * $NAME and ${NAME} in header values are expanded from the environment if the handler allows that
 * name, otherwise to nothing. A status other than 2xx is a failure, not an objection. Redirects are
 * not followed, because the headers are meant for one server.
 */
#pragma once

#include "hooks/handler_call.h"

struct conf;
struct net;

/* Shared by all requests of a session; lent. */
struct post_place {
    const struct conf *conf;
    struct net *net; /* NULL = no network */
};

/* An handler_call_fn; arg is the place. The result's answer is the body. */
void post_send(void *arg, struct hook_handler *h, const struct hook_input *in,
               struct cancel *cancel, struct handler_call_result *ret);
