/*
 * print: `tenax -p`, one prompt and its answer.
 *
 * On a terminal the answer appears as it arrives; into a pipe it goes whole, when it is complete,
 * so that a script never reads half an answer or, after a broken stream, the same words twice. On a
 * terminal a retried answer goes on where the broken one stopped as long as it says the same. Main
 * thread.
 */
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "base/utf8.h"
#include "base/vec.h"
#include "cmd/cmd.h"
#include "conf/conf.h"
#include "host/connect.h"
#include "json/json.h"
#include "llm/llm_call.h"
#include "llm/message.h"
#include "llm/provider.h"
#include "net/net.h"
#include "sync/cancel.h"
#include "sync/mailbox.h"

#define PRINT_MAX_TEXT ((size_t)64 << 20)
#define PRINT_MAX_FALLBACKS 8
#define PRINT_MAX_REASON ((size_t)64 << 10)

struct print {
    bool live;        /* standard output is a terminal */
    bool in_text;     /* the open block is text */
    struct buf shown; /* what the terminal has of this answer */
    size_t again;     /* of `shown`, what a retried answer has repeated so far */
    bool repeating;
    int64_t retry_at_ms; /* when the next try is due; 0: none is waited for */
    struct cancel *cancel;
    int code;          /* exit code once output has failed */
    struct buf reason; /* why the model refused, where it says */
};

static int print_out(struct print *p, struct str text, struct err *err)
{
    if (!say_live(text, p->cancel, &p->code))
        return err_set(err, ERR_CANCELLED, "output failed");
    return 0;
}

/* Takes off *text what the terminal has already. Where a retried answer turns out to be another
 * one, says so and shows it from its beginning. */
static int print_skip_repeated(struct print *p, struct str *text, struct err *err)
{
    struct str left = str_from(buf_str(&p->shown), p->again);
    size_t same = 0;

    while (same < left.len && same < text->len && left.ptr[same] == text->ptr[same])
        same++;
    p->again += same;
    *text = str_from(*text, same);
    if (!text->len)
        return 0;
    p->repeating = false;
    if (p->again == p->shown.len)
        return 0;
    buf_cut(&p->shown, p->again, p->shown.len);
    if (print_out(p, STR("\n\n[cut off; a new answer begins]\n\n"), err) < 0)
        return -1;
    return print_out(p, buf_str(&p->shown), err);
}

static int print_text(struct print *p, struct str text, struct err *err)
{
    if (p->repeating && print_skip_repeated(p, &text, err) < 0)
        return -1;
    if (!text.len)
        return 0;
    buf_add(&p->shown, text);
    return print_out(p, text, err);
}

/* A note in the middle of an answer starts on a line of its own. */
static void print_break(struct print *p)
{
    if (p->live && p->shown.len && !str_ends(buf_str(&p->shown), STR("\n")))
        (void)say_out(STR("\n"), p->cancel, &p->code);
}

static void print_retry(const struct llm_event *ev)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(4096);

    buf_add(&text, ev->text);
    if (ev->status)
        buf_addf(&text, " (HTTP %d)", ev->status);
    buf_adds(&text, "; trying again");
    if (ev->delay_ms >= 1000)
        buf_addf(&text, " in %" PRId64 " s", (ev->delay_ms + 500) / 1000);
    say("%s (attempt %d of %d)", buf_cstr(&text), ev->attempt, ev->max_tries);
}

static int print_event(const struct llm_event *ev, void *arg, struct err *err)
{
    struct print *p = arg;

    switch (ev->kind) {
    case LLM_WAITING:
        if (ev->total > 0)
            say_status("reading the prompt: %d %%",
                       (int)(ev->processed * 100.0 / (double)ev->total));
        return 0;
    case LLM_BLOCK_START:
        say_status("%s", "");
        p->in_text = ev->block->kind == BLOCK_TEXT;
        return 0;
    case LLM_BLOCK_DELTA:
        return p->live && p->in_text ? print_text(p, ev->text, err) : 0;
    case LLM_RETRY:
        p->repeating = p->shown.len > 0;
        p->again = 0;
        print_break(p);
        print_retry(ev);
        p->retry_at_ms = ev->delay_ms >= 2000 ? clock_mono_ms() + ev->delay_ms : 0;
        return 0;
    case LLM_FALLBACK:
        p->repeating = p->shown.len > 0;
        p->again = 0;
        print_break(p);
        say("%.*s", STR_ARG(ev->text));
        return 0;
    case LLM_MESSAGE_DELTA:
        buf_add(&p->reason, ev->text);
        return 0;
    default:
        return 0;
    }
}

/* Half of a surrogate pair, which JSON can carry, is no UTF-8: whoever reads the pipe would choke.
 * It has three bytes, as U+FFFD has. Nothing else that is invalid gets through the parser. */
static void print_mend(struct buf *text)
{
    size_t at = utf8_valid_len(buf_str(text));

    while (text->len - at >= 3) {
        memcpy(text->ptr + at, "\xef\xbf\xbd", 3);
        at += 3 + utf8_valid_len(str_from(buf_str(text), at + 3));
    }
}

/* The whole answer into a pipe, or the missing newline on a terminal. */
static int print_end(struct print *p, const struct message *m)
{
    CLEANUP(buf_release) struct buf rest = BUF_INIT(PRINT_MAX_TEXT);

    if (!p->live)
        message_text(m, &rest);
    print_mend(&rest);
    if (!str_ends(buf_str(p->live ? &p->shown : &rest), STR("\n")))
        buf_addc(&rest, '\n');
    return say_out(buf_str(&rest), p->cancel, &p->code) ? EXIT_OK : p->code;
}

/* What a token of the prompt costs at most: it may have to be written to the cache first. */
static double print_input_price(const struct model *model, enum cache_ttl cache)
{
    double write = cache == CACHE_OFF  ? 0
                   : cache == CACHE_1H ? model->price.cache_write_1h
                                       : model->price.cache_write;

    return write > model->price.input ? write : model->price.input; /* unknown is never more */
}

/*
 * A money cap holds only where prices are known. The prompt is counted as bytes/4 and what is left
 * of the budget becomes the answer's token limit, so that one call cannot pass it.
 */
static int print_budget(const struct model *model, const struct llm_request *request,
                        struct str usd, size_t prompt_bytes, int64_t *ret_max_tokens,
                        struct err *err)
{
    double budget;
    double left;
    double tokens;

    if (str_to_double(usd, &budget, err) < 0)
        return err_prefix(err, "--max-budget-usd");
    if (!(budget > 0) || !isfinite(budget))
        return err_set(err, ERR_BAD_INPUT, "--max-budget-usd: must be more than 0");
    if (!model_price_known(model))
        return err_set(err, ERR_UNSUPPORTED,
                       "--max-budget-usd: the price of %.*s/%.*s is unknown, so the cap cannot be "
                       "kept; add it under \"models\" in settings.json",
                       STR_ARG(model->provider), STR_ARG(model->name));
    left = budget - (double)prompt_bytes / 4 * print_input_price(model, request->cache) / 1e6;
    tokens = model->price.output > 0 ? left / model->price.output * 1e6 : 1e9;
    if (left <= 0 || tokens < 1)
        return err_set(err, ERR_QUOTA,
                       "--max-budget-usd: the prompt alone is expected to cost more than %.*s",
                       STR_ARG(usd));
    if (tokens < (double)model->default_output)
        *ret_max_tokens = (int64_t)tokens;
    return 0;
}

static enum cache_ttl print_cache(const struct conf *conf, const struct model *model)
{
    struct str ttl = conf_get_str(conf, "promptCaching");
    const struct json *per_model = conf_get(conf, "promptCaching");

    if (json_is(per_model, JSON_OBJECT)) {
        ttl = json_str(json_get_key(per_model, model->name));
        if (!ttl.len)
            ttl = json_get_str(per_model, "default");
    }
    if (str_is(ttl, "off"))
        return CACHE_OFF;
    return str_is(ttl, "1h") ? CACHE_1H : CACHE_5M;
}

static int print_fail(struct print *p, const struct err *err)
{
    if (p->code)
        return p->code; /* output is gone; nobody to tell */
    print_break(p);
    if (err->code == ERR_CANCELLED && cmd_signal_code()) {
        say("interrupted");
        return cmd_signal_code();
    }
    say_error(err);
    return EXIT_FAILED;
}

/* What the reader of the answer should know about how it ended. */
static int print_stop(const struct print *p, const struct llm_call_result *result)
{
    struct llm_fault reason;

    switch (result->stop) {
    case STOP_MAX_TOKENS:
        say("the answer was cut at the output limit (%" PRId64 " tokens)", result->usage.output);
        return EXIT_OK;
    case STOP_CONTEXT_FULL:
        say("the answer was cut: the model's context is full");
        return EXIT_OK;
    case STOP_REFUSAL:
        fault_text(&reason, buf_str(&p->reason)); /* one line, and nothing a terminal obeys */
        say("the model refused to answer%s%s", reason.text[0] ? ": " : "", reason.text);
        return EXIT_FAILED;
    default:
        return EXIT_OK;
    }
}

struct fallbacks {
    struct provider list[PRINT_MAX_FALLBACKS];
    size_t len;
};

static void fallbacks_release(struct fallbacks *f)
{
    for (size_t i = 0; i < f->len; i++)
        provider_release(&f->list[i]);
}

/* Of all models that may answer, the tightest limit counts: the cap holds whoever does. */
static int print_budgets(const struct fallbacks *others, struct str usd, size_t prompt_bytes,
                         struct llm_request *request, struct err *err)
{
    if (print_budget(request->model, request, usd, prompt_bytes, &request->max_tokens, err) < 0)
        return -1;
    for (size_t i = 0; i < others->len; i++) {
        int64_t tokens = 0;

        if (print_budget(&others->list[i].model, request, usd, prompt_bytes, &tokens, err) < 0)
            return -1;
        if (tokens && (!request->max_tokens || tokens < request->max_tokens))
            request->max_tokens = tokens;
    }
    return 0;
}

static bool print_needs_net(const struct provider *first, const struct fallbacks *others)
{
    bool needs = first->dialect;

    for (size_t i = 0; i < others->len; i++)
        needs = needs || others->list[i].dialect;
    return needs;
}

/* Counts the seconds to the next try on a terminal. Returns until when to wait. */
static int64_t print_countdown(struct print *p, int64_t due_ms)
{
    int64_t left_ms = p->retry_at_ms - clock_mono_ms();
    int64_t next_ms;

    if (!p->retry_at_ms)
        return due_ms;
    if (left_ms <= 0) {
        p->retry_at_ms = 0;
        say_status("%s", "");
        return due_ms;
    }
    say_status("trying again in %" PRId64 " s", (left_ms + 999) / 1000);
    next_ms = clock_mono_ms() + (left_ms % 1000 ? left_ms % 1000 : 1000);
    return due_ms >= 0 && due_ms < next_ms ? due_ms : next_ms;
}

/* One mail or one tick of the call; 0 to go on, else what the call returned. */
static int print_wait(struct print *p, struct llm_call *call, struct mailbox *mb, struct err *err)
{
    int64_t due_ms = llm_call_deadline(call);
    struct mail *m;
    int r;

    if (mailbox_take(mb, p->cancel, print_countdown(p, due_ms), &m, err) == 0) {
        r = llm_call_mail(call, m, err);
        mail_free(m);
        return r;
    }
    if (err->code != ERR_TIMEOUT)
        return -1;
    err_clear(err);
    return due_ms >= 0 && clock_mono_ms() >= due_ms ? llm_call_tick(call, err) : 0;
}

/* As llm_call_run(), with an eye on the clock. */
static int print_run(struct print *p, struct net *net, const struct llm_call_options *options,
                     const struct llm_request *request, struct llm_call_result *ret,
                     struct err *err)
{
    struct mailbox *mb = mailbox_new();
    struct llm_call *call = llm_call_start(net, options, request, mb, print_event, p, err);
    int r = call ? 0 : -1;

    while (r == 0)
        r = print_wait(p, call, mb, err);
    if (r > 0)
        r = llm_call_take(call, ret, err);
    llm_call_free(call);
    mailbox_close(mb);
    mailbox_unref(mb);
    return r;
}

/* Everything is selected: make the call and show it. */
static int print_call(struct cmd *c, struct net *net, const struct llm_call_options *options,
                      const struct llm_request *request)
{
    struct print p = {.live = isatty(STDOUT_FILENO),
                      .cancel = c->cancel,
                      .shown = BUF_INIT(PRINT_MAX_TEXT),
                      .reason = BUF_INIT(PRINT_MAX_REASON)};
    struct llm_call_result result = {0};
    struct err err = {0};
    int code;

    if (print_run(&p, net, options, request, &result, &err) < 0) {
        code = print_fail(&p, &err);
    } else {
        double usd = 0;

        code = print_end(&p, result.message);
        if (code == EXIT_OK)
            code = print_stop(&p, &result);
        if (model_cost_usd(result.model, &result.usage, &usd, NULL) < 0)
            usd = -1;
        log_debug("cmd",
                  "answer: input %" PRId64 " cache read %" PRId64 " write %" PRId64
                  " output %" PRId64 " tokens, %s%.6f USD, first token %" PRId64
                  " ms, total %" PRId64 " ms, request %s",
                  result.usage.input, result.usage.cache_read, result.usage.cache_write,
                  result.usage.output, usd < 0 ? "cost unknown " : "", usd, result.first_token_ms,
                  result.total_ms, result.request_id);
    }
    llm_call_result_release(&result);
    buf_release(&p.shown);
    buf_release(&p.reason);
    return code;
}

static void print_notes(const struct provider *p)
{
    for (size_t i = 0; i < p->notes.len; i++)
        say("%s", p->notes.ptr[i]);
}

/* The models to go on with when the first is overloaded, as the option or the
 * settings list them. */
static int print_fallbacks(struct cmd *c, const struct conf *conf, struct fallbacks *ret,
                           struct err *err)
{
    JSON_EACH(conf_get(conf, "fallbackModel"), name) {
        if (ret->len == PRINT_MAX_FALLBACKS)
            return err_set(err, ERR_TOO_BIG, "more than %d fallback models", PRINT_MAX_FALLBACKS);
        if (provider_select(conf, json_str(name), c->cancel, &ret->list[ret->len], err) < 0)
            return err_prefix(err, "fallback model");
        print_notes(&ret->list[ret->len++]);
    }
    return 0;
}

static int print_with(struct cmd *c, const struct conf *conf, struct str prompt,
                      struct provider *provider, struct fallbacks *fallbacks)
{
    struct llm_call_options options = {
        .provider = provider,
        .fallbacks = fallbacks->list,
        .fallback_count = fallbacks->len,
    };
    struct message *message = message_user_text(prompt);
    struct llm_request request = {
        .model = &provider->model,
        .system = str_of(args_get(&c->args, OPT_SYSTEM_PROMPT)),
        .messages = &message,
        .message_count = 1,
        .cache = print_cache(conf, &provider->model),
        .thinking =
            conf_get_bool(conf, "alwaysThinkingEnabled", true) ? THINKING_DEFAULT : THINKING_OFF,
    };
    const char *usd = args_get(&c->args, OPT_MAX_BUDGET_USD);
    struct net *net = NULL;
    struct err err = {0};
    int code = EXIT_FAILED;

    effort_parse(conf_get_str(conf, "effortLevel"), &request.effort);
    if (usd && print_budgets(fallbacks, str_of(usd), prompt.len + request.system.len, &request,
                             &err) < 0) {
        say_error(&err);
        code = EXIT_USAGE;
        goto out;
    }
    if (print_needs_net(provider, fallbacks)) {
        net = connect_net(conf, &err);
        if (!net) {
            say_error(&err);
            goto out;
        }
    }
    code = print_call(c, net, &options, &request);
out:
    net_free(net);
    message_unref(message);
    return code;
}

int cmd_print(struct cmd *c)
{
    CLEANUP(conf_unrefp) struct conf *conf = NULL;
    CLEANUP(buf_release) struct buf prompt = BUF_INIT(PRINT_MAX_TEXT);
    CLEANUP(provider_release) struct provider provider = {0};
    CLEANUP(fallbacks_release) struct fallbacks fallbacks = {0};
    struct err err = {0};
    int code = cmd_conf(c, &conf);

    if (code)
        return code;
    if (prompt_gather(c, &prompt, &err) < 0) {
        if (err.code == ERR_CANCELLED)
            return cmd_signal_code();
        say_error(&err);
        return EXIT_USAGE;
    }
    if (provider_select(conf, str_of(args_get(&c->args, OPT_MODEL)), c->cancel, &provider, &err) <
        0) {
        say_error(&err);
        return err.code == ERR_CANCELLED ? cmd_signal_code() : EXIT_USAGE;
    }
    print_notes(&provider);
    if (print_fallbacks(c, conf, &fallbacks, &err) < 0) {
        say_error(&err);
        return err.code == ERR_CANCELLED ? cmd_signal_code() : EXIT_USAGE;
    }
    return print_with(c, conf, buf_str(&prompt), &provider, &fallbacks);
}
