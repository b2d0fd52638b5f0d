/*
 * One attempt of a call: sends the request once and decodes the answer into a reply, or fails with
 * a fault that says whether a retry makes sense.
 *
 * The first bytes of the body decide how it is read: as events or as one JSON document (even if
 * events were requested, since some servers do not stream). If they are ambiguous, the content type
 * decides; a status of 400 or more makes the body an error. The reply is complete at the dialect's
 * last event; then the attempt waits only briefly for the end of the body, so that the connection
 * can be reused. A dialect without a last event is complete after its stop reason, when nothing
 * more arrives.
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

/* NULL if the request is invalid; a retry would not help. */
struct attempt *attempt_start(const struct attempt_options *options, struct err *err);
void attempt_free(struct attempt *a); /* cancels; NULL is fine */
bool attempt_owns(const struct attempt *a, const struct mail *m);

/* 1: the reply is complete. 0: continue. -1: failed, see *fault and err; fault.code ERR_NONE means
 * that the listener stopped it. err must not be NULL. */
int attempt_mail(struct attempt *a, struct mail *m, struct llm_fault *fault, struct err *err);
int attempt_tick(struct attempt *a, struct llm_fault *fault, struct err *err);
int64_t attempt_deadline(const struct attempt *a); /* clock_mono_ms() time */

/* Facts that are known after the end, in both cases. */
struct attempt_facts {
    int status;       /* HTTP; 0 = no answer */
    bool broken;      /* an answer had begun, then broke off, stalled or was invalid */
    int64_t start_ms; /* clock_mono_ms() times; first_token_ms is 0 without one */
    int64_t first_token_ms;
    int64_t end_ms;
    enum llm_stop stop;
    bool stop_unclear;
    char stop_sequence[LLM_MAX_SEQUENCE]; /* with STOP_SEQUENCE, if the provider reports it */
    struct llm_usage usage;
    char request_id[80];
    struct llm_rate rate;
};
const struct attempt_facts *attempt_facts(const struct attempt *a);
struct message *attempt_take(struct attempt *a);                 /* after 1; the caller owns it */
struct message *attempt_cut(struct attempt *a, struct err *err); /* after 0: reply_cut() */
