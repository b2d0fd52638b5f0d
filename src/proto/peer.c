/*
 * peer: one client's lines, read and written. The thread of the client's loop.
 */
#include "proto/peer.h"

#include <inttypes.h>
#include <string.h>

#include "agent/agent.h"
#include "agent/ask.h"
#include "agent/event.h"
#include "base/arena.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/id.h"
#include "base/log.h"
#include "base/secret.h"
#include "conf/plugin.h"
#include "host/asks.h"
#include "host/events/feed.h"
#include "host/host.h"
#include "host/mcp.h"
#include "json/json.h"
#include "json/jw.h"
#include "llm/message.h"
#include "mcp/mcp.h"
#include "proto/control.h"
#include "proto/control_initialize.h"
#include "proto/sdk_hooks.h"
#include "proto/sdk_servers.h"
#include "proto/stream_line.h"
#include "slash/slash.h"

#define PEER_MAX_OUT ((size_t)256 << 20)
#define PEER_MAX_SAID 100000 /* uuids of messages, remembered */
#define ASK_PREFIX "ask-"
#define ASK_CHARS 8
#define PEER_PARTIAL                                                                               \
    (EVENT_BIT(EVENT_STEP_STARTED) | EVENT_BIT(EVENT_BLOCK_STARTED) |                              \
     EVENT_BIT(EVENT_BLOCK_DELTA) | EVENT_BIT(EVENT_BLOCK_DONE) | EVENT_BIT(EVENT_TOOL_STARTED))

struct peer {
    struct peer_spec spec;
    struct stream_json renderer;
    struct observer *observer;
    unsigned observer_flags;
    bool forwards; /* its client wants what agents say, too */
    struct ask_front *front;
    bool has_forms;      /* it is asked forms alone */
    VEC(uint64_t) asked; /* by it, and not answered */
    bool last_is_error;
    bool was_asked;           /* in the session that it has left */
    struct buf commands;      /* JSON, as the client knows them; empty: it does not */
    uint64_t servers_version; /* mcp_version() when they were last compared */
    char asks[16];            /* what the ids of its requests begin with, in this process alone */
};

static void line_mail_free(struct mail *m)
{
    struct line_mail *l = (struct line_mail *)m;

    buf_release(&l->line);
    mem_freep(&l);
}

const struct mail_kind line_mail_kind = {"line", line_mail_free};

struct line_mail *line_mail_new(void)
{
    struct line_mail *m = mem_zalloc(sizeof(*m));

    m->mail.kind = &line_mail_kind;
    buf_init(&m->line, PEER_MAX_OUT);
    return m;
}

static void let_go_free(struct mail *m)
{
    mem_freep(&m);
}

const struct mail_kind let_go_mail_kind = {"let go", let_go_free};

bool peer_session_let_go(struct peer_session *s)
{
    struct mail *m;

    if (!s->owner)
        return false;
    m = mem_zalloc(sizeof(*m));
    m->kind = &let_go_mail_kind;
    mailbox_send(s->owner, m);
    return true;
}

/* What may be typed instead of words for the model. */
static void list_commands(struct slash *slash, struct strv *ret_names, struct strv *ret_skills,
                          struct strv *ret_terminal)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    slash_item_vec items = VEC_INIT;

    slash_list(slash, &arena, &items);
    VEC_EACH(&items, item) {
        strv_add(ret_names, item->name);
        if (item->is_skill)
            strv_add(ret_skills, item->name);
        if (item->in_terminal)
            strv_add(ret_terminal, item->name);
    }
    vec_release(&items);
}

static void list_plugins(struct peer_session *s, const struct plugins *all)
{
    struct jw w;

    s->plugins = (struct buf)BUF_INIT(PEER_MAX_OUT);
    s->plugin_errors = (struct buf)BUF_INIT(PEER_MAX_OUT);
    if (all->list.len) {
        jw_init(&w, &s->plugins, JW_CLEAN);
        plugins_write(all, &w);
    }
    if (all->problems.len) {
        jw_init(&w, &s->plugin_errors, JW_CLEAN);
        plugins_write_problems(all, &w);
    }
}

void peer_session_init(struct peer_session *s, struct host *host, struct slash *slash,
                       const struct stream_json_options *options)
{
    CLEANUP(buf_release) struct buf provider = BUF_INIT(1024);
    int64_t window;

    *s = (struct peer_session){
        .host = host,
        .slash = slash,
        .options = *options,
    };
    buf_init(&s->first_model, 1024);
    host_model(host, &provider, &s->first_model, &window);
    s->show.key_source = host_key_source(host);
    peer_session_list(s);
}

static void release_lists(struct peer_session *s)
{
    strv_release(&s->commands);
    strv_release(&s->skills);
    strv_release(&s->terminal);
    buf_release(&s->plugins);
    buf_release(&s->plugin_errors);
}

void peer_session_list(struct peer_session *s)
{
    release_lists(s);
    list_commands(s->slash, &s->commands, &s->skills, &s->terminal);
    list_plugins(s, plugins_get(host_conf(s->host)));
    s->show.commands = (const char *const *)strv_get(&s->commands);
    s->show.skills = (const char *const *)strv_get(&s->skills);
    s->show.terminal = (const char *const *)strv_get(&s->terminal);
    s->show.plugins = s->plugins.len ? buf_cstr(&s->plugins) : NULL;
    s->show.plugin_errors = s->plugin_errors.len ? buf_cstr(&s->plugin_errors) : NULL;
}

void peer_session_renew(struct peer_session *s, struct host *host, struct slash *slash)
{
    s->host = host;
    s->slash = slash;
    s->show.key_source = host_key_source(host);
}

void peer_session_release(struct peer_session *s)
{
    sdk_hooks_free(s->hooks);
    sdk_servers_free(s->servers);
    mailbox_unref(s->owner);
    buf_release(&s->first_model);
    map_release(&s->said);
    release_lists(s);
}

void peer_forward(struct peer *p)
{
    p->forwards = true;
    p->renderer.options.forward = true;
}

struct peer *peer_new(const struct peer_spec *spec)
{
    struct peer *p = mem_zalloc(sizeof(*p));

    p->spec = *spec;
    (void)id_make(p->asks, sizeof(p->asks), ASK_PREFIX, ASK_CHARS);
    p->asks[strlen(ASK_PREFIX) + ASK_CHARS] = '-';
    buf_init(&p->commands, PEER_MAX_OUT);
    stream_json_init(&p->renderer, &spec->session->options, &spec->session->show);
    return p;
}

void peer_free(struct peer *p)
{
    if (!p)
        return;
    observer_free(p->observer);
    ask_front_leave(p->front);
    vec_release(&p->asked);
    buf_release(&p->commands);
    stream_json_release(&p->renderer);
    mem_freep(&p);
}

static void peer_put(struct peer *p, struct str lines)
{
    CLEANUP(buf_release) struct buf escaped = BUF_INIT(BUF_NO_LIMIT);

    p->spec.send(p->spec.arg, line_escape_breaks(lines, &escaped) ? buf_str(&escaped) : lines);
}

static void peer_send(struct peer *p, struct buf *lines)
{
    if (!lines->len)
        return;
    secret_scrub(lines);
    peer_put(p, buf_str(lines));
}

void peer_complain(struct peer *p, const char *text)
{
    log_debug("proto", "%s", text);
    if (p->spec.complain)
        p->spec.complain(p->spec.arg, text);
}

/* ---- events ---- */

void peer_observe(struct peer *p, uint64_t from, unsigned flags)
{
    observer_free(p->observer);
    p->observer_flags = flags;
    p->observer = feed_observe(host_feed(p->spec.session->host), from, flags | OBSERVER_CHILDREN,
                               p->spec.mailbox);
    if (!p->spec.session->options.partial) /* an answer is written when its step holds */
        observer_wake_on(p->observer, ~PEER_PARTIAL);
}

void peer_leave(struct peer *p)
{
    p->was_asked = p->front;
    peer_stop_asks(p);
}

void peer_enter(struct peer *p)
{
    stream_json_release(&p->renderer);
    stream_json_init(&p->renderer, &p->spec.session->options, &p->spec.session->show);
    p->renderer.options.forward |= p->forwards;
    peer_observe(p, /*from=*/1, p->observer_flags);
    if (p->was_asked)
        peer_answer_asks(p);
}

void peer_say_reset(struct peer *p)
{
    CLEANUP(buf_release) struct buf line = BUF_INIT(1024);
    const char *session = host_session(p->spec.session->host);
    char uuid[ID_UUID_LEN + 1];
    char when[25];

    id_uuid(uuid);
    clock_iso(clock_wall_ms(), when);
    buf_addf(
        &line,
        "{\"type\":\"conversation_reset\",\"new_conversation_id\":\"%s\",\"trigger\":\"clear\","
        "\"timestamp\":\"%s\",\"session_id\":\"%s\",\"uuid\":\"%s\"}\n",
        session, when, session, uuid);
    peer_send(p, &line);
}

void peer_say_commands(struct peer *p, struct str commands, bool know)
{
    CLEANUP(buf_release) struct buf line = BUF_INIT(PEER_MAX_OUT);
    char uuid[ID_UUID_LEN + 1];

    if (!know && (!p->commands.len || str_eq(buf_str(&p->commands), commands)))
        return;
    buf_clear(&p->commands);
    buf_add(&p->commands, commands);
    if (know)
        return;
    id_uuid(uuid);
    buf_addf(&line,
             "{\"type\":\"system\",\"subtype\":\"commands_changed\",\"commands\":%.*s,"
             "\"session_id\":\"%s\",\"uuid\":\"%s\"}\n",
             STR_ARG(commands), host_session(p->spec.session->host), uuid);
    peer_send(p, &line);
}

/* Prompts of MCP servers are commands, and come and go while the session runs. */
static void peer_look_at_prompts(struct peer *p)
{
    CLEANUP(buf_release) struct buf commands = BUF_INIT(PEER_MAX_OUT);
    const struct mcp *m = host_mcp(p->spec.session->host);
    uint64_t version = m ? mcp_version(m) : 0;
    struct jw w;

    if (!p->commands.len || version == p->servers_version)
        return;
    p->servers_version = version;
    jw_init(&w, &commands, JW_CLEAN);
    control_write_commands(p->spec.session->slash, &w, /*skills_only=*/false);
    if (!commands.over)
        peer_say_commands(p, buf_str(&commands), /*know=*/false);
}

static void peer_say_gap(struct peer *p, const char *subtype, const char *member, uint64_t seq)
{
    CLEANUP(buf_release) struct buf line = BUF_INIT(1024);

    buf_addf(&line,
             "{\"type\":\"system\",\"subtype\":\"%s\",\"%s\":%" PRIu64 ",\"session_id\":\"%s\"}\n",
             subtype, member, seq, host_session(p->spec.session->host));
    peer_send(p, &line);
}

bool peer_pump(struct peer *p)
{
    CLEANUP(buf_release) struct buf lines = BUF_INIT(PEER_MAX_OUT);
    struct event *e = NULL;
    uint64_t seq = 0;

    if (!p->observer)
        return false;
    switch (observer_take(p->observer, &e, &seq)) {
    case OBSERVED_NOTHING:
        return false;
    case OBSERVED_GAP:
        peer_say_gap(p, "observer_gap", "next_seq", seq);
        return true;
    case OBSERVED_DROPPED:
        peer_say_gap(p, "observer_dropped", "last_seq", seq);
        observer_free(p->observer);
        p->observer = NULL;
        return false;
    case OBSERVED_EVENT:
        break;
    }
    if ((e->kind == EVENT_TURN_STARTED || e->kind == EVENT_TURN_DONE) && identity_is_main(&e->by))
        peer_look_at_prompts(p);
    stream_json_event(&p->renderer, e, &lines);
    if (e->kind == EVENT_TURN_DONE && identity_is_main(&e->by))
        p->last_is_error = turn_report_is_error(e->report);
    event_unref(e);
    if (lines.len)
        peer_put(p, buf_str(&lines)); /* the renderer has taken secrets out */
    return true;
}

bool peer_last_is_error(const struct peer *p)
{
    return p->last_is_error;
}

/* ---- asks ---- */

void peer_answer_asks(struct peer *p)
{
    if (p->front && !p->has_forms)
        return;
    ask_front_leave(p->front);
    p->has_forms = false;
    p->front = asks_join(host_asks(p->spec.session->host), p->spec.mailbox);
}

void peer_answer_forms(struct peer *p)
{
    if (p->front)
        return;
    p->has_forms = true;
    p->front = asks_join_forms(host_asks(p->spec.session->host), p->spec.mailbox);
}

/* False: it is not one that waits for this client's answer. */
static bool peer_forget_ask(struct peer *p, uint64_t id)
{
    for (size_t i = 0; i < p->asked.len; i++) {
        if (p->asked.ptr[i] == id) {
            p->asked.ptr[i] = p->asked.ptr[--p->asked.len];
            return true;
        }
    }
    return false;
}

static void peer_cancel_ask(struct peer *p, uint64_t id)
{
    CLEANUP(buf_release) struct buf line = BUF_INIT(1024);

    if (!peer_forget_ask(p, id)) /* taken back already */
        return;
    buf_addf(&line, "{\"type\":\"control_cancel_request\",\"request_id\":\"%s%" PRIu64 "\"}\n",
             p->asks, id);
    peer_send(p, &line);
}

void peer_stop_asks(struct peer *p)
{
    ask_front_leave(p->front);
    p->front = NULL;
    while (p->asked.len)
        peer_cancel_ask(p, p->asked.ptr[0]);
}

void peer_take_back_asks(struct peer *p)
{
    struct asks *asks = host_asks(p->spec.session->host);
    size_t i = 0;

    while (i < p->asked.len) {
        uint64_t id = p->asked.ptr[i];

        if (asks_is_waiting(asks, id))
            i++;
        else
            peer_cancel_ask(p, id);
    }
}

/* What the model says the call is for, where its tool asks for that. */
static void peer_write_description(struct jw *w, struct str input)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    const struct json *v = NULL;

    if (json_parse(&arena, input, &v, /*ret_info=*/NULL, /*err=*/NULL) == 0 &&
        json_get_str(v, "description").len)
        jw_kstr(w, "description", json_get_str(v, "description"));
}

/* A form of an MCP server. property_order: clients keep objects in an order of their own. */
static void peer_write_form(struct jw *w, const struct ask *ask)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    const struct json *form = NULL;

    if (json_parse(&arena, ask->input, &form, /*ret_info=*/NULL, /*err=*/NULL) < 0)
        form = NULL;
    jw_kcstr(w, "subtype", "elicitation");
    JSON_EACH(form, member) {
        jw_key_str(w, json_key(member));
        jw_json(w, member);
    }
    if (!json_get(form, "requested_schema"))
        return;
    jw_key(w, "property_order");
    jw_array(w);
    JSON_EACH(json_path(form, "requested_schema.properties"), p) {
        jw_str(w, json_key(p));
    }
    jw_array_end(w);
}

static void peer_write_question(struct jw *w, const struct ask *ask)
{
    jw_kcstr(w, "subtype", "can_use_tool");
    jw_kstr(w, "tool_name", ask->tool_name);
    jw_kraw(w, "input", ask->input.len ? ask->input : STR("{}"));
    jw_kstr(w, "display_name", ask->tool_name);
    peer_write_description(w, ask->input);
    if (ask->suggestions.len)
        jw_kraw(w, "permission_suggestions", ask->suggestions);
    if (ask->effects.len)
        jw_kraw(w, "effects", ask->effects);
    if (ask->blocked_path.len)
        jw_kstr(w, "blocked_path", ask->blocked_path);
    if (ask->reason.len)
        jw_kstr(w, "decision_reason", ask->reason);
    if (ask->reason_type)
        jw_kcstr(w, "decision_reason_type", ask->reason_type);
    if (ask->needs_person)
        jw_kbool(w, "requires_user_interaction", true);
    jw_kstr(w, "tool_use_id", ask->tool_use_id);
    if (!identity_is_main(&ask->by))
        jw_kcstr(w, "agent_id", ask->by.agent);
}

static void peer_show_ask(struct peer *p, const struct ask_mail *m)
{
    CLEANUP(buf_release) struct buf line = BUF_INIT(PEER_MAX_OUT);
    const struct ask *ask = m->ask;
    struct jw w;

    if (m->front != ask_front_number(p->front)) /* of a session that it has left */
        return;
    if (m->what == ASK_WITHDRAWN) {
        peer_cancel_ask(p, m->id);
        return;
    }
    vec_push(&p->asked, m->id);
    buf_addf(&line, "{\"type\":\"control_request\",\"request_id\":\"%s%" PRIu64 "\",", p->asks,
             m->id);
    if (p->spec.is_named && *p->spec.is_named)
        buf_addf(&line, "\"session_id\":\"%s\",", host_session(p->spec.session->host));
    buf_adds(&line, "\"request\":");
    jw_init(&w, &line, JW_CLEAN);
    jw_object(&w);
    if (ask->kind == ASK_ELICITATION)
        peer_write_form(&w, ask);
    else
        peer_write_question(&w, ask);
    jw_object_end(&w);
    buf_adds(&line, "}\n");
    peer_send(p, &line);
}

/* The answer to a form: {"action": "accept" | "decline" | "cancel", "content"?}. */
static bool peer_take_form(struct peer *p, uint64_t id, const struct json *answer)
{
    struct ask_answer a = ASK_ANSWER_INIT;
    struct jw w;

    a.allowed = str_is(json_get_str(answer, "action"), "accept");
    jw_init(&w, &a.input, 0);
    jw_object(&w);
    jw_kstr(&w, "action", json_get_str(answer, "action"));
    if (json_is(json_get(answer, "content"), JSON_OBJECT))
        jw_kjson(&w, "content", json_get(answer, "content"));
    jw_object_end(&w);
    if (a.input.over) {
        ask_answer_release(&a);
        return asks_fail(host_asks(p->spec.session->host), p->front, id,
                         STR("the answer is too long"));
    }
    return asks_answer(host_asks(p->spec.session->host), p->front, id, &a);
}

/* False: it comes too late. */
static bool peer_take_answer(struct peer *p, uint64_t id, const struct json *answer)
{
    struct asks *asks = host_asks(p->spec.session->host);
    struct ask_answer a = ASK_ANSWER_INIT;
    struct err err = {0};

    if (!json_get_str(answer, "behavior").len &&
        str_is_word_of(json_get_str(answer, "action"), "accept decline cancel"))
        return peer_take_form(p, id, answer);
    if (ask_answer_read(answer, &a, &err) < 0) {
        ask_answer_release(&a);
        return asks_fail(asks, p->front, id, str_of(err.text));
    }
    return asks_answer(asks, p->front, id, &a);
}

/* ---- lines ---- */

static void peer_response(struct peer *p, const struct json *response)
{
    struct str id = json_get_str(response, "request_id");
    bool failed = str_is(json_get_str(response, "subtype"), "error");
    struct str error = json_get_str(response, "error");
    const struct json *output = failed ? NULL : json_get(response, "response");
    struct sdk_hooks *hooks = p->spec.owner ? p->spec.session->hooks : NULL;
    int64_t number;

    if (str_starts(id, str_of(p->asks)) && p->front &&
        str_to_i64(str_from(id, strlen(p->asks)), &number, NULL) == 0) {
        bool counts =
            failed ? asks_fail(host_asks(p->spec.session->host), p->front, (uint64_t)number, error)
                   : peer_take_answer(p, (uint64_t)number, output);

        if (counts) /* a client that was too slow is still told that the question is over */
            peer_forget_ask(p, (uint64_t)number);
        return;
    }
    if (hooks && sdk_hooks_answer(hooks, id, output, failed ? error : STR("no response")))
        return;
    if (p->spec.owner && p->spec.session->servers &&
        sdk_servers_answer(p->spec.session->servers, id, output, error))
        return;
    log_debug("proto", "a response to nothing: %.*s", STR_ARG(str_clip(id, 100)));
}

static void peer_request(struct peer *p, const struct json *line)
{
    CLEANUP(buf_release) struct buf out = BUF_INIT(PEER_MAX_OUT);
    struct control_call call = {
        .session = p->spec.session,
        .peer = p,
        .owner = p->spec.owner,
        .looks_only = p->spec.looks_only,
        .mailbox = p->spec.mailbox,
        .request_id = json_get_str(line, "request_id"),
        .request = json_get(line, "request"),
    };

    control_answer(&call, &out);
    peer_send(p, &out);
}

/* Only content that a user can send: a client must not answer calls in the model's place. */
static int check_blocks(const struct message *m, struct err *err)
{
    bool says = false;

    if (m->role != ROLE_USER)
        return err_set(err, ERR_BAD_INPUT, "its role must be \"user\"");
    for (size_t i = 0; i < m->len; i++) {
        enum block_kind kind = m->blocks[i].kind;

        if (kind != BLOCK_TEXT && kind != BLOCK_IMAGE && kind != BLOCK_DOCUMENT &&
            kind != BLOCK_OTHER)
            return err_set(err, ERR_BAD_INPUT, "only text, images and documents can be sent");
        says = says || kind != BLOCK_TEXT || str_trim(m->blocks[i].text).len;
    }
    return says ? 0 : err_set(err, ERR_BAD_INPUT, "it says nothing");
}

static int peer_user(struct peer *p, const struct json *line, struct err *err)
{
    CLEANUP(message_unrefp) struct message *m = NULL;
    struct str uuid = json_get_str(line, "uuid");
    struct str priority = json_get_str(line, "priority");
    struct agent_input input = {.when = str_is(priority, "now")    ? INPUT_NOW
                                        : str_is(priority, "next") ? INPUT_NEXT
                                                                   : INPUT_LATER,
                                .no_query = !json_get_bool(line, "shouldQuery", true),
                                .is_literal = json_get_bool(line, "client_composed", false)};

    input.in_order = p->spec.owner && input.when == INPUT_LATER;
    if (p->spec.looks_only)
        return err_set(err, ERR_DENIED, CONTROL_LOOKS_ONLY);
    if (message_parse(json_get(line, "message"), &m, err) < 0 || check_blocks(m, err) < 0)
        return -1;
    if (id_is_uuid(uuid) && p->spec.owner && map_has(&p->spec.session->said, uuid))
        return 0; /* sent again, after a connection that broke */
    if (id_is_uuid(uuid) && p->spec.owner && p->spec.session->said.len < PEER_MAX_SAID)
        map_set(&p->spec.session->said, uuid, p);
    input.is_named = id_is_uuid(uuid);
    if (input.is_named) /* it names a line of the transcript, whose readers want one */
        memcpy(input.uuid, uuid.ptr, ID_UUID_LEN);
    else
        id_uuid(input.uuid);
    input.message = TAKE_PTR(m);
    return slash_send(p->spec.session->slash, &input, err);
}

/* A client that has sent a prompt waits for a result, and some wait before they end the input: so
 * it gets one for a rejected prompt, too, or both sides would wait indefinitely. */
static void peer_leave_out(struct peer *p, bool is_waited_for, const char *text)
{
    peer_complain(p, text);
    if (p->spec.owner && is_waited_for)
        slash_refuse(p->spec.session->slash, str_of(text));
}

static void peer_parsed(struct peer *p, const struct json *line)
{
    struct str type = json_get_str(line, "type");
    struct err err = {0};

    if (str_is(type, "user")) {
        if (peer_user(p, line, &err) < 0) {
            err_prefix(&err, "user message left out");
            peer_leave_out(p, json_get_bool(line, "shouldQuery", true), err.text);
        }
    } else if (str_is(type, "control_request")) {
        peer_request(p, line);
    } else if (str_is(type, "control_response")) {
        peer_response(p, json_get(line, "response"));
    } else if (!str_is(type, "keep_alive") && !str_is(type, "control_cancel_request")) {
        /* Requests are answered before the next line is read: there is never one to cancel. */
        err_set(&err, ERR_BAD_INPUT, "input line left out: its type \"%.*s\" means nothing here",
                STR_ARG(str_clip(type, 60)));
        peer_complain(p, err.text);
    }
}

void peer_line(struct peer *p, struct str line)
{
    struct arena arena = ARENA_INIT;
    const struct json *v = NULL;
    struct err err = {0};

    if (!line.ptr) {
        /* Nothing but a message is so long. */
        peer_leave_out(p, /*is_waited_for=*/true, "input line left out: it is too long");
        return;
    }
    if (!str_trim(line).len)
        return;
    if (json_parse(&arena, line, &v, NULL, &err) < 0 || !json_is(v, JSON_OBJECT)) {
        if (v)
            err_set(&err, ERR_BAD_INPUT, "not an object");
        err_prefix(&err, "input line left out: it is not JSON");
        peer_complain(p, err.text);
    } else {
        peer_parsed(p, v);
    }
    arena_release(&arena);
}

bool peer_is_withdrawal(const struct mail *m)
{
    return m->kind == &ask_mail_kind && ((const struct ask_mail *)m)->what == ASK_WITHDRAWN;
}

void peer_hear(struct peer *p, struct mail *m)
{
    if (m->kind == &line_mail_kind)
        peer_send(p, &((struct line_mail *)m)->line);
    else if (m->kind == &ask_mail_kind)
        peer_show_ask(p, (struct ask_mail *)m);
}

void peer_mail(struct peer *p, struct mail *m)
{
    peer_hear(p, m);
    mail_free(m);
}

void peer_ended(struct peer *p)
{
    peer_stop_asks(p);
    if (p->spec.owner && p->spec.session->hooks)
        sdk_hooks_close(p->spec.session->hooks);
    if (p->spec.owner && p->spec.session->servers)
        sdk_servers_close(p->spec.session->servers);
}
