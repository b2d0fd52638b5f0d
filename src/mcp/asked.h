/*
 * What a server asks of us: roots are answered from the session's folders, everything else is put
 * to the user, each question on a thread of its own, because users take their time. The answer
 * comes as asked_mail.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/str.h"
#include "base/vec.h"
#include "sync/mailbox.h"
#include "sync/thread.h"

struct cancel;
struct err;
struct json;
struct strv;

#define ASKED_MAX 16 /* that wait for an answer at a time */

/* A method of our own: elicitation/create of a page that has to be done before the call goes on. */
#define MCP_ASK_PAGE "elicitation/await"

/* The answer is the result's JSON. ERR_DENIED: the user says no; ERR_UNSUPPORTED: nothing here can
 * answer this. */
typedef int (*mcp_ask_fn)(void *arg, const char *server, struct str method,
                          const struct json *params, struct cancel *cancel, struct buf *ret_result,
                          struct err *err);

/* Absolute folders, as they are now. Any thread. */
typedef void (*mcp_roots_fn)(void *arg, struct strv *ret);

struct asked {
    struct mailbox *mail; /* lent, as everything here */
    const char *server;
    mcp_roots_fn roots; /* NULL: there are none */
    mcp_ask_fn ask;     /* NULL: nobody can be asked */
    void *arg;
    struct cancel *ending;
    struct gate gate;
    VEC(struct question *) running; /* under the gate */
};

void asked_init(struct asked *a);
void asked_release(struct asked *a); /* waits for all that run; ending is set before */

/* Of a request: id is its id as JSON. -1: there are too many already, or no thread. */
int asked_put(struct asked *a, struct str id, struct str method, const struct json *params);
/* Of a result that asks for more: {"key":{"method","params"}}; number: of our request. */
int asked_put_all(struct asked *a, int64_t number, const struct json *questions);
/* Nobody wants the answer any more: id or number, the other one empty or 0. */
void asked_withdraw(struct asked *a, struct str id, int64_t number);

extern const struct mail_kind asked_mail_kind;
struct asked_mail {
    struct mail mail;
    struct buf id;       /* of a request of the server */
    int64_t number;      /* of a request of ours that was answered by questions; 0: of none */
    struct buf result;   /* JSON; of many: {"key":result} */
    int code;            /* of an error of JSON-RPC; 0: there is a result */
    const char *refusal; /* why, with a code */
};
