/*
 * One try of a call: the request goes out once, the answer is decoded into one reply, or a fault
 * says what came instead and whether trying again makes sense.
 *
 * The first bytes of the body decide how it is read: events, or one whole JSON document (also when
 * events were asked for: some servers do not stream). Where they tell nothing the content type
 * does; a status of 400 and more makes it an error. The reply is complete at the dialect's last
 * event, and the end of the body is then waited for a moment only, so that the connection can be
 * used again. A dialect without a last event is complete by its stop reason when nothing more
 * comes.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "llm/dialect/dialect.h"
#include "llm/event.h"
#include "llm/rate.h"

struct attempt;
struct err;
struct mail;
struct mailbox;
struct message;
struct net;
struct provider;

struct attempt_options {
    struct net *net; /* NULL with a scripted provider */
    struct provider *provider;
    const struct llm_request *request; /* its model is replaced by the provider's */
    bool no_stream;
    int64_t idle_ms;
    struct mailbox *to;
    llm_event_fn fn;
    void *arg;
};

/* NULL when no request can be made of it; trying again changes nothing. */
struct attempt *attempt_start(const struct attempt_options *options, struct err *err);
void attempt_free(struct attempt *a); /* cancels; NULL is fine */
bool attempt_owns(const struct attempt *a, const struct mail *m);

/* 1: the reply is complete. 0: go on. -1: failed, *fault and err say how; fault.code ERR_NONE means
 * that the listener wanted to stop. err is not NULL here. */
int attempt_mail(struct attempt *a, struct mail *m, struct llm_fault *fault, struct err *err);
int attempt_tick(struct attempt *a, struct llm_fault *fault, struct err *err);
int64_t attempt_deadline(const struct attempt *a); /* clock_mono_ms() time */

/* The known facts after the end, either way. */
struct attempt_facts {
    int status;       /* HTTP, 0 when there was no answer */
    bool broken;      /* an answer had begun, then broke, stalled or turned out to be garbage */
    int64_t start_ms; /* clock_mono_ms() times; first_token_ms is 0 without one */
    int64_t first_token_ms;
    int64_t end_ms;
    enum llm_stop stop;
    bool stop_unclear;
    char stop_sequence[LLM_MAX_SEQUENCE]; /* with STOP_SEQUENCE, where the provider names it */
    struct llm_usage usage;
    char request_id[80];
    struct llm_rate rate;
};
const struct attempt_facts *attempt_facts(const struct attempt *a);
struct message *attempt_take(struct attempt *a);                 /* after 1; yours */
struct message *attempt_cut(struct attempt *a, struct err *err); /* after 0: reply_cut() */
