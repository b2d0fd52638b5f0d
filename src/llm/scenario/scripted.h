/*
 * The `scripted` provider: plays a scenario without a network.
 *
 * struct scripted is a scenario and its cursor; it belongs to a provider and is shared by all calls
 * made through it, on any thread. struct scripted_call is one attempt of one call: it chooses the
 * step from the request and emits the answer through a reply, in paced pieces, without blocking.
 * The owner drives it with a timer:
 *
 *     call = scripted_call_new(script, request, reply);
 *     for (;;) {
 *         r = scripted_call_tick(call, &fault, err);   1: the reply is finished
 *         if (r != 0)                                  -1: failed, see *fault
 *             break;
 *         ... wait until scripted_call_deadline(call) ...
 *     }
 *
 * A retry is a new scripted_call, which plays the step's next fault or its answer. The retry logic
 * sees faults as it would over a network: a status goes through fault_from_status(); everything
 * that breaks a connection or stream becomes a NETWORK fault, after the part of the answer before
 * it; silence (stall, hang) fails at once with ERR_TIMEOUT. Faults that only change the encoding
 * (type, gzip, slow) play the plain answer.
 */
#pragma once

#include <stdint.h>

struct err;
struct llm_fault;
struct llm_request;
struct reply;
struct scripted;
struct scripted_call;

int scripted_open(const char *file, struct scripted **ret, struct err *err);
struct scripted *scripted_ref(struct scripted *s);
void scripted_free(struct scripted *s); /* with the last reference. NULL is fine for both */

/* The request and the reply live as long as the call. */
struct scripted_call *scripted_call_new(struct scripted *s, const struct llm_request *request,
                                        struct reply *reply);
int scripted_call_tick(struct scripted_call *c, struct llm_fault *ret_fault, struct err *err);
int64_t scripted_call_deadline(const struct scripted_call *c); /* clock_mono_ms() time */
int scripted_call_status(const struct scripted_call *c);       /* of a status fault, else 0 */
void scripted_call_free(struct scripted_call *c);              /* NULL is fine */
