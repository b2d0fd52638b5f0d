/*
 * A model call: its attempts and the decisions between them. An attempt either answers or ends with
 * one fault, and call_after_fault() is the only place that decides what comes next. Nothing here
 * waits: the owner's mailbox and llm_call_deadline() drive it, on the owner's thread.
 */
#include "llm/llm_call.h"

#include <inttypes.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/id.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/secret.h"
#include "llm/attempt.h"
#include "llm/cred.h"
#include "llm/message.h"
#include "llm/provider.h"
#include "net/retry.h"
#include "sync/mailbox.h"

#define IDLE_MS 90000
#define OVERLOADED_BEFORE_FALLBACK 3
#define BROKEN_BEFORE_WHOLE 3
#define RATE_MIN_MS 20 /* tokens per second are not computed for shorter times */

enum call_state {
    CALL_ASKING,      /* an attempt is running */
    CALL_WAITING,     /* until wake_ms, for the next attempt */
    CALL_GETTING_KEY, /* a helper is running */
    CALL_DONE,
    CALL_FAILED,
};

struct llm_call {
    struct net *net;
    struct llm_call_options options;
    const struct llm_request *request;
    struct mailbox *to;
    llm_event_fn fn;
    void *arg;

    enum call_state state;
    struct provider *provider; /* the one in use */
    size_t fallen;             /* fallbacks used so far */
    struct attempt *attempt;
    struct cred_asking *asking;
    int64_t start_ms;
    int64_t wake_ms;

    int attempts;   /* total */
    int tries;      /* at this provider; limited by retry_policy.max_tries */
    int overloaded; /* consecutive */
    int broken;     /* consecutive */
    bool whole;     /* do not stream the next attempt */
    bool whole_tried;
    bool key_renewed;
    int status;       /* of the last failed answer; the next three as well */
    bool too_busy;    /* the server was overloaded */
    bool media;       /* an image or a file was rejected */
    int64_t asked_ms; /* how long the server asked to wait, or -1 */
};

static const struct retry_policy *call_policy(const struct llm_call *c)
{
    return c->options.retry ? c->options.retry : &retry_default;
}

static int64_t call_idle_ms(const struct llm_call *c)
{
    if (c->options.idle_ms)
        return c->options.idle_ms;
    return c->provider->idle_ms ? c->provider->idle_ms : IDLE_MS;
}

static int call_tell(struct llm_call *c, const struct llm_event *ev, struct err *err)
{
    return c->fn ? c->fn(ev, c->arg, err) : 0;
}

/* Fails the call. Removes keys that the server may have repeated in its message. */
static int call_fail(struct llm_call *c, struct err *err)
{
    c->state = CALL_FAILED;
    if (err)
        secret_scrub_text(err->text, sizeof(err->text));
    return -1;
}

static int call_get_key(struct llm_call *c, struct err *err)
{
    c->asking = cred_ask(c->provider, c->to, err);
    if (!c->asking)
        return call_fail(c, err);
    c->state = CALL_GETTING_KEY;
    return 0;
}

/* Starts the next attempt at once, with the current key. */
static int call_send(struct llm_call *c, struct err *err)
{
    struct attempt_options options = {
        .net = c->net,
        .provider = c->provider,
        .request = c->request,
        .no_stream = c->whole || c->request->no_stream,
        .idle_ms = call_idle_ms(c),
        .to = c->to,
        .fn = c->fn,
        .arg = c->arg,
    };

    c->attempt = attempt_start(&options, err);
    if (!c->attempt)
        return call_fail(c, err);
    c->attempts++;
    c->state = CALL_ASKING;
    return 0;
}

/* Starts the next attempt, after renewing a key that is too old. */
static int call_ask(struct llm_call *c, struct err *err)
{
    attempt_free(TAKE_PTR(c->attempt));
    return cred_is_stale(c->provider) ? call_get_key(c, err) : call_send(c, err);
}

/* Sets the error for the user: the server, the problem, and an id to refer to. */
static int call_give_up(struct llm_call *c, const struct llm_fault *fault, const char *why,
                        struct err *err)
{
    const struct attempt_facts *facts = attempt_facts(c->attempt);
    char status[32] = "";
    char id[100] = "";

    if (facts->status >= 300 && !str_starts(str_of(fault->text), STR("HTTP ")))
        snprintf(status, sizeof(status), " (HTTP %d)", facts->status);
    if (facts->request_id[0])
        snprintf(id, sizeof(id), " [%s]", facts->request_id);
    err_set(err, fault->code, "%s: %s%s%s%s", c->provider->name, fault->text, status, id, why);
    return call_fail(c, err);
}

static int call_fall_back(struct llm_call *c, struct err *err)
{
    const struct model *from = &c->provider->model;
    struct provider *next = &c->options.fallbacks[c->fallen++];
    const struct model *to = &next->model;
    char text[300];
    struct llm_event ev = {
        .kind = LLM_FALLBACK, .status = c->status, .error = ERR_RETRY_LATER, .overloaded = true};

    snprintf(text, sizeof(text), "%.*s is overloaded; continuing with %.*s", STR_ARG(from->name),
             STR_ARG(to->name));
    ev.text = str_of(text);
    ev.model = to->name;
    c->provider = next;
    c->tries = 0;
    c->overloaded = 0;
    c->broken = 0;
    c->whole = false;
    c->whole_tried = false;
    c->key_renewed = false;
    if (call_tell(c, &ev, err) < 0)
        return call_fail(c, err);
    return call_ask(c, err);
}

/* Reports that the attempt is discarded, and waits. */
static int call_again(struct llm_call *c, const struct llm_fault *fault, int64_t delay_ms,
                      struct err *err)
{
    struct llm_event ev = {
        .kind = LLM_RETRY,
        .attempt = c->tries + 1,
        .max_tries = call_policy(c)->max_tries,
        .delay_ms = delay_ms,
        .status = c->status,
        .error = fault->code,
        .overloaded = fault->overloaded,
    };
    char text[sizeof(fault->text)];

    snprintf(text, sizeof(text), "%s", fault->text);
    secret_scrub_text(text, sizeof(text));
    ev.text = str_of(text);
    log_debug("llm", "attempt %d failed: %s; again in %" PRId64 " ms", c->attempts, text, delay_ms);
    if (call_tell(c, &ev, err) < 0)
        return call_fail(c, err);
    c->state = CALL_WAITING;
    c->wake_ms = clock_mono_ms() + delay_ms;
    return 0;
}

/* Says which of several possible keys was rejected and how to replace it: a variable takes
 * precedence over a stored key. */
static void call_tell_key(const struct provider *p, char *out, size_t size)
{
    if (p->source == KEY_ENV && p->source_name)
        snprintf(out, size,
                 "; the key is from %.100s: correct that variable, or unset it and run 'tenax auth "
                 "login %.100s'",
                 p->source_name, p->name);
    else if (p->source == KEY_HELPER)
        snprintf(out, size, "; the key is from apiKeyHelper: correct the command in that setting");
    else if (p->source == KEY_STORED)
        snprintf(out, size,
                 "; the key is the stored one: replace it with 'tenax auth login %.100s'", p->name);
    else
        out[0] = '\0';
}

/* Decides what follows a fault. */
static int call_after_fault(struct llm_call *c, const struct llm_fault *fault, struct err *err)
{
    const struct attempt_facts *facts = attempt_facts(c->attempt);
    const struct retry_policy *policy = call_policy(c);
    char why[500];
    int64_t delay_ms;

    c->status = facts->status;
    c->too_busy = fault->overloaded;
    c->media = fault->media;
    c->asked_ms = fault->code ? fault->wait_ms : -1;
    if (!fault->code) /* the listener's own error is in err */
        return call_fail(c, err);

    if (fault->drop_stream_options && !c->provider->no_stream_options) {
        c->provider->no_stream_options = true;
        return call_ask(c, err);
    }
    if (fault->drop_summaries && !c->provider->no_summaries) {
        c->provider->no_summaries = true;
        return call_ask(c, err);
    }
    if (fault->code == ERR_AUTH && c->provider->source == KEY_HELPER && !c->key_renewed) {
        c->key_renewed = true;
        attempt_free(TAKE_PTR(c->attempt));
        return call_get_key(c, err);
    }
    if (fault->no_tools) {
        snprintf(why, sizeof(why), "; %.*s cannot use tools here, so choose another model",
                 STR_ARG(str_clip(c->provider->model.name, 100)));
        return call_give_up(c, fault, why, err);
    }
    if (!fault->retry && fault->code == ERR_AUTH) {
        call_tell_key(c->provider, why, sizeof(why));
        return call_give_up(c, fault, why, err);
    }
    if (!fault->retry)
        return call_give_up(c, fault, "", err);

    c->tries++;
    c->overloaded = fault->overloaded ? c->overloaded + 1 : 0;
    c->broken = facts->broken ? c->broken + 1 : 0;
    if (c->overloaded >= OVERLOADED_BEFORE_FALLBACK && c->fallen < c->options.fallback_count)
        return call_fall_back(c, err);
    c->whole = c->broken >= BROKEN_BEFORE_WHOLE && !c->whole_tried;
    if (c->whole)
        c->whole_tried = true;

    if (fault->wait_ms > policy->asked_cap_ms) {
        snprintf(why, sizeof(why), "; it asks to wait for %" PRId64 " minutes",
                 fault->wait_ms / 60000);
        return call_give_up(c, fault, why, err);
    }
    delay_ms = retry_delay_ms(policy, c->tries + 1, fault->wait_ms, id_random());
    if (delay_ms < 0) {
        snprintf(why, sizeof(why), "; gave up after %d tries", c->tries);
        return call_give_up(c, fault, why, err);
    }
    return call_again(c, fault, delay_ms, err);
}

/* Handles the result of an attempt. */
static int call_step(struct llm_call *c, int r, const struct llm_fault *fault, struct err *why,
                     struct err *err)
{
    if (r < 0) {
        r = call_after_fault(c, fault, why);
        if (r < 0 && err)
            *err = *why;
        return r;
    }
    if (r > 0)
        c->state = CALL_DONE;
    return r;
}

struct llm_call *llm_call_start(struct net *net, const struct llm_call_options *options,
                                const struct llm_request *request, struct mailbox *to,
                                llm_event_fn fn, void *arg, struct err *err)
{
    struct llm_call *c = mem_zalloc(sizeof(*c));

    c->net = net;
    c->options = *options;
    c->provider = options->provider;
    c->request = request;
    c->to = mailbox_ref(to);
    c->fn = fn;
    c->arg = arg;
    c->start_ms = clock_mono_ms();
    c->asked_ms = -1;
    if (call_ask(c, err) < 0) {
        llm_call_free(c);
        return NULL;
    }
    return c;
}

bool llm_call_owns(const struct llm_call *c, const struct mail *m)
{
    return attempt_owns(c->attempt, m) || cred_asking_owns(c->asking, m);
}

int llm_call_mail(struct llm_call *c, struct mail *m, struct err *err)
{
    struct llm_fault fault = {0};
    struct err why = {0};
    int r;

    if (c->state == CALL_ASKING && attempt_owns(c->attempt, m)) {
        r = attempt_mail(c->attempt, m, &fault, &why);
        return call_step(c, r, &fault, &why, err);
    }
    if (c->state == CALL_GETTING_KEY && cred_asking_owns(c->asking, m)) {
        r = cred_asking_mail(c->asking, m, c->provider, err);
        if (r < 0)
            return call_fail(c, err);
        if (r == 0)
            return 0;
        cred_asking_free(TAKE_PTR(c->asking));
        return call_send(c, err);
    }
    return 0; /* left over from an earlier attempt */
}

int llm_call_tick(struct llm_call *c, struct err *err)
{
    struct llm_fault fault = {0};
    struct err why = {0};

    if (c->state == CALL_WAITING && clock_mono_ms() >= c->wake_ms)
        return call_ask(c, err);
    if (c->state == CALL_ASKING)
        return call_step(c, attempt_tick(c->attempt, &fault, &why), &fault, &why, err);
    return 0;
}

int64_t llm_call_deadline(const struct llm_call *c)
{
    switch (c->state) {
    case CALL_WAITING:
        return c->wake_ms;
    case CALL_ASKING:
        return attempt_deadline(c->attempt);
    default:
        return -1;
    }
}

/* Fills in the facts about the attempt that succeeded. */
static void call_result(const struct llm_call *c, struct message *message, int64_t end_ms,
                        struct llm_call_result *ret)
{
    const struct attempt_facts *f = attempt_facts(c->attempt);
    int64_t spoken_ms = f->first_token_ms ? end_ms - f->first_token_ms : 0;

    *ret = (struct llm_call_result){
        .message = message,
        .stop = f->stop,
        .stop_unclear = f->stop_unclear,
        .usage = f->usage,
        .model = &c->provider->model,
        .attempts = c->attempts,
        .first_token_ms = f->first_token_ms ? f->first_token_ms - f->start_ms : 0,
        .total_ms = end_ms - c->start_ms,
        .rate = f->rate,
    };
    if (spoken_ms >= RATE_MIN_MS)
        ret->tokens_per_s = (double)f->usage.output * 1000 / (double)spoken_ms;
    memcpy(ret->request_id, f->request_id, sizeof(ret->request_id));
    memcpy(ret->stop_sequence, f->stop_sequence, sizeof(ret->stop_sequence));
    if (!ret->request_id[0])
        id_make(ret->request_id, sizeof(ret->request_id), "req_", 24);
}

bool llm_call_cut(struct llm_call *c, struct llm_call_result *ret)
{
    struct message *message = NULL;

    if (c->state == CALL_ASKING)
        message = attempt_cut(c->attempt, /*err=*/NULL);
    if (!message)
        return false;
    call_result(c, message, clock_mono_ms(), ret);
    return true;
}

int llm_call_take(struct llm_call *c, struct llm_call_result *ret, struct err *err)
{
    if (c->state != CALL_DONE)
        return err_set(err, ERR_BAD_INPUT, "the call is not complete");
    call_result(c, attempt_take(c->attempt), attempt_facts(c->attempt)->end_ms, ret);
    log_debug("llm",
              "complete: %d attempts, first token after %" PRId64 " ms, %" PRId64
              " ms in all, %.0f tokens/s",
              ret->attempts, ret->first_token_ms, ret->total_ms, ret->tokens_per_s);
    return 0;
}

const char *llm_call_request_id(const struct llm_call *c)
{
    return c->attempt ? attempt_facts(c->attempt)->request_id : "";
}

int llm_call_status(const struct llm_call *c)
{
    return c->status;
}

bool llm_call_overloaded(const struct llm_call *c)
{
    return c->too_busy;
}

int llm_call_broken(const struct llm_call *c)
{
    return c->broken;
}

int64_t llm_call_asked_ms(const struct llm_call *c)
{
    return c->asked_ms;
}

bool llm_call_blames_media(const struct llm_call *c)
{
    return c->media;
}

void llm_call_result_release(struct llm_call_result *r)
{
    message_unref(r->message);
    r->message = NULL;
}

void llm_call_free(struct llm_call *c)
{
    if (!c)
        return;
    attempt_free(c->attempt);
    cred_asking_free(c->asking);
    mailbox_unref(c->to);
    mem_freep(&c);
}

/* Waits for mail or the deadline. */
static int call_wait(struct llm_call *c, struct cancel *cancel, struct err *err)
{
    struct err why = {0};
    struct mail *m;
    int r;

    if (mailbox_take(c->to, cancel, llm_call_deadline(c), &m, &why) == 0) {
        r = llm_call_mail(c, m, err);
        mail_free(m);
        return r;
    }
    if (why.code == ERR_TIMEOUT)
        return llm_call_tick(c, err);
    if (err)
        *err = why;
    return -1;
}

int llm_call_run(struct net *net, const struct llm_call_options *options,
                 const struct llm_request *request, struct cancel *cancel, llm_event_fn fn,
                 void *arg, struct llm_call_result *ret, struct err *err)
{
    struct mailbox *to = mailbox_new();
    struct llm_call *c = llm_call_start(net, options, request, to, fn, arg, err);
    int r = c ? 0 : -1;

    while (r == 0)
        r = call_wait(c, cancel, err);
    if (r > 0)
        r = llm_call_take(c, ret, err);
    else
        ret->asked_ms = c ? llm_call_asked_ms(c) : -1;
    llm_call_free(c);
    mailbox_close(to);
    mailbox_unref(to);
    return r;
}
