/*
 * One model call: request out, events in, retried until it holds or clearly cannot.
 *
 * A call is driven by its owner's mailbox: llm_call_start() asks the network thread,
 * llm_call_mail() is handed every mail that belongs to it (of the network, of a key helper),
 * llm_call_tick() is called when llm_call_deadline() has passed and no mail waits (back-off and
 * idle timers live there). So an agent can wait for bytes, tool ends and user mail in one place.
 * llm_call_run() is the loop for callers that only wait for the answer.
 *
 * Retry and faults follow one page (llm_call.c, call_after_fault()): 429 waits as long as asked;
 * 408, 409, 5xx, resets, TLS and DNS failures, silence and broken streams back off with jitter, ten
 * tries; 529 three times in a row goes to the next fallback model if there is one; a stream that
 * breaks three times running is tried once without streaming; a helper is asked once more for a key
 * that was refused; stream_options that a server does not know are left out from then on. A broken
 * attempt is void: LLM_RETRY or LLM_FALLBACK reports it, and no half answer ever reaches the
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
    struct provider *fallbacks; /* gone through in order, one each time */
    size_t fallback_count;
    int64_t idle_ms;                  /* longest silence; 0: the provider's, else 90 s */
    const struct retry_policy *retry; /* NULL: retry_default */
};

struct llm_call_result {
    struct message *message; /* yours */
    enum llm_stop stop;
    bool stop_unclear; /* the provider gave a reason that is not known; stop is a guess */
    char stop_sequence[LLM_MAX_SEQUENCE]; /* the one the answer ended at; or empty */
    struct llm_usage usage;
    const struct model *model; /* that answered: of the provider or of a fallback */
    int attempts;
    int64_t first_token_ms; /* since start of the successful attempt */
    int64_t total_ms;       /* since llm_call_start(), waits and failed attempts included */
    double tokens_per_s;    /* of output, since the first token; 0: too short to tell */
    char request_id[80];    /* the provider's, or one of ours ("req_…") where it has none */
    struct llm_rate rate;   /* as its server says */
    int64_t asked_ms;       /* llm_call_run() that failed: llm_call_asked_ms() */
};
void llm_call_result_release(struct llm_call_result *r);

/* request, options and what they point at live until llm_call_free(). net may be NULL for a
 * scripted provider. */
struct llm_call *llm_call_start(struct net *net, const struct llm_call_options *options,
                                const struct llm_request *request, struct mailbox *to,
                                llm_event_fn fn, void *arg, struct err *err);
bool llm_call_owns(const struct llm_call *c, const struct mail *m);

/* Each returns 1 when the call is complete (then llm_call_take()), 0 to continue, -1 when it failed
 * for good; the mail stays the caller's to free. */
int llm_call_mail(struct llm_call *c, struct mail *m, struct err *err);
int llm_call_tick(struct llm_call *c, struct err *err);
int64_t llm_call_deadline(const struct llm_call *c); /* clock_mono_ms() time, -1: none */
int llm_call_take(struct llm_call *c, struct llm_call_result *ret, struct err *err);
/* The owner stops the answer: the part so far counts, that is the complete blocks and the text in
 * progress, whose LLM_BLOCK_STOP is emitted. False: no attempt was answering. */
bool llm_call_cut(struct llm_call *c, struct llm_call_result *ret);
const char *llm_call_request_id(const struct llm_call *c); /* the server's; "": it has none yet */
int llm_call_status(const struct llm_call *c); /* HTTP status of the last failed answer, or 0 */
int llm_call_broken(
    const struct llm_call *c); /* answers in a row that broke off before their end */
bool llm_call_overloaded(const struct llm_call *c); /* its server had too much to do */
/* How long the server of the last failed answer asked to wait, or when it says that a quota begins
 * anew; -1: it did not say. */
int64_t llm_call_asked_ms(const struct llm_call *c);
bool llm_call_blames_media(const struct llm_call *c); /* it would not take an image or a file */
void llm_call_free(struct llm_call *c);               /* cancels; NULL is fine */

int llm_call_run(struct net *net, const struct llm_call_options *options,
                 const struct llm_request *request, struct cancel *cancel, llm_event_fn fn,
                 void *arg, struct llm_call_result *ret, struct err *err);
