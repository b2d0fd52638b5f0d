/*
 * Requests of MCP servers to the user. A form is a question like any other. A page is opened only
 * after the user has agreed; if the server waits for it, the user says when it is done, unless the
 * server does so first. A model is asked only at a terminal: a small one, a limited number of
 * times, without tools and without the conversation.
 */
#include "host/mcp_ask.h"

#include <stdlib.h>

#include "agent/agent.h"
#include "agent/ask.h"
#include "agent/event.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/strv.h"
#include "base/vec.h"
#include "conf/conf.h"
#include "guard/workspace.h"
#include "host/asks.h"
#include "host/host_state.h"
#include "json/json.h"
#include "json/jw.h"
#include "llm/provider.h"
#include "mcp/asked.h"
#include "net/url.h"
#include "proc/proc.h"
#include "sync/cancel.h"
#include "sync/thread.h"

#define SAMPLES_MAX 20 /* answers of a model in a session */
#define SAMPLE_TOKENS 4096
#define SAMPLE_TEXT ((size_t)1 << 20)
#define OPEN_MS 20000
#define PAGES_MAX 1000     /* remembered as done */
#define PAGE_WAIT_MS 60000 /* for the server to report a page as done, if no user can be asked */

/* A page that a server waits for. */
struct page {
    struct str id;
    struct cancel *done;
};

struct mcp_desk {
    struct gate gate;
    VEC(struct page *) pages;
    struct strv done;     /* pages that were done before anyone waited for them */
    struct strv samplers; /* servers that may ask a model in this session */
    unsigned samples;
};

static struct mcp_desk *desk_of(struct host *h)
{
    struct mcp_desk *d;

    gate_take(&h->gate);
    if (!h->mcp_desk) {
        h->mcp_desk = mem_zalloc(sizeof(*h->mcp_desk));
        gate_init(&h->mcp_desk->gate);
    }
    d = h->mcp_desk;
    gate_give(&h->gate);
    return d;
}

void host_free_desk(struct host *h)
{
    struct mcp_desk *d = h->mcp_desk;

    if (!d)
        return;
    vec_release(&d->pages);
    strv_release(&d->done);
    strv_release(&d->samplers);
    gate_release(&d->gate);
    free(d);
    h->mcp_desk = NULL;
}

void host_mcp_said(void *arg, const char *server, struct str text)
{
    CLEANUP(buf_release) struct buf line = BUF_INIT(2000);

    buf_addf(&line, "MCP server %s: %.*s", server, STR_ARG(text));
    host_notice(arg, LEVEL_WARNING, buf_str(&line));
}

void host_mcp_roots(void *arg, struct strv *ret)
{
    struct host *h = arg;

    workspace_dirs(h->workspace, ret);
}

/* ---- Forms and pages ---- */

/* Only URLs that a browser does not run or read from this machine. */
static bool is_page(struct str text)
{
    struct url url;

    return url_parse(text, &url, NULL) == 0 &&
           (url.tls || str_eq_nocase(url.host, STR("localhost")) ||
            str_eq(url.host, STR("127.0.0.1")) || str_eq(url.host, STR("::1")) ||
            str_eq(url.host, STR("[::1]")));
}

/* The answer of the user, or of a hook in his place. */
static int put_form(struct host *h, const char *server, const struct json *params,
                    struct cancel *cancel, struct buf *ret)
{
    struct agent *agent = host_running(h);
    struct asker *asker = asks_asker(h->asks);
    CLEANUP(buf_release) struct buf input = BUF_INIT((size_t)1 << 20);
    CLEANUP(ask_answer_release) struct ask_answer answer = ASK_ANSWER_INIT;
    struct ask ask = {
        .kind = ASK_ELICITATION, .tool_name = STR("Elicitation"), .needs_person = true};
    struct str url = json_get_str(params, "url");
    struct jw w;

    jw_init(&w, &input, 0);
    jw_object(&w);
    jw_kcstr(&w, "mcp_server_name", server);
    jw_kstr(&w, "message", json_get_str(params, "message"));
    if (url.len) {
        jw_kcstr(&w, "mode", "url");
        jw_kstr(&w, "url", url);
        jw_kstr(&w, "elicitation_id", json_get_str(params, "elicitationId"));
    } else {
        jw_kjson(&w, "requested_schema", json_get(params, "requestedSchema"));
    }
    jw_object_end(&w);
    ask.input = buf_str(&input);
    if (input.over || (url.len && !is_page(url)))
        return -1;
    if (agent)
        agent_ask_form(agent, /*with_answer=*/false, str_of(server), ask.input, cancel, ret);
    if (ret->len)
        return 0;
    if (asker->put(asker, &ask, cancel, &answer, NULL) < 0 || !answer.input.len)
        return -1;
    buf_add(ret, buf_str(&answer.input));
    return 0;
}

/* ElicitationResult hooks see the answer, and may give another one. */
static void review_form(struct host *h, const char *server, const struct json *params,
                        struct cancel *cancel, struct buf *answer)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    CLEANUP(buf_release) struct buf members = BUF_INIT(ASK_MAX_ANSWER);
    CLEANUP(buf_release) struct buf other = BUF_INIT(ASK_MAX_ANSWER);
    struct agent *agent = host_running(h);
    const struct json *root = NULL;
    struct jw w;

    if (!agent || json_parse(&arena, buf_str(answer), &root, NULL, NULL) < 0)
        return;
    jw_init(&w, &members, 0);
    jw_object(&w);
    jw_kcstr(&w, "mcp_server_name", server);
    jw_kstr(&w, "action", json_get_str(root, "action"));
    if (json_get(root, "content"))
        jw_kjson(&w, "content", json_get(root, "content"));
    if (json_get_str(params, "url").len) {
        jw_kcstr(&w, "mode", "url");
        jw_kstr(&w, "elicitation_id", json_get_str(params, "elicitationId"));
    }
    jw_object_end(&w);
    if (members.over)
        return;
    agent_ask_form(agent, /*with_answer=*/true, str_of(server), buf_str(&members), cancel, &other);
    if (other.len)
        buf_move(answer, &other);
}

static bool is_accepted(struct str answer)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    const struct json *root = NULL;

    return json_parse(&arena, answer, &root, NULL, NULL) == 0 &&
           str_is(json_get_str(root, "action"), "accept");
}

/* At a terminal tenax opens the page; other front ends do so themselves. */
void host_open_page(struct host *h, struct str url, struct cancel *cancel)
{
    const char *said = conf_env(h->conf, "BROWSER");
    struct str rest = str_of(said && *said ? said : "xdg-open");
    struct str word;
    CLEANUP(strv_release) struct strv argv = STRV_INIT;
    struct proc_result result = {0};
    struct proc_spec spec = {.timeout_ms = OPEN_MS, .linger_ms = -1, .by_user = true};

    if (!h->is_interactive)
        return;
    while (str_cut(&rest, ' ', &word)) {
        if (word.len)
            strv_add(&argv, word);
    }
    strv_add(&argv, url);
    spec.argv = (const char *const *)strv_get(&argv);
    (void)proc_run(&spec, cancel, &result, NULL); /* failure is fine: the URL is shown, too */
    proc_result_release(&result);
}

void host_mcp_done(void *arg, const char *server, struct str id)
{
    struct mcp_desk *d = desk_of(arg);

    (void)server;
    gate_take(&d->gate);
    if (d->done.len < PAGES_MAX)
        strv_add(&d->done, id);
    VEC_EACH(&d->pages, p) {
        if (str_eq((*p)->id, id))
            cancel_set((*p)->done);
    }
    gate_give(&d->gate);
}

enum page_choice {
    PAGE_DONE,
    PAGE_AGAIN,
    PAGE_SKIP,
};

static enum page_choice ask_whether_done(struct host *h, const char *server, struct cancel *cancel)
{
    static const char *const labels[] = {"Done", "Open it again", "Skip it"};
    struct asker *asker = asks_asker(h->asks);
    CLEANUP(buf_release) struct buf input = BUF_INIT(64 << 10);
    CLEANUP(ask_answer_release) struct ask_answer answer = ASK_ANSWER_INIT;
    struct ask ask = {
        .kind = ASK_QUESTION, .tool_name = STR("AskUserQuestion"), .needs_person = true};
    struct jw w;

    jw_init(&w, &input, 0);
    jw_object(&w);
    jw_key(&w, "questions");
    jw_array(&w);
    jw_object(&w);
    jw_key(&w, "question");
    jw_str_begin(&w);
    jw_str_part(&w, STR("The MCP server "));
    jw_str_part(&w, str_of(server));
    jw_str_part(&w, STR(" waits for the page that was opened. Is it done?"));
    jw_str_end(&w);
    jw_kcstr(&w, "header", "Page");
    jw_kbool(&w, "multiSelect", false);
    jw_key(&w, "options");
    jw_array(&w);
    for (size_t i = 0; i < ARRAY_LEN(labels); i++) {
        jw_object(&w);
        jw_kcstr(&w, "label", labels[i]);
        jw_kcstr(&w, "description", "");
        jw_object_end(&w);
    }
    jw_array_end(&w);
    jw_object_end(&w);
    jw_array_end(&w);
    jw_object_end(&w);
    ask.input = buf_str(&input);
    if (asker->put(asker, &ask, cancel, &answer, NULL) < 0) /* the server was first, or soon is */
        return cancel_wait(cancel, PAGE_WAIT_MS, NULL) < 0 ? PAGE_DONE : PAGE_SKIP;
    return str_has(buf_str(&answer.input), STR("Open it again")) ? PAGE_AGAIN
           : str_has(buf_str(&answer.input), STR("\"Done\""))    ? PAGE_DONE
                                                                 : PAGE_SKIP;
}

/* False if the user does not want to wait. */
static bool await_page(struct host *h, const char *server, const struct json *params,
                       struct cancel *cancel)
{
    struct mcp_desk *d = desk_of(h);
    struct page page = {.id = json_get_str(params, "elicitationId"), .done = cancel_new(cancel)};
    enum page_choice choice;

    gate_take(&d->gate);
    vec_push(&d->pages, &page);
    if (strv_has(&d->done, page.id))
        cancel_set(page.done);
    gate_give(&d->gate);
    do {
        host_open_page(h, json_get_str(params, "url"), cancel);
        choice = ask_whether_done(h, server, page.done);
    } while (choice == PAGE_AGAIN && !cancel_is_set(cancel));
    gate_take(&d->gate);
    for (size_t i = 0; i < d->pages.len; i++) {
        if (d->pages.ptr[i] == &page) {
            d->pages.ptr[i] = d->pages.ptr[--d->pages.len];
            break;
        }
    }
    gate_give(&d->gate);
    cancel_unref(page.done);
    return choice == PAGE_DONE && !cancel_is_set(cancel);
}

static int ask_form(struct host *h, const char *server, bool waits, const struct json *params,
                    struct cancel *cancel, struct buf *ret)
{
    CLEANUP(buf_release) struct buf answer = BUF_INIT(ASK_MAX_ANSWER);
    struct str url = json_get_str(params, "url");

    if (put_form(h, server, params, cancel, &answer) < 0)
        buf_adds(&answer, "{\"action\":\"cancel\"}");
    review_form(h, server, params, cancel, &answer);
    if (url.len && is_accepted(buf_str(&answer))) {
        if (!waits) {
            host_open_page(h, url, cancel);
        } else if (!await_page(h, server, params, cancel)) {
            buf_adds(ret, "{\"action\":\"decline\"}");
            return 0;
        }
    }
    buf_add(ret, buf_str(&answer));
    return 0;
}

/* ---- A model's answer ---- */

static void write_question(const struct json *params, struct buf *ret)
{
    const struct json *messages = json_get(params, "messages");
    bool is_talk = json_len(messages) > 1;

    JSON_EACH(messages, m) {
        const struct json *content = json_get(m, "content");
        const struct json *first = json_is(content, JSON_ARRAY) ? json_first(content) : content;

        if (is_talk)
            buf_addf(ret, "%s%s: ", ret->len ? "\n\n" : "",
                     str_is(json_get_str(m, "role"), "assistant") ? "Assistant" : "User");
        for (const struct json *b = first; b;
             b = json_is(content, JSON_ARRAY) ? json_next(b) : NULL) {
            if (str_is(json_get_str(b, "type"), "text"))
                buf_add(ret, json_get_str(b, "text"));
            else
                buf_addf(ret, "[%.*s]", STR_ARG(str_clip(json_get_str(b, "type"), 40)));
        }
    }
}

static int may_sample(struct host *h, const char *server, struct str question, int64_t tokens,
                      struct cancel *cancel, struct err *err)
{
    struct mcp_desk *d = desk_of(h);
    struct asker *asker = asks_asker(h->asks);
    CLEANUP(buf_release) struct buf input = BUF_INIT(SAMPLE_TEXT * 2);
    CLEANUP(buf_release) struct buf always = BUF_INIT(4096);
    CLEANUP(ask_answer_release) struct ask_answer answer = ASK_ANSWER_INIT;
    struct ask ask = {
        .kind = ASK_PERMISSION,
        .tool_name = STR("Sampling"),
        .needs_person = true,
        .reason = STR("An MCP server wants a model to answer this, at your cost"),
        .reason_type = "other",
    };
    bool is_known, is_spent;
    struct jw w;

    gate_take(&d->gate);
    is_known = strv_has(&d->samplers, str_of(server));
    is_spent = d->samples >= SAMPLES_MAX;
    d->samples += !is_spent;
    gate_give(&d->gate);
    if (is_spent)
        return err_set(err, ERR_DENIED,
                       "servers have asked for %d answers of a model, which is "
                       "the most of a session",
                       SAMPLES_MAX);
    if (is_known)
        return 0;
    jw_init(&w, &input, 0);
    jw_object(&w);
    jw_kcstr(&w, "server", server);
    jw_kstr(&w, "prompt", question);
    jw_ki64(&w, "maxTokens", tokens);
    jw_object_end(&w);
    jw_init(&w, &always, 0);
    jw_array(&w);
    jw_object(&w);
    jw_kcstr(&w, "type", "addRules");
    jw_key(&w, "rules");
    jw_array(&w);
    jw_object(&w);
    jw_kcstr(&w, "toolName", "Sampling");
    jw_kcstr(&w, "ruleContent", server);
    jw_object_end(&w);
    jw_array_end(&w);
    jw_kcstr(&w, "behavior", "allow");
    jw_kcstr(&w, "destination", "session");
    jw_object_end(&w);
    jw_array_end(&w);
    ask.input = buf_str(&input);
    ask.suggestions = buf_str(&always);
    if (asker->put(asker, &ask, cancel, &answer, NULL) < 0 || !answer.allowed)
        return err_set(err, ERR_DENIED, "the user refused");
    if (answer.permissions.len) {
        gate_take(&d->gate);
        strv_adds(&d->samplers, server);
        gate_give(&d->gate);
    }
    return 0;
}

static int sample(struct host *h, const char *server, const struct json *params,
                  struct cancel *cancel, struct buf *ret, struct err *err)
{
    CLEANUP(provider_release) struct provider provider = {0};
    CLEANUP(buf_release) struct buf question = BUF_INIT(SAMPLE_TEXT);
    CLEANUP(buf_release) struct buf now = BUF_INIT(4096);
    CLEANUP(buf_release) struct buf name = BUF_INIT(4096);
    CLEANUP(buf_release) struct buf answer = BUF_INIT(SAMPLE_TEXT);
    struct str said = conf_get_str(h->conf, "mcp.samplingModel");
    int64_t tokens = json_get_i64(params, "maxTokens", SAMPLE_TOKENS);
    struct jw w;

    if (tokens <= 0 || tokens > SAMPLE_TOKENS)
        tokens = SAMPLE_TOKENS;
    write_question(params, &question);
    host_say_model(h, &now);
    buf_add(&name, said);
    if (!name.len && !provider_small(h->conf, buf_str(&now), &name))
        buf_add(&name, buf_str(&now));
    if (buf_check(&question, err) < 0 ||
        may_sample(h, server, buf_str(&question), tokens, cancel, err) < 0 ||
        host_select(h, buf_str(&name), &provider, err) < 0 ||
        host_ask_of(h, &provider, json_get_str(params, "systemPrompt"), buf_str(&question), tokens,
                    cancel, &answer, err) < 0)
        return -1;
    jw_init(&w, ret, JW_CLEAN);
    jw_object(&w);
    jw_kcstr(&w, "role", "assistant");
    jw_key(&w, "content");
    jw_object(&w);
    jw_kcstr(&w, "type", "text");
    jw_kstr(&w, "text", buf_str(&answer));
    jw_object_end(&w);
    jw_kstr(&w, "model", provider.model.name);
    jw_kcstr(&w, "stopReason", "endTurn");
    jw_object_end(&w);
    return 0;
}

int host_mcp_ask(void *arg, const char *server, struct str method, const struct json *params,
                 struct cancel *cancel, struct buf *ret, struct err *err)
{
    if (str_is(method, "sampling/createMessage"))
        return sample(arg, server, params, cancel, ret, err);
    return ask_form(arg, server, str_is(method, MCP_ASK_PAGE), params, cancel, ret);
}
