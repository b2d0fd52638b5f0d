/*
 * judge: a separate conversation for one verdict, thrown away with it.
 *
 * The verdict is a call of the tool `verdict`, offered in every request beside the tools to look
 * with. The judge may look, and think, before it decides; when it must decide, the request forces
 * that call. A server that refuses a forced call is asked without force, and one without tools for
 * the same object as text; judge_read.c takes nothing else for a verdict. What the judge reads in
 * all, looks included, keeps to one ceiling. Runs on the thread that calls; waits for the model and
 * for tools.
 */
#include "goal/judge/judge.h"

#include <inttypes.h>
#include <math.h>

#include "agent/toolbox.h"
#include "base/arena.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "goal/judge/exhibit.h"
#include "goal/judge/judge_look.h"
#include "llm/llm_call.h"
#include "llm/message.h"
#include "llm/model.h"
#include "llm/provider.h"
#include "llm/spending.h"
#include "sync/cancel.h"

#define ANSWER_TOKENS 16000            /* of one answer, thinking included */
#define LOOKS_A_STEP 8                 /* calls of tools in one answer that are made */
#define LOOK_LEAST (4 * EXHIBIT_LEAST) /* less room than this is not worth a look */
#define LEAST_TOKENS 4000              /* a ceiling is not halved below this */

/* One verdict in the making. */
struct asking {
    const struct judge_spec *spec;
    struct cancel *cancel;
    struct judge_verdict *verdict;
    int64_t deadline_ms;
    VEC(struct message *) messages;
    struct arena arena;         /* of the tools' descriptions */
    VEC(struct llm_tool) tools; /* to look with, and last the verdict; none: text is asked for */
    bool no_force;              /* the server refuses a forced call */
    int steps;                  /* answers given in this conversation */
    bool asked_again;           /* the answer before was no verdict */
    size_t room;                /* bytes that looks may still show */
    size_t exhibits;            /* blocks the judge has been given */
    struct llm_usage usage;     /* of the attempt that runs */
    struct spending_call paid;
};

static void asking_release(struct asking *a)
{
    VEC_EACH(&a->messages, m) {
        message_unref(*m);
    }
    vec_release(&a->messages);
    vec_release(&a->tools);
    arena_release(&a->arena);
}

/* ---- The model ---- */

/* Every figure a provider names is paid for, whatever becomes of the answer. */
static void asking_spend(struct asking *a)
{
    const struct model *model = &a->spec->provider->model;

    spending_book_usage(&a->paid, model, &a->usage);
    a->usage = (struct llm_usage){0};
}

/* llm_event_fn */
static int asking_event(const struct llm_event *ev, void *arg, struct err *err)
{
    struct asking *a = arg;
    int64_t now_ms = clock_mono_ms();

    switch (ev->kind) {
    case LLM_MESSAGE_START:
    case LLM_MESSAGE_DELTA:
        a->usage = ev->usage;
        break;
    case LLM_RETRY:
        now_ms += ev->delay_ms; /* a wait that ends too late need not begin */
        asking_spend(a);
        if (a->spec->progress)
            a->spec->progress(a->spec->progress_arg, ev->text);
        break;
    case LLM_FALLBACK:
        asking_spend(a);
        break;
    default:
        break;
    }
    if (now_ms > a->deadline_ms)
        return err_set(err, ERR_TIMEOUT, "no verdict within %d minutes%s%.*s",
                       (int)(JUDGE_TIMEOUT_MS / 60000), ev->kind == LLM_RETRY ? ": " : "",
                       STR_ARG(ev->kind == LLM_RETRY ? str_clip(ev->text, 300) : STR("")));
    return 0;
}

static int asking_call_once(struct asking *a, bool must_decide, struct llm_call_result *ret,
                            struct err *err)
{
    const struct judge_spec *spec = a->spec;
    struct llm_call_options options = {.provider = spec->provider, .retry = spec->retry};
    struct llm_request request = {
        .model = &spec->provider->model,
        .system = str_of(judge_md),
        .tools = a->tools.ptr,
        .tool_count = a->tools.len,
        .messages = a->messages.ptr,
        .message_count = a->messages.len,
        .max_tokens = ANSWER_TOKENS,
        .effort = EFFORT_MEDIUM,
        .cache = CACHE_5M,
        .choice = must_decide && !a->no_force ? CHOICE_NAMED : CHOICE_AUTO,
        .choice_name = STR(JUDGE_TOOL),
    };
    int r;

    if (spending_begin(spec->spending, SPENT_JUDGE, &request, a->cancel, &a->paid, err) < 0)
        return -1;
    r = llm_call_run(spec->net, &options, &request, a->cancel, asking_event, a, ret, err);
    asking_spend(a);
    spending_settle(&a->paid);
    a->verdict->asked_ms = r < 0 ? ret->asked_ms : 0;
    return r;
}

/* A server without tools, or without forced calls, refuses the request. */
static int asking_call(struct asking *a, bool must_decide, struct llm_call_result *ret,
                       struct err *err)
{
    int r = asking_call_once(a, must_decide, ret, err);

    if (r < 0 && err->code == ERR_UNSUPPORTED && a->tools.len && !a->steps) {
        a->tools.len = 0;
        err_clear(err);
        r = asking_call_once(a, must_decide, ret, err);
    } else if (r < 0 && must_decide && a->tools.len && !a->no_force &&
               (err->code == ERR_BAD_INPUT || err->code == ERR_UNSUPPORTED)) {
        a->no_force = true;
        err_clear(err);
        r = asking_call_once(a, must_decide, ret, err);
    }
    if (r == 0) {
        a->verdict->steps++;
        a->steps++;
    }
    return r;
}

/* ---- The conversation ---- */

/* No other line than a title begins like one; the last is that of the end. */
static size_t count_exhibits(struct str text)
{
    static const struct str lead = STR_INIT("\n## ");
    size_t count = 0;

    for (size_t at = str_find(text, lead); at < text.len;
         at += lead.len + str_find(str_from(text, at + lead.len), lead))
        count++;
    return count ? count - 1 : 0;
}

static void asking_offer_tools(struct asking *a)
{
    const struct judge_spec *spec = a->spec;
    size_t count = 0;
    const struct llm_tool *tools = spec->toolbox ? toolbox_llm(spec->toolbox, &count) : NULL;

    if (!spec->provider->model.tools)
        return;
    for (size_t i = 0; i < count; i++) {
        CLEANUP(buf_release) struct buf text = BUF_INIT(BUF_NO_LIMIT); /* by the tool's own text */
        struct llm_tool *t = vec_add(&a->tools);

        buf_add(&text, tools[i].description);
        buf_adds(&text, " For you, ignored, hidden and binary files are included; files in .git, "
                        "where the path names it.");
        *t = tools[i];
        t->description = arena_str(&a->arena, buf_str(&text));
        t->description_json = STR("");
    }
    vec_push(&a->tools,
             ((struct llm_tool){
                 .name = STR(JUDGE_TOOL),
                 .description = STR("Gives your verdict and ends the case. Call it once, "
                                    "alone, when you have decided."),
                 .schema = str_of(judge_verdict_schema),
             }));
}

static void asking_begin(struct asking *a, const struct judge_case *c, int64_t tokens)
{
    size_t ceiling = (size_t)tokens * 4;
    CLEANUP(buf_release) struct buf text = BUF_INIT(BUF_NO_LIMIT); /* by the ceiling */

    asking_offer_tools(a);
    judge_case_write(c, tokens / 4 * 3, &text);
    a->room = ceiling > text.len ? ceiling - text.len : 0;
    a->exhibits = count_exhibits(buf_str(&text));
    vec_push(&a->messages, message_user_text(buf_str(&text)));
}

/* Adds the reply to the conversation. Servers refuse one without text or calls: a stand-in takes
 * its place. */
static void asking_keep(struct asking *a, struct message *m)
{
    struct message *stand_in;

    if (message_count(m, BLOCK_TEXT) || message_count(m, BLOCK_TOOL_USE)) {
        vec_push(&a->messages, message_ref(m));
        return;
    }
    stand_in = message_new(ROLE_ASSISTANT, 1);
    message_add(stand_in, &(struct block){.kind = BLOCK_TEXT, .text = STR("(no answer)")});
    vec_push(&a->messages, stand_in);
}

static void add_result(struct message *to, const struct block *use, struct str text, bool is_error)
{
    struct block content = {.kind = BLOCK_TEXT, .text = text};

    message_add(to, &(struct block){
                        .kind = BLOCK_TOOL_RESULT,
                        .id = use->id,
                        .name = use->name,
                        .content = &content,
                        .content_len = 1,
                        .is_error = is_error,
                    });
}

static void asking_look(struct asking *a, const struct block *use, bool is_one_too_many,
                        struct message *to)
{
    size_t room = a->room < JUDGE_MAX_LOOK ? a->room : JUDGE_MAX_LOOK;
    CLEANUP(buf_release) struct buf text = BUF_INIT(2 * JUDGE_MAX_LOOK);
    bool ok;

    if (is_one_too_many || room < LOOK_LEAST) {
        add_result(to, use,
                   is_one_too_many ? STR("Not done: these are too many calls at once.")
                                   : STR("Not done: there is no room for more."),
                   /*is_error=*/true);
        return;
    }
    ok = judge_look(a->spec, use, a->cancel, ++a->exhibits, room, &text);
    a->room -= text.len < a->room ? text.len : a->room;
    add_result(to, use, str_trim(buf_str(&text)), !ok);
}

static bool asking_is_last(const struct asking *a)
{
    return a->steps + 1 >= JUDGE_MAX_STEPS || a->room < LOOK_LEAST;
}

/* Makes the calls of a reply; their results are the next message. */
static int asking_look_all(struct asking *a, struct message *m, struct err *err)
{
    struct message *results = message_new(ROLE_USER, m->len + 1);
    size_t count = 0;

    asking_keep(a, m);
    vec_push(&a->messages, results);
    for (size_t i = 0; i < m->len; i++) {
        if (m->blocks[i].kind != BLOCK_TOOL_USE)
            continue;
        asking_look(a, &m->blocks[i], count++ >= LOOKS_A_STEP, results);
        if (cancel_check(a->cancel, err) < 0)
            return -1;
    }
    if (asking_is_last(a))
        message_add(results, &(struct block){.kind = BLOCK_TEXT,
                                             .text = STR("This was the last look. Give your "
                                                         "verdict now.")});
    return 0;
}

/* Reports the problem with the reply and asks once more. */
static void asking_again(struct asking *a, struct message *m, const struct err *why)
{
    struct message *again = message_new(ROLE_USER, m->len + 1);
    CLEANUP(buf_release) struct buf text = BUF_INIT(4096);

    asking_keep(a, m);
    for (size_t i = 0; i < m->len; i++) {
        if (m->blocks[i].kind == BLOCK_TOOL_USE)
            add_result(again, &m->blocks[i], STR("Not done: a verdict was due."),
                       /*is_error=*/true);
    }
    buf_addf(&text, "Your answer is no verdict: %s. Give your verdict again, %s.", why->text,
             a->tools.len ? "by calling the tool \"" JUDGE_TOOL "\" once and no other tool"
                          : "as one JSON object with \"ok\" and \"reason\" and nothing around it");
    message_add(again, &(struct block){.kind = BLOCK_TEXT, .text = buf_str(&text)});
    vec_push(&a->messages, again);
}

/* ---- The verdict ---- */

/* 1: a verdict; 0: continue; -1: no verdict can be had. */
static int asking_step(struct asking *a, struct err *err)
{
    CLEANUP(llm_call_result_release) struct llm_call_result answer = {0};
    bool must_decide = asking_is_last(a) || a->asked_again;
    enum llm_stop stop;

    if (asking_call(a, must_decide, &answer, err) < 0)
        return -1;
    stop = answer.stop_unclear ? STOP_NONE : answer.stop;
    if (!must_decide && judge_reply_looks(answer.message, stop))
        return asking_look_all(a, answer.message, err);
    if (judge_read(answer.message, stop, a->verdict, err) == 0)
        return 1;
    log_debug("goal", "judge: %s", err->text);
    if (a->asked_again || err->code != ERR_PROTOCOL) {
        a->verdict->is_unread = err->code == ERR_PROTOCOL;
        return err_prefix(err, "the judge gave no verdict");
    }
    a->asked_again = true;
    asking_again(a, answer.message, err);
    return 0;
}

/* One conversation, its first message at most so large. */
static int judge_try(const struct judge_spec *spec, const struct judge_case *c, int64_t tokens,
                     int64_t deadline_ms, struct cancel *cancel, struct judge_verdict *ret,
                     struct err *err)
{
    CLEANUP(asking_release)
    struct asking a = {.spec = spec, .cancel = cancel, .verdict = ret, .deadline_ms = deadline_ms};
    int r;

    asking_begin(&a, c, tokens);
    do {
        err_clear(err);
        r = asking_step(&a, err);
    } while (r == 0);
    return r < 0 ? -1 : 0;
}

/* Half of the window at most: the rest is for tools, thought and an answer. */
static int64_t judge_ceiling(const struct judge_spec *spec)
{
    int64_t tokens = spec->max_tokens > 0 ? spec->max_tokens : JUDGE_MAX_TOKENS;
    int64_t half = spec->provider->model.window / 2;

    return half > 0 && half < tokens ? half : tokens;
}

int judge_ask(const struct judge_spec *spec, const struct judge_case *c, struct cancel *cancel,
              struct judge_verdict *ret, struct err *err)
{
    int64_t deadline_ms = clock_mono_ms() + JUDGE_TIMEOUT_MS;
    int64_t tokens = judge_ceiling(spec);
    struct err why = {0};
    int r = judge_try(spec, c, tokens, deadline_ms, cancel, ret, &why);

    /* Four bytes a token is a guess; text that is denser may be too much for the model. */
    while (r < 0 && (why.code == ERR_CONTEXT_FULL || why.code == ERR_TOO_BIG) &&
           tokens / 2 >= LEAST_TOKENS) {
        tokens /= 2;
        r = judge_try(spec, c, tokens, deadline_ms, cancel, ret, &why);
    }
    if (r < 0 && err)
        *err = why;
    return r;
}
