/*
 * One model call: sends the request, delivers events, and retries until it succeeds or clearly
 * cannot.
 *
 * A call is driven by its owner's mailbox: llm_call_start() starts the request on the network
 * thread; llm_call_mail() must get every mail that belongs to the call (from the network or a key
 * helper); llm_call_tick() is called when llm_call_deadline() has passed and no mail waits
 * (back-off and idle timers). So an agent can wait for bytes, tool results and user input in one
 * place. llm_call_run() is the loop for callers that only wait for the answer.
 *
 * Retries are in llm_call.c, call_after_fault(): 429 waits as long as the server asks; 408, 409,
 * 5xx, resets, TLS and DNS failures, silence and broken streams back off with jitter, up to ten
 * attempts; 529 three times in a row switches to the next fallback model, if any; a stream that
 * breaks three times in a row is tried once without streaming; a helper is run once more after its
 * key was rejected; stream_options are omitted after a server has rejected them. A failed attempt
 * is discarded: LLM_RETRY or LLM_FALLBACK reports it, and no partial answer becomes part of the
 * message.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "llm/dialect/dialect.h"
#include "llm/event.h"
#include "llm/rate.h"

struct cancel;
struct err;
struct llm_call;
struct mail;
struct mailbox;
struct message;
struct net;
struct provider;
struct retry_policy;

struct llm_call_options {
    struct provider *provider;
    struct provider *fallbacks; /* used in order */
    size_t fallback_count;
    int64_t idle_ms;                  /* longest silence; 0 = the provider's, else 90 s */
    const struct retry_policy *retry; /* NULL: retry_default */
};

struct llm_call_result {
    struct message *message; /* yours */
    enum llm_stop stop;
    bool stop_unclear;                    /* the provider's reason is unknown; stop is a guess */
    char stop_sequence[LLM_MAX_SEQUENCE]; /* the stop sequence that ended the answer; or empty */
    struct llm_usage usage;
    const struct model *model; /* the model that answered: the provider's or a fallback's */
    int attempts;
    int64_t first_token_ms; /* since start of the successful attempt */
    int64_t total_ms;       /* since llm_call_start(), including waits and failed attempts */
    double tokens_per_s;    /* output tokens since the first one; 0 = too few to tell */
    char request_id[80];    /* the provider's, or our own ("req_…") if it has none */
    struct llm_rate rate;   /* as reported by the server */
    int64_t asked_ms;       /* llm_call_run() that failed: llm_call_asked_ms() */
};
void llm_call_result_release(struct llm_call_result *r);

/* request, options and everything they point to must stay valid until llm_call_free(). net may be
 * NULL for a scripted provider. */
struct llm_call *llm_call_start(struct net *net, const struct llm_call_options *options,
                                const struct llm_request *request, struct mailbox *to,
                                llm_event_fn fn, void *arg, struct err *err);
bool llm_call_owns(const struct llm_call *c, const struct mail *m);

/* Return 1 when the call is complete (then llm_call_take()), 0 to continue, -1 if it has failed for
 * good; the caller keeps the mail. */
int llm_call_mail(struct llm_call *c, struct mail *m, struct err *err);
int llm_call_tick(struct llm_call *c, struct err *err);
int64_t llm_call_deadline(const struct llm_call *c); /* clock_mono_ms() time; -1 = none */
int llm_call_take(struct llm_call *c, struct llm_call_result *ret, struct err *err);
/* Stops the answer and returns the part received so far: complete blocks and the text in progress,
 * for which LLM_BLOCK_STOP is emitted. False if no attempt was receiving an answer. */
bool llm_call_cut(struct llm_call *c, struct llm_call_result *ret);
const char *llm_call_request_id(const struct llm_call *c); /* the server's; "" = none yet */
int llm_call_status(const struct llm_call *c); /* HTTP status of the last failed answer, or 0 */
int llm_call_broken(
    const struct llm_call *c); /* consecutive answers that broke off before their end */
bool llm_call_overloaded(const struct llm_call *c); /* the server was overloaded */
/* How long the server of the last failed answer asked to wait, or until it said a quota would be
 * reset; -1 if it said neither. */
int64_t llm_call_asked_ms(const struct llm_call *c);
bool llm_call_blames_media(const struct llm_call *c); /* an image or file was rejected */
void llm_call_free(struct llm_call *c);               /* cancels; NULL is fine */

int llm_call_run(struct net *net, const struct llm_call_options *options,
                 const struct llm_request *request, struct cancel *cancel, llm_event_fn fn,
                 void *arg, struct llm_call_result *ret, struct err *err);
