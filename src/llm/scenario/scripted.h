/*
 * The `scripted` provider: a scenario played without any network.
 *
 * struct scripted is a scenario and its cursor; it belongs to a provider and is shared by every
 * call made through it, from any thread. struct scripted_call is one attempt at one call: it picks
 * the step from the request, then says the answer through a reply, piece by piece as paced, never
 * blocking. The owner drives it from its timer:
 *
 *     call = scripted_call_new(script, request, reply);
 *     for (;;) {
 *         r = scripted_call_tick(call, &fault, err);   1: said, the reply is finished
 *         if (r != 0)                                  -1: failed, as *fault tells
 *             break;
 *         ... wait until scripted_call_deadline(call) ...
 *     }
 *
 * A retry is a new scripted_call: it plays the step's next fault, or its answer. Faults look to the
 * retry logic as they would over the wire: a status goes through fault_from_status(); whatever
 * breaks a connection or a stream is a NETWORK fault worth a retry, after the part of the answer
 * that came before it; silence (stall, hang) is the same at once, with code ERR_TIMEOUT, since
 * there is no wire to wait on. Faults that only change the wire (type, gzip, slow) play the plain
 * answer.
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
