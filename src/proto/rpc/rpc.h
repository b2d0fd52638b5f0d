/*
 * JSON-RPC over lines: one side of one connection.
 *
 * A line is one message. Requests that come in become calls, which are answered now or later, each
 * once; requests that go out have numbers, and the first answer to one counts. Invalid messages are
 * refused with JSON-RPC's error for them and never end the connection. Registered secrets are
 * masked in all output. One thread; answers from others travel as mail to it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/mem.h"
#include "base/str.h"

struct json;
struct rpc;

#define RPC_MAX_LINE ((size_t)64 << 20)
#define RPC_MAX_CALLS 256 /* that wait for our answer */
#define RPC_MAX_OUT ((size_t)256 << 20)

enum rpc_code {
    RPC_PARSE = -32700,
    RPC_REQUEST = -32600,
    RPC_METHOD = -32601,
    RPC_PARAMS = -32602,
    RPC_INTERNAL = -32603,
    RPC_CANCELLED = -32800,
    RPC_AUTH = -32000,
    RPC_OVERLOAD = -32001,
    RPC_NOT_FOUND = -32002,
};

/* A request of the other side. The arena is for its handler. */
struct rpc_call {
    struct rpc *rpc;
    struct arena arena;
    struct str id; /* as JSON */
    struct str method;
    const struct json *params; /* NULL: none */
    bool is_over;              /* it was cancelled, or the client is gone */
};

/* result and error both NULL: there will be no answer. */
typedef void (*rpc_answer_fn)(void *arg, const struct json *result, const struct json *error);

struct rpc_spec {
    /* The wire has no "jsonrpc" member, notifications have their time of sending, and invalid
     * messages are not answered. */
    bool is_bare;
    void (*send)(void *arg, struct str line);
    void (*request)(void *arg, struct rpc_call *call); /* owes it an answer */
    void (*notified)(void *arg, struct str method, const struct json *params);
    void (*taken_back)(void *arg, struct rpc_call *call); /* has is_over; NULL: not wanted */
    void *arg;
};

struct rpc *rpc_new(const struct rpc_spec *spec);
/* The client is gone: open requests end, and answers to calls go nowhere. rpc_free() follows when
 * the last call was answered. */
void rpc_close(struct rpc *r);

void rpc_line(struct rpc *r, struct str line); /* ptr NULL: one that was too long */
size_t rpc_open_calls(const struct rpc *r);

/* All three end the call. json: of the result or of the error's data; empty: {} and none. */
void rpc_answer(struct rpc_call *call, struct str json);
void rpc_refuse(struct rpc_call *call, enum rpc_code code, struct str text, struct str data);
void rpc_refusef(struct rpc_call *call, enum rpc_code code, const char *fmt, ...) PRINTF_LIKE(3, 4);

void rpc_notify(struct rpc *r, const char *method, struct str params);
/* The number of the request. fn is called once, unless the request is taken back before. */
int64_t rpc_ask(struct rpc *r, const char *method, struct str params, rpc_answer_fn fn, void *arg);
void rpc_take_back(struct rpc *r, int64_t id);
