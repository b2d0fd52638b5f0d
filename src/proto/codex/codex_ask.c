/*
 * codex_ask: approvals, questions and forms as requests of the client. The loop's thread.
 */
#include <inttypes.h>
#include <string.h>

#include "agent/event.h"
#include "base/arena.h"
#include "base/clock.h"
#include "base/mem.h"
#include "conf/conf.h"
#include "host/host.h"
#include "json/json.h"
#include "proto/codex/codex_state.h"

enum ask_form {
    FORM_COMMAND,
    FORM_FILES,
    FORM_TOOL, /* any other call: as a command */
    FORM_QUESTIONS,
    FORM_ELICITATION,
};

/* A request that is under way. */
struct codex_asked {
    struct codex_view *view;
    int64_t request;
    enum ask_form form;
    struct buf input, suggestions;
};

static void asked_free(struct codex_asked *a)
{
    buf_release(&a->input);
    buf_release(&a->suggestions);
    mem_freep(&a);
}

void codex_asked_free(struct codex_view *v)
{
    VEC_EACH(&v->asked, it) {
        asked_free(*it);
    }
    vec_release(&v->asked);
}

/* Whether it waits for the user, as the status says. */
static void update_flags(struct codex_view *v)
{
    v->is_waiting_for_approval = v->is_waiting_for_input = false;
    VEC_EACH(&v->asked, it) {
        if ((*it)->form == FORM_QUESTIONS || (*it)->form == FORM_ELICITATION)
            v->is_waiting_for_input = true;
        else
            v->is_waiting_for_approval = true;
    }
}

static void say_resolved(struct codex_view *v, int64_t request)
{
    struct codex_note n;

    jw_ki64(codex_begin(&n, v, "serverRequest/resolved"), "requestId", request);
    codex_end(&n);
    update_flags(v);
    codex_say_status(v);
}

static void asked_forget(struct codex_asked *a)
{
    struct codex_view *v = a->view;
    int64_t request = a->request;

    for (size_t i = 0; i < v->asked.len; i++) {
        if (v->asked.ptr[i] == a)
            v->asked.ptr[i] = v->asked.ptr[--v->asked.len];
    }
    asked_free(a);
    say_resolved(v, request);
}

void codex_withdrawn(struct client_view *view, int64_t request)
{
    struct codex_view *v = codex_view_of(view);

    VEC_EACH(&v->asked, it) {
        if ((*it)->request != request)
            continue;
        asked_forget(*it);
        return;
    }
}

void codex_asks_refuse(struct codex_view *v)
{
    struct client_view *view = v->view;

    while (view->asked.len) {
        struct view_ask it = view->asked.ptr[0];
        struct ask_answer no = ASK_ANSWER_INIT;

        (void)view_take_asked(view, it.request);
        rpc_take_back(v->app->client->rpc, it.request);
        codex_withdrawn(view, it.request);
        view_answer(view, it.id, &no);
    }
}

/* ---- Out ---- */

static void on_decision(void *arg, const struct json *result, const struct json *error);
static void on_answers(void *arg, const struct json *result, const struct json *error);
static void on_form(void *arg, const struct json *result, const struct json *error);

static struct str turn_of(const struct codex_view *v)
{
    const struct codex_turn *t = items_running(&v->items);

    return t ? buf_str(&t->id) : buf_str(&v->started);
}

static void write_place(struct codex_view *v, struct jw *w, const struct ask *ask)
{
    jw_kcstr(w, "threadId", v->view->live->id);
    jw_kstr(w, "turnId", turn_of(v));
    jw_kstr(w, "itemId", ask->tool_use_id);
    jw_ki64(w, "startedAtMs", clock_wall_ms());
}

/* The words of the rule that "always" would add. */
static bool write_amendment(struct jw *w, struct str suggestions)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    const struct json *list = NULL;
    struct str content = {0};
    struct str word;

    (void)json_parse(&arena, suggestions, &list, /*ret_info=*/NULL, /*err=*/NULL);
    JSON_EACH(list, update) {
        if (!content.len)
            content = json_get_str(json_first(json_get(update, "rules")), "ruleContent");
    }
    if (!content.len)
        return false;
    jw_array(w);
    while (str_cut(&content, ' ', &word)) {
        if (word.len)
            jw_str(w, word);
    }
    jw_array_end(w);
    return true;
}

static void write_decisions(struct jw *w, struct str suggestions)
{
    CLEANUP(buf_release) struct buf words = BUF_INIT(ASK_MAX_ANSWER);
    struct jw inner;

    jw_init(&inner, &words, JW_CLEAN);
    if (write_amendment(&inner, suggestions))
        jw_kraw(w, "proposedExecpolicyAmendment", buf_str(&words));
    jw_key(w, "availableDecisions");
    jw_array(w);
    jw_cstr(w, "accept");
    if (suggestions.len)
        jw_cstr(w, "acceptForSession");
    if (words.len) {
        jw_object(w);
        jw_key(w, "acceptWithExecpolicyAmendment");
        jw_object(w);
        jw_kraw(w, "execpolicy_amendment", buf_str(&words));
        jw_object_end(w);
        jw_object_end(w);
    }
    jw_cstr(w, "decline");
    jw_cstr(w, "cancel");
    jw_array_end(w);
}

static void send_command(struct codex_asked *a, const struct ask *ask, const struct json *input,
                         struct buf *params)
{
    CLEANUP(buf_release) struct buf call = BUF_INIT(CODEX_MAX_TEXT);
    struct codex_view *v = a->view;
    struct str command = json_get_str(input, "command");
    struct jw w;

    if (a->form != FORM_COMMAND) {
        buf_addf(&call, "%.*s %.*s", STR_ARG(ask->tool_name), STR_ARG(ask->input));
        command = buf_str(&call);
    }
    jw_init(&w, params, JW_CLEAN);
    jw_object(&w);
    jw_kcstr(&w, "kind", "command");
    write_place(v, &w, ask);
    jw_kcstr(&w, "environmentId", "local");
    jw_kstr(&w, "command", command);
    jw_kcstr(&w, "cwd", conf_dir(host_conf(v->view->live->host)));
    jw_key(&w, "commandActions");
    jw_array(&w);
    jw_object(&w);
    jw_kcstr(&w, "type", "unknown");
    jw_kstr(&w, "command", command);
    jw_object_end(&w);
    jw_array_end(&w);
    if (ask->reason.len)
        jw_kstr(&w, "reason", ask->reason);
    write_decisions(&w, ask->suggestions);
    jw_object_end(&w);
    a->request = rpc_ask(v->app->client->rpc, "item/commandExecution/requestApproval",
                         buf_str(params), on_decision, a);
}

static void send_files(struct codex_asked *a, const struct ask *ask, struct buf *params)
{
    struct codex_view *v = a->view;
    struct jw w;

    jw_init(&w, params, JW_CLEAN);
    jw_object(&w);
    write_place(v, &w, ask);
    jw_kcstr(&w, "reason", NULL);
    jw_kcstr(&w, "grantRoot", NULL);
    jw_object_end(&w);
    a->request = rpc_ask(v->app->client->rpc, "item/fileChange/requestApproval", buf_str(params),
                         on_decision, a);
}

static void send_questions(struct codex_asked *a, const struct ask *ask, const struct json *input,
                           struct buf *params)
{
    struct codex_view *v = a->view;
    size_t number = 0;
    struct jw w;

    jw_init(&w, params, JW_CLEAN);
    jw_object(&w);
    write_place(v, &w, ask);
    jw_key(&w, "questions");
    jw_array(&w);
    JSON_EACH(json_get(input, "questions"), question) {
        char id[32];

        snprintf(id, sizeof(id), "question_%zu", number++);
        jw_object(&w);
        jw_kcstr(&w, "id", id);
        jw_kstr(&w, "header", json_get_str(question, "header"));
        jw_kstr(&w, "question", json_get_str(question, "question"));
        jw_kbool(&w, "isOther", true);
        jw_kbool(&w, "isSecret", false);
        jw_key(&w, "options");
        jw_array(&w);
        JSON_EACH(json_get(question, "options"), option) {
            jw_object(&w);
            jw_kstr(&w, "label", json_get_str(option, "label"));
            jw_kstr(&w, "description", json_get_str(option, "description"));
            jw_object_end(&w);
        }
        jw_array_end(&w);
        jw_object_end(&w);
    }
    jw_array_end(&w);
    jw_object_end(&w);
    a->request =
        rpc_ask(v->app->client->rpc, "item/tool/requestUserInput", buf_str(params), on_answers, a);
}

static void send_form(struct codex_asked *a, const struct json *input, struct buf *params)
{
    struct codex_view *v = a->view;
    bool is_url = str_is(json_get_str(input, "mode"), "url");
    struct jw w;

    jw_init(&w, params, JW_CLEAN);
    jw_object(&w);
    jw_kcstr(&w, "threadId", v->view->live->id);
    jw_kstr(&w, "turnId", turn_of(v));
    jw_kcstr(&w, "serverName", "mcp");
    jw_kcstr(&w, "mode", is_url ? "url" : "form");
    jw_kstr(&w, "message", json_get_str(input, "message"));
    if (is_url)
        jw_kstr(&w, "url", json_get_str(input, "url"));
    else
        jw_kjson(&w, "requestedSchema", json_get(input, "requested_schema"));
    jw_object_end(&w);
    a->request =
        rpc_ask(v->app->client->rpc, "mcpServer/elicitation/request", buf_str(params), on_form, a);
}

void codex_ask(struct client_view *view, uint64_t id, const struct ask *ask)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    CLEANUP(buf_release) struct buf params = BUF_INIT(RPC_MAX_OUT);
    struct codex_view *v = codex_view_of(view);
    const struct json *input = NULL;
    struct codex_asked *a;

    if (ask->kind == ASK_TRUST || v->denies_asks) {
        struct ask_answer no = ASK_ANSWER_INIT;

        view_answer(view, id, &no);
        return;
    }
    (void)json_parse(&arena, ask->input, &input, /*ret_info=*/NULL, /*err=*/NULL);
    a = mem_zalloc(sizeof(*a));
    a->view = v;
    buf_init(&a->input, ASK_MAX_ANSWER);
    buf_init(&a->suggestions, ASK_MAX_ANSWER);
    buf_add(&a->input, ask->input);
    buf_add(&a->suggestions, ask->suggestions);
    vec_push(&v->asked, a);
    a->form = ask->kind == ASK_ELICITATION     ? FORM_ELICITATION
              : ask->kind == ASK_QUESTION      ? FORM_QUESTIONS
              : str_is(ask->tool_name, "Bash") ? FORM_COMMAND
              : str_is_word_of(ask->tool_name, "Edit MultiEdit Write NotebookEdit") ? FORM_FILES
                                                                                    : FORM_TOOL;
    update_flags(v);
    codex_say_status(v);
    if (a->form == FORM_ELICITATION)
        send_form(a, input, &params);
    else if (a->form == FORM_QUESTIONS)
        send_questions(a, ask, input, &params);
    else if (a->form == FORM_FILES)
        send_files(a, ask, &params);
    else
        send_command(a, ask, input, &params);
    view_asked(view, id, a->request);
}

/* ---- In ---- */

/* The suggestions, kept for the session alone or for the project. */
static void take_rules(struct codex_asked *a, const char *destination, struct buf *ret)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    const struct json *list = NULL;
    struct jw w;

    if (json_parse(&arena, buf_str(&a->suggestions), &list, /*ret_info=*/NULL, /*err=*/NULL) < 0)
        return;
    jw_init(&w, ret, JW_CLEAN);
    jw_array(&w);
    JSON_EACH(list, update) {
        jw_object(&w);
        JSON_EACH(update, m) {
            jw_key_str(&w, json_key(m));
            if (str_is(json_key(m), "destination"))
                jw_cstr(&w, destination);
            else
                jw_json(&w, m);
        }
        jw_object_end(&w);
    }
    jw_array_end(&w);
}

static void on_decision(void *arg, const struct json *result, const struct json *error)
{
    struct codex_asked *a = arg;
    struct client_view *view = a->view->view;
    uint64_t id = view_take_asked(view, a->request);
    const struct json *decision = error ? NULL : json_get(result, "decision");
    struct ask_answer answer = ASK_ANSWER_INIT;
    struct str word = json_str(decision);

    if (str_is_word_of(word, "accept acceptForSession"))
        answer.allowed = true;
    if (str_is(word, "acceptForSession"))
        take_rules(a, "session", &answer.permissions);
    if (json_get(decision, "acceptWithExecpolicyAmendment")) {
        answer.allowed = true;
        take_rules(a, "localSettings", &answer.permissions);
    }
    answer.interrupt = str_is(word, "cancel");
    asked_forget(a);
    view_answer(view, id, &answer);
}

static void on_answers(void *arg, const struct json *result, const struct json *error)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    struct codex_asked *a = arg;
    struct client_view *view = a->view->view;
    uint64_t id = view_take_asked(view, a->request);
    const struct json *answers = json_get(result, "answers");
    const struct json *input = NULL;
    struct ask_answer answer = ASK_ANSWER_INIT;
    size_t number = 0;
    struct jw w;

    (void)json_parse(&arena, buf_str(&a->input), &input, /*ret_info=*/NULL, /*err=*/NULL);
    answer.allowed = !error && json_is(answers, JSON_OBJECT);
    jw_init(&w, &answer.input, JW_CLEAN);
    jw_object(&w);
    JSON_EACH(input, m) {
        jw_key_str(&w, json_key(m));
        jw_json(&w, m);
    }
    jw_key(&w, "answers");
    jw_object(&w);
    JSON_EACH(json_get(input, "questions"), question) {
        const struct json *chosen;
        char name[32];

        snprintf(name, sizeof(name), "question_%zu", number++);
        chosen = json_get(json_get(answers, name), "answers");
        if (!json_len(chosen))
            continue;
        jw_key_str(&w, json_get_str(question, "question"));
        jw_json(&w, chosen);
    }
    jw_object_end(&w);
    jw_object_end(&w);
    asked_forget(a);
    view_answer(view, id, &answer);
}

static void on_form(void *arg, const struct json *result, const struct json *error)
{
    struct codex_asked *a = arg;
    struct client_view *view = a->view->view;
    uint64_t id = view_take_asked(view, a->request);
    struct str action = json_get_str(result, "action");
    struct ask_answer answer = ASK_ANSWER_INIT;
    struct jw w;

    answer.allowed = !error && str_is(action, "accept");
    jw_init(&w, &answer.input, JW_CLEAN);
    jw_object(&w);
    jw_kcstr(&w, "action",
             answer.allowed              ? "accept"
             : str_is(action, "decline") ? "decline"
                                         : "cancel");
    if (answer.allowed && json_get(result, "content"))
        jw_kjson(&w, "content", json_get(result, "content"));
    jw_object_end(&w);
    asked_forget(a);
    view_answer(view, id, &answer);
}
