/*
 * One HTTP exchange with a provider, or one played step of a scenario. Everything that can be wrong
 * with an answer becomes a struct llm_fault here, so that the retry logic (llm_call.c) never looks
 * at bytes. Runs on the thread that owns the call.
 */
#include "llm/attempt.h"

#include <inttypes.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/strv.h"
#include "llm/door.h"
#include "llm/message.h"
#include "llm/provider.h"
#include "llm/reply.h"
#include "llm/scenario/scripted.h"
#include "net/net.h"
#include "net/retry.h"
#include "net/sse.h"

#define MAX_REQUEST ((size_t)256 << 20)
#define MAX_EVENT ((size_t)32 << 20)      /* a final event may repeat the whole answer */
#define MAX_ERROR_BODY ((size_t)64 << 10) /* larger than any useful error */
#define WHOLE_IDLE_MS                                                                              \
    ((int64_t)10 * 60 * 1000) /* without streaming nothing arrives until the answer is complete */
#define DRAIN_MS 100
#define SNIFF_BYTES 6 /* "event:" */
#define SAID_PART 9   /* fraction of the idle limit to wait after the stop reason: 10 s of 90 */

enum body_kind {
    BODY_UNKNOWN, /* until the first bytes have arrived */
    BODY_EVENTS,
    BODY_WHOLE,
    BODY_ERROR,
};

struct attempt {
    struct provider *provider;
    const struct dialect *dialect;
    struct llm_request request; /* a copy, because model, streaming and limits may differ */
    struct reply *reply;
    llm_event_fn fn;
    void *arg;
    bool stopped; /* the listener returned an error */

    struct net_stream *stream;
    struct scripted_call *play;
    struct decoder *decoder;
    struct sse *sse;
    enum body_kind body_kind;
    enum body_kind body_hint; /* from the content type, if the first bytes are ambiguous */
    struct buf body;          /* kept until its end or until its kind is known */
    size_t received;
    struct llm_fault event_fault; /* of an event; passed through sse_feed() */
    struct strv head;             /* the answer's headers */

    int64_t idle_ms;
    int64_t upload_ms; /* allowance for sending the request, until the head arrives */
    int64_t heard_ms;  /* time of the last byte */
    struct attempt_facts facts;
};

const struct attempt_facts *attempt_facts(const struct attempt *a)
{
    return &a->facts;
}

struct message *attempt_take(struct attempt *a)
{
    return reply_take(a->reply);
}

struct message *attempt_cut(struct attempt *a, struct err *err)
{
    return reply_cut(a->reply, err);
}

void attempt_free(struct attempt *a)
{
    if (!a)
        return;
    net_stream_unref(a->stream);
    scripted_call_free(a->play);
    if (a->decoder)
        a->dialect->decoder_free(a->decoder);
    sse_free(a->sse);
    reply_free(a->reply);
    buf_release(&a->body);
    strv_release(&a->head);
    mem_freep(&a);
}

/* Listener between the reply and the caller's listener: records times and figures. */
static int attempt_event(const struct llm_event *ev, void *arg, struct err *err)
{
    struct attempt *a = arg;

    if ((ev->kind == LLM_BLOCK_START || ev->kind == LLM_BLOCK_DELTA) && !a->facts.first_token_ms)
        a->facts.first_token_ms = clock_mono_ms();
    if (ev->kind == LLM_MESSAGE_DELTA) {
        a->facts.stop = ev->stop;
        a->facts.stop_unclear = ev->stop_unclear;
        snprintf(a->facts.stop_sequence, sizeof(a->facts.stop_sequence), "%.*s",
                 STR_ARG(str_clip(ev->stop_sequence, LLM_MAX_SEQUENCE - 1)));
        a->facts.usage = ev->usage;
    }
    if (a->fn && a->fn(ev, a->arg, err) < 0) {
        a->stopped = true;
        return -1;
    }
    return 0;
}

static int attempt_sse(struct str name, struct str data, void *arg, struct err *err)
{
    struct attempt *a = arg;

    /* Data after the last event, such as "[DONE]", is ignored. */
    if (reply_is_finished(a->reply))
        return 0;
    return a->dialect->event(a->decoder, name, data, &a->event_fault, err);
}

/* Faults */

/* Sets both; returns -1. */
static int fault_set(struct llm_fault *fault, struct err *err, enum err_code code, bool retry,
                     const char *fmt, ...) PRINTF_LIKE(5, 6);
static int fault_set(struct llm_fault *fault, struct err *err, enum err_code code, bool retry,
                     const char *fmt, ...)
{
    char text[sizeof(fault->text)];
    va_list args;

    va_start(args, fmt);
    vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    *fault = (struct llm_fault){.code = code, .retry = retry, .wait_ms = -1};
    fault_text(fault, str_of(text));
    return err_set(err, code, "%s", fault->text);
}

/* Handles a body that could not be read further: the listener stopped it, the server reported an
 * error, or it is invalid. */
static int fault_from_body(struct attempt *a, struct llm_fault *fault, struct err *err)
{
    if (a->stopped) {
        *fault = (struct llm_fault){.wait_ms = -1};
        return -1;
    }
    if (a->event_fault.code) {
        *fault = a->event_fault;
        return err_set(err, fault->code, "%s", fault->text);
    }
    /* A retry would reach the same limit. */
    a->facts.broken = err->code != ERR_TOO_BIG;
    return fault_set(fault, err, err->code, a->facts.broken, "%s", err->text);
}

static struct str header_of(const struct attempt *a, const char *name)
{
    return net_mail_header(&a->head, name);
}

/* Anthropic's own rate limits say how long they last. If that is missing, it is a spending cap, and
 * waiting could take until the end of the month. Other servers with this dialect just omit the
 * header, and proxies pass it on. */
static void fault_at_home(const struct attempt *a, struct llm_fault *fault)
{
    bool is_home = str_has(str_of(a->provider->base_url), STR("api.anthropic.com")) ||
                   header_of(a, "anthropic-ratelimit-unified-reset").len;

    if (!fault->cap_at_home || !is_home)
        return;
    fault->code = ERR_QUOTA;
    fault->retry = false;
}

static int fault_from_status_body(struct attempt *a, struct llm_fault *fault, struct err *err)
{
    *fault = (struct llm_fault){.wait_ms = -1};
    a->dialect->fault(a->facts.status, buf_str(&a->body), header_of(a, "retry-after"),
                      header_of(a, "retry-after-ms"), header_of(a, "x-should-retry"), fault);
    fault_at_home(a, fault);
    if (fault->code == ERR_QUOTA && fault->wait_ms < 0)
        fault->wait_ms =
            retry_reset_ms(header_of(a, "anthropic-ratelimit-unified-reset"), clock_wall_ms());
    if (fault->request_id[0] && !a->facts.request_id[0])
        memcpy(a->facts.request_id, fault->request_id, sizeof(a->facts.request_id));
    return err_set(err, fault->code, "%s", fault->text);
}

static int fault_redirect(struct attempt *a, struct llm_fault *fault, struct err *err)
{
    struct str to = header_of(a, "location");
    struct str base = str_of(a->provider->base_url);
    size_t scheme = str_find(to, STR("://"));

    to = scheme < to.len ? str_first(to, scheme + 3 + str_chr(str_from(to, scheme + 3), '/'))
                         : STR("another path");
    return fault_set(fault, err, ERR_PROTOCOL, /*retry=*/false,
                     "%.*s answered with a redirect to %.*s; it is not followed, because the key "
                     "would go with it. Is the base URL right?",
                     STR_ARG(str_clip(base, 100)), STR_ARG(str_clip(to, 100)));
}

static int fault_not_an_answer(struct attempt *a, const char *what, struct llm_fault *fault,
                               struct err *err)
{
    struct str start = str_clip(str_trim(buf_str(&a->body)), 80);

    return fault_set(fault, err, ERR_PROTOCOL, /*retry=*/false,
                     "%s answered with %s where a model's answer should be. Is the base URL right? "
                     "It begins: %.*s",
                     a->provider->base_url, what, STR_ARG(start));
}

/* Starting */

static int attempt_send(struct attempt *a, const struct attempt_options *o, struct err *err)
{
    CLEANUP(buf_release) struct buf path = BUF_INIT(BUF_NO_LIMIT);
    CLEANUP(buf_release) struct buf url = BUF_INIT(BUF_NO_LIMIT);
    CLEANUP(net_request_release) struct net_request request = {.method = "POST"};

    buf_init(&request.body, MAX_REQUEST);
    a->dialect->path(&a->request, &path);
    door_url(str_of(a->provider->base_url), buf_str(&path), &url);
    request.url = buf_cstr(&url);
    if (a->dialect->body(&a->request, &request.body, err) < 0)
        return -1;
    if (buf_check(&request.body, err) < 0)
        return err_prefix(err, "the request");
    provider_headers(a->provider, &a->request, &request.headers);
    /* Normally our own timer is first; this one is for an owner that has stopped calling
     * llm_call_tick(). */
    request.idle_ms = a->idle_ms + 30000;
    a->upload_ms = (int64_t)(request.body.len / 64); /* 64 kB a second */

    a->decoder = a->dialect->decoder_new(&a->request, a->reply);
    a->sse = sse_new(MAX_EVENT, attempt_sse, a);
    log_debug("llm", "request: POST %s, %zu bytes, %s", buf_cstr(&url), request.body.len,
              a->request.no_stream ? "not streamed" : "streamed");
    a->stream = net_start(o->net, &request, o->to, err);
    return a->stream ? 0 : -1;
}

struct attempt *attempt_start(const struct attempt_options *o, struct err *err)
{
    struct attempt *a = mem_zalloc(sizeof(*a));
    const struct model *model = &o->provider->model;

    a->provider = o->provider;
    a->dialect = o->provider->dialect;
    a->request = *o->request;
    a->request.model = model;
    if (a->request.max_tokens > model->max_output)
        a->request.max_tokens = model->max_output;
    a->request.no_stream = o->no_stream;
    a->request.no_stream_options = o->provider->no_stream_options;
    a->request.show_thinking = a->request.show_thinking && !o->provider->no_summaries;
    a->fn = o->fn;
    a->arg = o->arg;
    a->idle_ms = o->no_stream && o->idle_ms < WHOLE_IDLE_MS ? WHOLE_IDLE_MS : o->idle_ms;
    a->facts.start_ms = clock_mono_ms();
    a->heard_ms = a->facts.start_ms;
    a->reply = reply_new(attempt_event, a);
    reply_origin(a->reply, model->provider, model->name);

    if (!a->dialect) {
        a->play = scripted_call_new(o->provider->script, &a->request, a->reply);
        return a;
    }
    if (!o->net)
        err_set(err, ERR_BAD_INPUT, "%s cannot be asked without a network", o->provider->name);
    else if (attempt_send(a, o, err) == 0)
        return a;
    attempt_free(a);
    return NULL;
}

bool attempt_owns(const struct attempt *a, const struct mail *m)
{
    return a && a->stream && m->kind == &net_mail_kind &&
           ((const struct net_mail *)m)->stream == a->stream;
}

/* Reading */

static void note_request_id(struct attempt *a)
{
    static const char *const names[] = {"request-id", "x-request-id", "x-oneapi-request-id"};

    for (size_t i = 0; i < ARRAY_LEN(names) && !a->facts.request_id[0]; i++) {
        struct str id = header_of(a, names[i]);
        size_t n = 0;

        /* Shown in errors; must not contain terminal control characters. */
        for (size_t k = 0; k < id.len && n + 1 < sizeof(a->facts.request_id); k++) {
            if (id.ptr[k] > ' ' && id.ptr[k] < 0x7f)
                a->facts.request_id[n++] = id.ptr[k];
        }
    }
}

static int attempt_head(struct attempt *a, struct net_mail *m, struct llm_fault *fault,
                        struct err *err)
{
    struct str type;

    strv_clear(&a->head);
    strv_add_all(&a->head, &m->headers);
    type = header_of(a, "content-type");
    a->facts.status = m->status;
    note_request_id(a);
    llm_rate_read(&a->head, &a->facts.rate);
    log_debug("llm", "answer: HTTP %d, %.*s, request id %s", m->status, STR_ARG(type),
              a->facts.request_id);
    if (m->status >= 300 && m->status < 400)
        return fault_redirect(a, fault, err);

    type = str_trim(str_first(type, str_chr(type, ';')));
    a->body_kind = m->status >= 400 ? BODY_ERROR : BODY_UNKNOWN;
    if (str_eq_nocase(type, STR("text/event-stream")))
        a->body_hint = BODY_EVENTS;
    else if (str_ends(type, STR("json")))
        a->body_hint = BODY_WHOLE;
    else
        a->body_hint = BODY_UNKNOWN;
    buf_init(&a->body, a->body_kind == BODY_ERROR ? MAX_ERROR_BODY : REPLY_MAX_BYTES);
    return 0;
}

/* Returns 1 when the first bytes tell what the body is, 0 if more are needed. They take precedence
 * over the content type: gateways send streams as JSON, and errors and whole answers as streams. */
static int attempt_sniff(struct attempt *a, bool at_end, struct llm_fault *fault, struct err *err)
{
    static const char *const fields[] = {"data:", "event:", "id:", "retry:", ":"};
    struct str start = str_trim(buf_str(&a->body));

    if (str_starts(start, STR("\xef\xbb\xbf")))
        start = str_from(start, 3);
    if (start.len < SNIFF_BYTES && !at_end)
        return 0;
    if (start.len && (start.ptr[0] == '{' || start.ptr[0] == '[')) {
        a->body_kind = BODY_WHOLE;
        return 1;
    }
    for (size_t i = 0; i < ARRAY_LEN(fields); i++) {
        if (str_starts(start, str_of(fields[i]))) {
            a->body_kind = BODY_EVENTS;
            return 1;
        }
    }
    if (!start.len)
        return 1; /* treated as empty at the end */
    if (a->body_hint != BODY_UNKNOWN) {
        a->body_kind = a->body_hint;
        return 1;
    }
    return fault_not_an_answer(a, start.ptr[0] == '<' ? "a web page" : "something else", fault,
                               err);
}

static int attempt_done(struct attempt *a)
{
    a->facts.end_ms = clock_mono_ms();
    return 1;
}

static int attempt_feed(struct attempt *a, struct str bytes, struct llm_fault *fault,
                        struct err *err)
{
    if (sse_feed(a->sse, bytes, err) < 0)
        return fault_from_body(a, fault, err);
    if (reply_is_finished(a->reply) && !a->facts.end_ms)
        attempt_done(a);
    return 0;
}

static int attempt_bytes(struct attempt *a, struct str bytes, struct llm_fault *fault,
                         struct err *err)
{
    a->received += bytes.len;
    if (a->facts.end_ms)
        return 0;
    if (a->body_kind == BODY_EVENTS)
        return attempt_feed(a, bytes, fault, err);

    if (a->body_kind == BODY_ERROR)
        bytes = str_first(bytes, MAX_ERROR_BODY - a->body.len);
    buf_add(&a->body, bytes);
    if (a->body_kind == BODY_ERROR && a->body.len == MAX_ERROR_BODY) {
        net_cancel(a->stream); /* the beginning of an error is enough */
        return fault_from_status_body(a, fault, err);
    }
    if (a->body.over)
        return fault_set(fault, err, ERR_TOO_BIG, /*retry=*/false,
                         "the answer is larger than %zu MB", REPLY_MAX_BYTES >> 20);
    if (a->body_kind != BODY_UNKNOWN)
        return 0;
    if (attempt_sniff(a, /*at_end=*/false, fault, err) < 0)
        return -1;
    if (a->body_kind != BODY_EVENTS)
        return 0;
    return attempt_feed(a, buf_str(&a->body), fault, err);
}

/* The body has ended: the reply must be complete, too. */
static int attempt_finish(struct attempt *a, struct llm_fault *fault, struct err *err)
{
    if (a->body_kind == BODY_UNKNOWN && attempt_sniff(a, /*at_end=*/true, fault, err) < 0)
        return -1;
    if (!a->received) {
        a->facts.broken = true;
        return fault_set(fault, err, ERR_PROTOCOL, /*retry=*/true,
                         "the server answered with nothing (HTTP %d, empty body)", a->facts.status);
    }
    if (a->body_kind == BODY_WHOLE) {
        if (a->dialect->whole(a->decoder, buf_str(&a->body), &a->event_fault, err) < 0) {
            /* Neither an answer nor an error of this dialect; some gateways have their own format.
             */
            if (!a->event_fault.code && err->code == ERR_PROTOCOL)
                fault_from_answer(&a->event_fault, buf_str(&a->body));
            return fault_from_body(a, fault, err);
        }
    } else {
        if (sse_end(a->sse, err) < 0)
            return fault_from_body(a, fault, err);
        if (!reply_is_finished(a->reply) && a->dialect->end(a->decoder, &a->event_fault, err) < 0)
            return fault_from_body(a, fault, err);
    }
    if (!reply_is_finished(a->reply)) {
        a->facts.broken = true;
        return fault_set(fault, err, ERR_PROTOCOL, /*retry=*/true,
                         "the answer broke off before its end");
    }
    return attempt_done(a);
}

/*
 * The connection broke or is silent, possibly after the last data: dialects without a last event
 * detect the end by the stop reason, and some gateways never close a stream properly. Only complete
 * events count here.
 */
static bool attempt_was_said(struct attempt *a, struct err *err)
{
    return a->body_kind == BODY_EVENTS && a->dialect->end(a->decoder, &a->event_fault, err) == 0 &&
           reply_is_finished(a->reply);
}

static int attempt_end(struct attempt *a, struct net_mail *m, struct llm_fault *fault,
                       struct err *err)
{
    enum err_code code = (enum err_code)m->end.code;
    bool again = code == ERR_NETWORK || code == ERR_TIMEOUT || code == ERR_PROTOCOL;

    if (a->facts.end_ms) /* the reply was complete before the connection ended */
        return 1;
    if (a->body_kind == BODY_ERROR)
        return fault_from_status_body(a, fault, err);
    if (code == ERR_NONE && a->facts.status)
        return attempt_finish(a, fault, err);
    if (code == ERR_NONE)
        return fault_set(fault, err, ERR_NETWORK, /*retry=*/true, "the server sent nothing");
    if (attempt_was_said(a, err))
        return attempt_done(a);
    if (a->stopped)
        return fault_from_body(a, fault, err);
    a->facts.broken = again && a->facts.status;
    return fault_set(fault, err, code, again, "%s%s",
                     a->facts.broken ? "the answer broke off: " : "", m->end.text);
}

int attempt_mail(struct attempt *a, struct mail *mail, struct llm_fault *fault, struct err *err)
{
    struct net_mail *m = (struct net_mail *)mail;
    int r;

    a->heard_ms = clock_mono_ms();
    switch (m->what) {
    case NET_HEAD:
        a->upload_ms = 0;
        return attempt_head(a, m, fault, err);
    case NET_BYTES:
        r = attempt_bytes(a, buf_str(&m->bytes), fault, err);
        net_used(a->stream, m->bytes.len);
        return r;
    case NET_END:
        return attempt_end(a, m, fault, err);
    }
    BUG("mail of an unknown kind");
}

int64_t attempt_deadline(const struct attempt *a)
{
    if (a->play)
        return scripted_call_deadline(a->play);
    if (a->facts.end_ms)
        return a->facts.end_ms + DRAIN_MS;
    if (a->body_kind == BODY_EVENTS && a->dialect->is_said && a->dialect->is_said(a->decoder))
        return a->heard_ms + a->idle_ms / SAID_PART;
    return a->heard_ms + a->upload_ms + a->idle_ms;
}

static int attempt_play(struct attempt *a, struct llm_fault *fault, struct err *err)
{
    int r = scripted_call_tick(a->play, &a->event_fault, err);

    if (r < 0) {
        a->facts.status = scripted_call_status(a->play);
        a->facts.broken = a->event_fault.code == ERR_NETWORK; /* "cut" or similar */
        return fault_from_body(a, fault, err);
    }
    return r > 0 ? attempt_done(a) : 0;
}

int attempt_tick(struct attempt *a, struct llm_fault *fault, struct err *err)
{
    if (clock_mono_ms() < attempt_deadline(a))
        return 0;
    if (a->play)
        return attempt_play(a, fault, err);
    if (a->facts.end_ms)
        return 1;
    net_cancel(a->stream);
    if (a->body_kind == BODY_ERROR) /* its beginning is enough */
        return fault_from_status_body(a, fault, err);
    if (attempt_was_said(a, err)) /* some servers do not close the connection */
        return attempt_done(a);
    if (a->stopped)
        return fault_from_body(a, fault, err);
    a->facts.broken = a->facts.status != 0;
    return fault_set(fault, err, ERR_TIMEOUT, /*retry=*/true, "nothing arrived for %" PRId64 " s",
                     (a->idle_ms + 999) / 1000);
}
