/*
 * acp_ask: what the session asks the user, as requests of the editor: permissions, plans, questions
 * and forms. The loop's thread.
 */
#include <string.h>

#include "agent/event.h"
#include "base/arena.h"
#include "base/identity.h"
#include "base/mem.h"
#include "host/host.h"
#include "json/json.h"
#include "proto/acp/acp_state.h"

#define ASK_MAX_CHOICES 6

enum ask_form {
    FORM_PERMISSION,
    FORM_PLAN,
    FORM_TRUST,
    FORM_CHOICE,      /* a question as a permission request with an option each */
    FORM_QUESTIONS,   /* the same as a form */
    FORM_ELICITATION, /* of an MCP server */
};

/* A request that is under way. */
struct acp_asked {
    struct acp_view *view;
    int64_t request;
    enum ask_form form;
    struct buf input, suggestions;
};

static void asked_free(struct acp_asked *a)
{
    buf_release(&a->input);
    buf_release(&a->suggestions);
    mem_freep(&a);
}

static void asked_forget(struct acp_asked *a)
{
    struct acp_view *v = a->view;

    for (size_t i = 0; i < v->asked.len; i++) {
        if (v->asked.ptr[i] == a)
            v->asked.ptr[i] = v->asked.ptr[--v->asked.len];
    }
    asked_free(a);
}

void acp_withdrawn(struct client_view *view, int64_t request)
{
    struct acp_view *v = acp_view_of(view);

    VEC_EACH(&v->asked, it) {
        if ((*it)->request != request)
            continue;
        asked_forget(*it);
        return;
    }
}

void acp_asked_free(struct acp_view *v)
{
    VEC_EACH(&v->asked, it) {
        asked_free(*it);
    }
    vec_release(&v->asked);
}

void acp_asks_refuse(struct acp_view *v)
{
    struct client_view *view = v->view;

    while (view->asked.len) {
        struct view_ask it = view->asked.ptr[0];
        struct ask_answer no = ASK_ANSWER_INIT;

        (void)view_take_asked(view, it.request);
        rpc_take_back(v->acp->client->rpc, it.request);
        acp_withdrawn(view, it.request);
        view_answer(view, it.id, &no);
    }
}

/* ---- Out ---- */

/* "Bash(npm test:*)": the first rule that "always" would add; false: it would add none. */
static bool rule_of(const struct json *suggestions, struct buf *ret)
{
    JSON_EACH(suggestions, update) {
        struct str type = json_get_str(update, "type");

        JSON_EACH(json_get(update, "rules"), rule) {
            struct str content = json_get_str(rule, "ruleContent");

            buf_adds(ret, ret->len ? ", " : "");
            buf_add(ret, json_get_str(rule, "toolName"));
            if (content.len)
                buf_addf(ret, "(%.*s)", STR_ARG(content));
        }
        JSON_EACH(json_get(update, "directories"), dir) {
            buf_addf(ret, "%swork in %.*s", ret->len ? ", " : "", STR_ARG(json_str(dir)));
        }
        if (str_is(type, "setMode"))
            buf_addf(ret, "%s%.*s", ret->len ? ", " : "",
                     STR_ARG(str_is(json_get_str(update, "mode"), "acceptEdits")
                                 ? STR("edits in this session")
                                 : json_get_str(update, "mode")));
    }
    return ret->len;
}

static void write_option(struct jw *w, const char *id, struct str name, const char *kind)
{
    jw_object(w);
    jw_kcstr(w, "optionId", id);
    jw_kstr(w, "name", name);
    jw_kcstr(w, "kind", kind);
    jw_object_end(w);
}

static void write_permission_options(struct jw *w, const struct acp_asked *a)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    CLEANUP(buf_release) struct buf name = BUF_INIT(4096);
    CLEANUP(buf_release) struct buf rule = BUF_INIT(4096);
    const struct json *suggestions = NULL;

    (void)json_parse(&arena, buf_str(&a->suggestions), &suggestions, /*ret_info=*/NULL,
                     /*err=*/NULL);
    write_option(w, "allow", STR("Allow"), "allow_once");
    if (rule_of(suggestions, &rule)) {
        buf_addf(&name, "Always allow %.*s", STR_ARG(buf_str(&rule)));
        write_option(w, "always", buf_str(&name), "allow_always");
    }
    write_option(w, "reject", STR("Deny"), "reject_once");
}

static void write_plan_options(struct jw *w)
{
    write_option(w, "acceptEdits", STR("Yes, and accept edits"), "allow_always");
    write_option(w, "default", STR("Yes, and ask before each edit"), "allow_once");
    write_option(w, "reject", STR("No, keep planning"), "reject_once");
}

static void write_choices(struct jw *w, const struct json *question)
{
    size_t i = 0;

    JSON_EACH(json_get(question, "options"), option) {
        char id[] = "choice0";

        id[6] = (char)('0' + i++);
        write_option(w, id, json_get_str(option, "label"), "allow_once");
    }
    write_option(w, "reject", STR("No answer"), "reject_once");
}

/* What the command would change, found by running it on trial: a summary, and diffs of its files.
 */
static void write_effects(struct jw *w, struct str effects)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    CLEANUP(buf_release) struct buf text = BUF_INIT(ACP_MAX_TEXT);
    const struct json *v = NULL;

    if (!effects.len || json_parse(&arena, effects, &v, /*ret_info=*/NULL, /*err=*/NULL) < 0)
        return;
    if (json_get(v, "wanted"))
        buf_addf(&text,
                 json_get_bool(v, "ran", false) ? "It has run, but could not connect to %.*s.\n"
                                                : "It wants to reach %.*s.\n",
                 STR_ARG(json_str(json_path(v, "wanted.name"))));
    else
        buf_addf(&text, "It would %.*s.\n", STR_ARG(json_get_str(v, "summary")));
    JSON_EACH(json_get(v, "changes"), change) {
        buf_addf(&text, "\n%.*s %.*s\n", STR_ARG(json_get_str(change, "change")),
                 STR_ARG(json_get_str(change, "path")));
        JSON_EACH(json_get(change, "structuredPatch"), hunk) {
            JSON_EACH(json_get(hunk, "lines"), line) {
                buf_add(&text, json_str(line));
                buf_addc(&text, '\n');
            }
        }
    }
    acp_write_text(w, buf_str(&text));
}

/* The title of the call, after the agent that asks if it is not the main one. */
static void write_title(struct jw *w, const struct ask *ask, struct str title)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(ACP_MAX_TEXT);

    if (ask->by.agent && !identity_is_main(&ask->by))
        buf_addf(&text, "%s (%s): ", ask->by.type ? ask->by.type : "agent",
                 ask->by.task ? ask->by.task : ask->by.agent);
    buf_add(&text, title);
    jw_str(w, buf_str(&text));
}

/* The whole call, so that an editor can show it without having seen it before; the details of this
 * question follow its content. */
static void write_tool_call(struct acp_view *v, struct jw *w, const struct ask *ask)
{
    CLEANUP(buf_release) struct buf call = BUF_INIT(RPC_MAX_OUT);
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    const struct json *members = NULL;
    struct jw inner;

    jw_init(&inner, &call, JW_CLEAN);
    jw_object(&inner);
    acp_write_call(v, &inner, ask->tool_use_id.len ? ask->tool_use_id : STR("ask"),
                   ask->tool_name.len ? ask->tool_name : STR("tenax"),
                   ask->input.len ? ask->input : STR("{}"));
    jw_object_end(&inner);
    (void)json_parse(&arena, buf_str(&call), &members, /*ret_info=*/NULL, /*err=*/NULL);
    jw_object(w);
    JSON_EACH(members, m) {
        jw_key_str(w, json_key(m));
        if (str_is(json_key(m), "title")) {
            write_title(w, ask, json_str(m));
            continue;
        }
        if (!str_is(json_key(m), "content")) {
            jw_json(w, m);
            continue;
        }
        jw_array(w);
        JSON_EACH(m, item) {
            jw_json(w, item);
        }
        write_effects(w, ask->effects);
        if (ask->reason.len)
            acp_write_text(w, ask->reason);
        jw_array_end(w);
    }
    jw_kcstr(w, "status", "pending");
    jw_object_end(w);
}

static void on_permission(void *arg, const struct json *result, const struct json *error);
static void on_form(void *arg, const struct json *result, const struct json *error);

static void send_permission(struct acp_asked *a, uint64_t id, const struct ask *ask,
                            const struct json *question)
{
    CLEANUP(buf_release) struct buf params = BUF_INIT(RPC_MAX_OUT);
    struct acp_view *v = a->view;
    struct jw w;

    jw_init(&w, &params, JW_CLEAN);
    jw_object(&w);
    jw_kcstr(&w, "sessionId", v->view->live->id);
    jw_key(&w, "toolCall");
    if (a->form == FORM_TRUST) {
        jw_object(&w);
        jw_kcstr(&w, "toolCallId", "trust");
        jw_kcstr(&w, "title",
                 "Trust this folder? Its settings may then run programs and grant "
                 "permissions");
        jw_kcstr(&w, "kind", "other");
        jw_kcstr(&w, "status", "pending");
        jw_kraw(&w, "rawInput", ask->input);
        jw_object_end(&w);
    } else {
        write_tool_call(v, &w, ask);
    }
    jw_key(&w, "options");
    jw_array(&w);
    if (a->form == FORM_PLAN) {
        write_plan_options(&w);
    } else if (a->form == FORM_CHOICE) {
        write_choices(&w, question);
    } else if (a->form == FORM_TRUST) {
        write_option(&w, "always", STR("Trust this folder"), "allow_always");
        write_option(&w, "reject", STR("Do not trust it"), "reject_once");
    } else {
        write_permission_options(&w, a);
    }
    jw_array_end(&w);
    if (ask->effects.len || ask->reason.len) {
        jw_key(&w, "_meta");
        jw_object(&w);
        jw_key(&w, "tenax");
        jw_object(&w);
        if (ask->effects.len)
            jw_kraw(&w, "effects", ask->effects);
        if (ask->reason.len)
            jw_kstr(&w, "reason", ask->reason);
        jw_kcstr(&w, "reasonType", ask->reason_type);
        jw_object_end(&w);
        jw_object_end(&w);
    }
    jw_object_end(&w);
    a->request = rpc_ask(v->acp->client->rpc, "session/request_permission", buf_str(&params),
                         on_permission, a);
    view_asked(v->view, id, a->request);
}

/* One property for each question, and one for the user's own text. */
static void write_question(struct jw *w, const struct json *question, size_t number)
{
    char name[32];

    snprintf(name, sizeof(name), "question_%zu", number);
    jw_key(w, name);
    jw_object(w);
    if (json_get_bool(question, "multiSelect", false)) {
        jw_kcstr(w, "type", "array");
        jw_kstr(w, "title", json_get_str(question, "header"));
        jw_kstr(w, "description", json_get_str(question, "question"));
        jw_key(w, "items");
        jw_object(w);
        jw_key(w, "anyOf");
    } else {
        jw_kcstr(w, "type", "string");
        jw_kstr(w, "title", json_get_str(question, "header"));
        jw_kstr(w, "description", json_get_str(question, "question"));
        jw_key(w, "oneOf");
    }
    jw_array(w);
    JSON_EACH(json_get(question, "options"), option) {
        jw_object(w);
        jw_kstr(w, "const", json_get_str(option, "label"));
        jw_kstr(w, "title", json_get_str(option, "label"));
        jw_kstr(w, "description", json_get_str(option, "description"));
        jw_object_end(w);
    }
    jw_array_end(w);
    if (json_get_bool(question, "multiSelect", false))
        jw_object_end(w);
    jw_object_end(w);
    snprintf(name, sizeof(name), "question_%zu_custom", number);
    jw_key(w, name);
    jw_object(w);
    jw_kcstr(w, "type", "string");
    jw_kcstr(w, "title", "Other");
    jw_object_end(w);
}

static void send_form(struct acp_asked *a, uint64_t id, const struct ask *ask,
                      const struct json *input)
{
    CLEANUP(buf_release) struct buf params = BUF_INIT(RPC_MAX_OUT);
    const struct json *questions = json_get(input, "questions");
    struct acp_view *v = a->view;
    size_t number = 0;
    struct jw w;

    jw_init(&w, &params, JW_CLEAN);
    jw_object(&w);
    jw_kcstr(&w, "sessionId", v->view->live->id);
    if (ask->tool_use_id.len)
        jw_kstr(&w, "toolCallId", ask->tool_use_id);
    if (a->form == FORM_QUESTIONS) {
        jw_kcstr(&w, "mode", "form");
        jw_kstr(&w, "message", json_get_str(json_first(questions), "question"));
        jw_key(&w, "requestedSchema");
        jw_object(&w);
        jw_kcstr(&w, "type", "object");
        jw_key(&w, "properties");
        jw_object(&w);
        JSON_EACH(questions, question) {
            write_question(&w, question, number++);
        }
        jw_object_end(&w);
        jw_object_end(&w);
    } else if (str_is(json_get_str(input, "mode"), "url")) {
        jw_kcstr(&w, "mode", "url");
        jw_kstr(&w, "message", json_get_str(input, "message"));
        jw_kstr(&w, "url", json_get_str(input, "url"));
        jw_kcstr(&w, "elicitationId", v->view->live->id);
    } else {
        jw_kcstr(&w, "mode", "form");
        jw_kstr(&w, "message", json_get_str(input, "message"));
        jw_kjson(&w, "requestedSchema", json_get(input, "requested_schema"));
    }
    jw_object_end(&w);
    a->request = rpc_ask(v->acp->client->rpc, "elicitation/create", buf_str(&params), on_form, a);
    view_asked(v->view, id, a->request);
}

static bool is_one_choice(const struct json *questions)
{
    const struct json *q = json_first(questions);

    return json_len(questions) == 1 && !json_get_bool(q, "multiSelect", false) &&
           json_len(json_get(q, "options")) <= ASK_MAX_CHOICES;
}

static void decline(struct client_view *view, uint64_t id)
{
    struct ask_answer no = ASK_ANSWER_INIT;

    view_answer(view, id, &no);
}

void acp_ask(struct client_view *view, uint64_t id, const struct ask *ask)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    struct acp_view *v = acp_view_of(view);
    const struct json *input = NULL;
    const struct json *questions;
    struct acp_asked *a;
    bool is_url;

    (void)json_parse(&arena, ask->input, &input, /*ret_info=*/NULL, /*err=*/NULL);
    questions = json_get(input, "questions");
    is_url = str_is(json_get_str(input, "mode"), "url");
    if ((ask->kind == ASK_ELICITATION && !(is_url ? v->acp->urls : v->acp->forms)) ||
        (ask->kind == ASK_QUESTION && str_is(ask->tool_name, "AskUserQuestion") && !v->acp->forms &&
         !is_one_choice(questions))) {
        decline(view, id);
        return;
    }
    a = mem_zalloc(sizeof(*a));
    a->view = v;
    buf_init(&a->input, ASK_MAX_ANSWER);
    buf_init(&a->suggestions, ASK_MAX_ANSWER);
    buf_add(&a->input, ask->input);
    buf_add(&a->suggestions, ask->suggestions);
    vec_push(&v->asked, a);
    a->form = ask->kind == ASK_TRUST                    ? FORM_TRUST
              : ask->kind == ASK_ELICITATION            ? FORM_ELICITATION
              : str_is(ask->tool_name, "ExitPlanMode")  ? FORM_PLAN
              : ask->kind != ASK_QUESTION || !questions ? FORM_PERMISSION
              : v->acp->forms                           ? FORM_QUESTIONS
                                                        : FORM_CHOICE;
    if (a->form == FORM_QUESTIONS || a->form == FORM_ELICITATION)
        send_form(a, id, ask, input);
    else
        send_permission(a, id, ask, json_first(questions));
}

/* ---- In ---- */

/* The input with its answers: the members of `answers` are {"question": answer}. */
static void write_answers(struct buf *ret, const struct json *input, struct str answers)
{
    struct jw w;

    jw_init(&w, ret, JW_CLEAN);
    jw_object(&w);
    JSON_EACH(input, m) {
        if (str_is(json_key(m), "answers"))
            continue;
        jw_key_str(&w, json_key(m));
        jw_json(&w, m);
    }
    jw_kraw(&w, "answers", answers);
    jw_object_end(&w);
}

static void choose(struct acp_asked *a, struct str option, struct ask_answer *ret)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    CLEANUP(buf_release) struct buf answers = BUF_INIT(ASK_MAX_ANSWER);
    const struct json *input = NULL;
    const struct json *question;
    const struct json *chosen;
    struct jw w;

    (void)json_parse(&arena, buf_str(&a->input), &input, /*ret_info=*/NULL, /*err=*/NULL);
    question = json_first(json_get(input, "questions"));
    if (option.len != strlen("choice0"))
        return;
    chosen = json_at(json_get(question, "options"), (size_t)(option.ptr[6] - '0'));
    if (!chosen)
        return;
    jw_init(&w, &answers, JW_CLEAN);
    jw_object(&w);
    jw_key_str(&w, json_get_str(question, "question"));
    jw_str(&w, json_get_str(chosen, "label"));
    jw_object_end(&w);
    ret->allowed = true;
    write_answers(&ret->input, input, buf_str(&answers));
}

static void set_mode(struct ask_answer *ret, struct str mode)
{
    buf_addf(&ret->permissions,
             "[{\"type\":\"setMode\",\"mode\":\"%.*s\",\"destination\":\"session\"}]",
             STR_ARG(mode));
}

static void on_permission(void *arg, const struct json *result, const struct json *error)
{
    struct acp_asked *a = arg;
    struct client_view *view = a->view->view;
    uint64_t id = view_take_asked(view, a->request);
    const struct json *outcome = json_get(result, "outcome");
    struct str option = json_get_str(outcome, "optionId");
    struct ask_answer answer = ASK_ANSWER_INIT;

    if (!str_is(json_get_str(outcome, "outcome"), "selected") || error)
        option = STR("");
    if (a->form == FORM_PLAN && str_is_word_of(option, "acceptEdits default")) {
        answer.allowed = true;
        set_mode(&answer, option);
    } else if (a->form == FORM_CHOICE) {
        choose(a, option, &answer);
    } else if (a->form == FORM_TRUST) {
        answer.allowed = str_is(option, "always");
    } else if (a->form == FORM_PERMISSION) {
        answer.allowed = str_is_word_of(option, "allow always");
        if (str_is(option, "always"))
            buf_add(&answer.permissions, buf_str(&a->suggestions));
    }
    asked_forget(a);
    view_answer(view, id, &answer);
}

static void add_chosen(struct jw *w, struct str question, const struct json *value, struct str own)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(ASK_MAX_ANSWER);

    buf_add(&text, json_str(value));
    JSON_EACH(value, it) {
        buf_addf(&text, "%s%.*s", text.len ? ", " : "", STR_ARG(json_str(it)));
    }
    if (own.len)
        buf_addf(&text, "%s%.*s", text.len ? ", " : "", STR_ARG(own));
    if (!text.len)
        return;
    jw_key_str(w, question);
    jw_str(w, buf_str(&text));
}

static void take_questions(struct acp_asked *a, const struct json *content, struct ask_answer *ret)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    CLEANUP(buf_release) struct buf answers = BUF_INIT(ASK_MAX_ANSWER);
    const struct json *input = NULL;
    size_t number = 0;
    struct jw w;

    (void)json_parse(&arena, buf_str(&a->input), &input, /*ret_info=*/NULL, /*err=*/NULL);
    jw_init(&w, &answers, JW_CLEAN);
    jw_object(&w);
    JSON_EACH(json_get(input, "questions"), question) {
        char name[32];
        char own[40];

        snprintf(name, sizeof(name), "question_%zu", number);
        snprintf(own, sizeof(own), "question_%zu_custom", number++);
        add_chosen(&w, json_get_str(question, "question"), json_get(content, name),
                   json_get_str(content, own));
    }
    jw_object_end(&w);
    ret->allowed = true;
    write_answers(&ret->input, input, buf_str(&answers));
}

static void on_form(void *arg, const struct json *result, const struct json *error)
{
    struct acp_asked *a = arg;
    struct client_view *view = a->view->view;
    uint64_t id = view_take_asked(view, a->request);
    struct str action = json_get_str(result, "action");
    struct ask_answer answer = ASK_ANSWER_INIT;
    bool is_yes = str_is(action, "accept") && !error;
    struct jw w;

    if (a->form == FORM_QUESTIONS && is_yes) {
        take_questions(a, json_get(result, "content"), &answer);
    } else if (a->form == FORM_ELICITATION) {
        answer.allowed = is_yes;
        jw_init(&w, &answer.input, JW_CLEAN);
        jw_object(&w);
        jw_kcstr(&w, "action",
                 is_yes                      ? "accept"
                 : str_is(action, "decline") ? "decline"
                                             : "cancel");
        if (is_yes && json_get(result, "content"))
            jw_kjson(&w, "content", json_get(result, "content"));
        jw_object_end(&w);
    }
    asked_forget(a);
    view_answer(view, id, &answer);
}
