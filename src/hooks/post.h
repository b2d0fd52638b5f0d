/*
 * An http handler: the event as the body of a POST, the answer read like a command's output.
 *
 * $NAME and ${NAME} in the values of headers are filled in from the environment, but only names
 * that the handler allows; others become nothing. A status cannot object: other than 2xx is a
 * failure. Redirects are not followed: the headers are meant for one server.
 */
#pragma once

#include "hooks/handler_call.h"

struct conf;
struct net;

/* Lent to all requests of a session. */
struct post_place {
    const struct conf *conf;
    struct net *net; /* NULL: the session has none */
};

/* An handler_call_fn; arg is the place. The result's answer is the body. */
void post_send(void *arg, struct hook_handler *h, const struct hook_input *in,
               struct cancel *cancel, struct handler_call_result *ret);
