/*
 * mail: messages between members of a team. A letter is in its inbox before its sender gets the
 * confirmation, and is marked as read when it is in its receiver's queue. One thread at a time
 * delivers.
 *
 * A text that is a JSON object with a known "type" is a payload. Types that would grant something
 * (permission_response, plan_approval_response, …) are never accepted from a file, because any
 * process could have written it.
 */
#include <inttypes.h>
#include <string.h>

#include "agent/tool.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "base/identity.h"
#include "base/log.h"
#include "base/test_switch.h"
#include "guard/permit.h"
#include "json/json.h"
#include "json/jw.h"
#include "sync/cancel.h"
#include "tasks/team/board.h"
#include "tasks/team/team_state.h"

enum payload_flags {
    PAYLOAD_FILE = 1, /* may be in an inbox */
    PAYLOAD_LEAD = 2, /* only from the lead */
    PAYLOAD_MATE = 4, /* to members */
};

static const struct {
    const char *type;
    unsigned flags;
} payloads[] = {
    {"task_assignment", PAYLOAD_FILE | PAYLOAD_MATE},
    {"idle_notification", PAYLOAD_FILE},
    {"shutdown_request", PAYLOAD_FILE | PAYLOAD_LEAD | PAYLOAD_MATE},
    {"shutdown_approved", PAYLOAD_FILE},
    {"shutdown_rejected", PAYLOAD_FILE},
    {"permission_request", 0},
    {"permission_response", 0},
    {"sandbox_permission_request", 0},
    {"sandbox_permission_response", 0},
    {"plan_approval_request", 0},
    {"plan_approval_response", 0},
    {"mode_set_request", 0},
    {"team_permission_update", 0},
};

struct str mail_type(struct str text, struct arena *arena, const struct json **ret)
{
    const struct json *v = NULL;
    struct str type;

    text = str_trim(text);
    if (!str_starts(text, STR("{")) || json_parse_copy(arena, text, &v, NULL, NULL) < 0)
        return (struct str){0};
    type = json_get_str(v, "type");
    for (size_t i = 0; i < ARRAY_LEN(payloads); i++) {
        if (str_is(type, payloads[i].type)) {
            if (ret)
                *ret = v;
            return type;
        }
    }
    return (struct str){0};
}

bool mail_may_be_taken(const struct letter *l, bool by_lead)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    struct str type = mail_type(l->text, &arena, /*ret=*/NULL);
    unsigned wants = PAYLOAD_FILE | (by_lead ? 0 : PAYLOAD_MATE);

    for (size_t i = 0; type.len && i < ARRAY_LEN(payloads); i++) {
        if (!str_is(type, payloads[i].type))
            continue;
        if ((payloads[i].flags & wants) == wants &&
            (!(payloads[i].flags & PAYLOAD_LEAD) || str_is(l->from, TEAM_LEAD)))
            return true;
        log_debug("team", "dropped a %.*s of %.*s that was in an inbox", STR_ARG(type),
                  STR_ARG(str_clip(l->from, ROSTER_MAX_NAME)));
        return false;
    }
    return true;
}

/* ---- For the model ---- */

/* Escapes text that would open or close one of our elements. */
static void add_defused(struct buf *to, struct str text)
{
    static const char *const ours[] = {"teammate-message", "system-reminder", "task-notification"};

    for (size_t i = 0; i < text.len; i++) {
        struct str rest = str_from(text, i + 1);
        bool is_ours = false;

        if (str_starts(rest, STR("/")))
            rest = str_from(rest, 1);
        for (size_t k = 0; text.ptr[i] == '<' && k < ARRAY_LEN(ours); k++)
            is_ours = is_ours || str_eq_nocase(str_first(rest, strlen(ours[k])), str_of(ours[k]));
        if (is_ours)
            buf_adds(to, "&lt;");
        else
            buf_addc(to, text.ptr[i]);
    }
}

static void add_attribute(struct buf *to, const char *name, struct str value)
{
    if (!value.len)
        return;
    buf_addf(to, " %s=\"", name);
    for (size_t i = 0; i < value.len; i++) {
        unsigned char c = (unsigned char)value.ptr[i];

        buf_addc(to, c == '"' ? '\'' : c < ' ' || c == '<' || c == '>' ? ' ' : (char)c);
    }
    buf_addc(to, '"');
}

void mail_write(const struct letter *l, struct buf *ret)
{
    buf_adds(ret, "<teammate-message");
    add_attribute(ret, "teammate_id", l->from);
    add_attribute(ret, "color", l->color);
    add_attribute(ret, "summary", l->summary);
    buf_adds(ret, ">\n");
    add_defused(ret, l->text);
    buf_adds(ret, "\n</teammate-message>");
}

/* ---- Sending ---- */

int mail_put(struct team *t, struct str from, struct str to, struct str text, struct str summary,
             struct cancel *cancel, char ret_id[static ID_UUID_LEN + 1], struct err *err)
{
    const char *folder = team_folder(t);
    struct mate *sender = team_mate(t, from);
    struct mate *receiver = team_mate(t, to);
    struct letter l = {
        .from = from,
        .text = text,
        .summary = summary,
        .color = str_of(sender ? sender->color : ""),
    };

    if (!folder)
        return err_set(err, ERR_NOT_FOUND, "the team does not exist any more");
    if (inbox_put(folder, to, &l, cancel, ret_id, err) < 0)
        return -1;
    if (str_is(to, TEAM_LEAD)) {
        if (sender) {
            gate_take(&t->gate);
            sender->told_lead = true;
            gate_give(&t->gate);
        }
        mail_pump_lead(t);
    } else if (receiver) {
        mate_pump(receiver);
    }
    return 0;
}

int team_assign(struct team *t, const struct work_item *item, struct str by, struct cancel *cancel,
                struct err *err)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(BUF_NO_LIMIT);
    char id[ID_UUID_LEN + 1];
    char number[24];
    char now[32];
    struct jw w;

    if (!by.len || str_eq(item->owner, by) || str_is(item->owner, TEAM_LEAD))
        return 0;
    snprintf(number, sizeof(number), "%" PRId64, item->id);
    clock_iso(clock_wall_ms(), now);
    jw_init(&w, &text, 0);
    jw_object(&w);
    jw_kcstr(&w, "type", "task_assignment");
    jw_kcstr(&w, "taskId", number);
    jw_kstr(&w, "subject", item->subject);
    jw_kstr(&w, "description", str_clip(item->description, INBOX_MAX_TEXT / 4));
    jw_kstr(&w, "assignedBy", by);
    jw_kcstr(&w, "timestamp", now);
    jw_object_end(&w);
    return mail_put(t, by, item->owner, buf_str(&text), (struct str){0}, cancel, id, err);
}

/* "shutdown-MS@NAME"; in tests the time is 1. */
static void make_request(const struct mate *m, const char *what, char ret[static REQUEST_MAX])
{
    int64_t ms = test_switch("TENAX_TEST_IDS") ? 1 : clock_wall_ms();

    snprintf(ret, REQUEST_MAX, "%s-%" PRId64 "@%.64s", what, ms, m->name);
}

int mail_request_end(struct team *t, struct mate *m, struct str reason, struct cancel *cancel,
                     struct err *err)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(BUF_NO_LIMIT);
    char request[sizeof(m->request)];
    char id[ID_UUID_LEN + 1];
    char now[32];
    struct jw w;

    make_request(m, "shutdown", request);
    gate_take(&t->gate);
    memcpy(m->request, request, sizeof(request));
    gate_give(&t->gate);
    clock_iso(clock_wall_ms(), now);
    jw_init(&w, &text, 0);
    jw_object(&w);
    jw_kcstr(&w, "type", "shutdown_request");
    jw_kcstr(&w, "requestId", request);
    jw_kcstr(&w, "from", TEAM_LEAD);
    if (reason.len)
        jw_kstr(&w, "reason", reason);
    jw_kcstr(&w, "timestamp", now);
    jw_object_end(&w);
    return mail_put(t, STR(TEAM_LEAD), str_of(m->name), buf_str(&text), (struct str){0}, cancel, id,
                    err);
}

/* ---- Plans ---- */

static void write_plan(struct mate *m, const char *path, struct str plan, const char *request,
                       struct buf *ret)
{
    char now[32];
    struct jw w;

    clock_iso(clock_wall_ms(), now);
    jw_init(&w, ret, 0);
    jw_object(&w);
    jw_kcstr(&w, "type", "plan_approval_request");
    jw_kcstr(&w, "from", m->name);
    jw_kcstr(&w, "timestamp", now);
    jw_kcstr(&w, "planFilePath", path);
    jw_kstr(&w, "planContent", plan);
    jw_kcstr(&w, "requestId", request);
    jw_object_end(&w);
}

static void plan_poke(void *arg)
{
    struct team *t = arg;

    gate_take(&t->gate);
    gate_wake(&t->gate);
    gate_give(&t->gate);
}

/* Until the lead has answered, the call is cancelled, or the member is to end. */
static bool plan_await(struct mate *m, struct cancel *cancel)
{
    struct team *t = m->team;
    struct cancel_hook *hook = cancel ? cancel_on(cancel, plan_poke, t) : NULL;
    bool is_answered;

    gate_take(&t->gate);
    while (!m->plan_is_answered && !m->is_leaving && m->state != MATE_GONE && !t->is_over &&
           !cancel_is_set(cancel))
        gate_wait(&t->gate, /*deadline_ms=*/-1);
    is_answered = m->plan_is_answered;
    m->plan[0] = '\0';
    gate_give(&t->gate);
    cancel_off(hook);
    return is_answered;
}

int mail_ask_plan(struct mate *m, const struct ask *ask, struct cancel *cancel,
                  struct ask_answer *ret, struct err *err)
{
    struct team *t = m->team;
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    CLEANUP(buf_release) struct buf path = BUF_INIT(BUF_NO_LIMIT);
    CLEANUP(buf_release) struct buf json = BUF_INIT(BUF_NO_LIMIT);
    CLEANUP(buf_release) struct buf text = BUF_INIT(BUF_NO_LIMIT);
    const char *folder = team_folder(t);
    const struct json *input = NULL;
    struct letter l = {.from = str_of(m->name), .color = str_of(m->color)};
    char request[sizeof(m->plan)];
    struct str plan;

    if (!folder || json_parse(&arena, ask->input, &input, /*ret_info=*/NULL, err) < 0)
        return err_set(err, ERR_UNSUPPORTED, "the team does not exist any more");
    plan = json_get_str(input, "plan");
    buf_addf(&path, "%s/plans", folder);
    (void)file_mkdirs(buf_cstr(&path), 0700, /*err=*/NULL);
    buf_addf(&path, "/%s.md", m->name);
    (void)file_replace(buf_cstr(&path), plan, 0600, /*err=*/NULL);
    make_request(m, "plan_approval", request);
    gate_take(&t->gate);
    memcpy(m->plan, request, sizeof(request));
    m->plan_is_answered = m->plan_is_approved = false;
    mem_freep(&m->plan_words);
    m->told_lead = true;
    gate_give(&t->gate);
    write_plan(m, buf_cstr(&path), plan, request, &json);
    l.text = buf_str(&json);
    buf_adds(&text, "A member has a plan. Answer with SendMessage to it: {\"type\": "
                    "\"plan_approval_response\", \"request_id\": its requestId, \"approve\": true "
                    "or false, \"feedback\": …}.\n");
    mail_write(&l, &text);
    t->spec.tell_lead(t->spec.arg, buf_str(&text));
    if (!plan_await(m, cancel))
        return err_set(err, ERR_CANCELLED, "the lead has not answered");
    gate_take(&t->gate);
    ret->allowed = m->plan_is_approved;
    buf_addf(&ret->message, ret->allowed ? TEAM_LEAD " approved the plan." : TEAM_LEAD " says: ");
    if (m->plan_words)
        buf_addf(&ret->message, "%s%s", ret->allowed ? " " : "", m->plan_words);
    gate_give(&t->gate);
    return 0;
}

/* ---- The lead's mail ---- */

static void lead_read(struct team *t)
{
    CLEANUP(letters_release) struct letters letters = LETTERS_INIT;
    CLEANUP(buf_release) struct buf text = BUF_INIT(BUF_NO_LIMIT);
    const char *folder = team_folder(t);
    struct err err = {0};

    if (!folder || inbox_look(folder, STR(TEAM_LEAD), &letters, /*err=*/NULL) < 0)
        return;
    VEC_EACH(&letters.list, l) {
        CLEANUP(arena_release) struct arena arena = ARENA_INIT;

        if (!mail_may_be_taken(l, /*by_lead=*/true) ||
            str_is(mail_type(l->text, &arena, /*ret=*/NULL), "shutdown_approved"))
            continue; /* the member has left, as its row records */
        if (!text.len)
            buf_adds(&text, "From agents of your team, not from your user: no approval.\n");
        mail_write(l, &text);
        buf_addc(&text, '\n');
    }
    if (text.len)
        t->spec.tell_lead(t->spec.arg, str_trim(buf_str(&text)));
    if (inbox_mark(folder, STR(TEAM_LEAD), &letters, /*cancel=*/NULL, &err) < 0)
        log_debug("team", "cannot mark the lead's messages: %s", err.text);
}

void mail_pump_lead(struct team *t)
{
    bool again;

    gate_take(&t->gate);
    again = !t->lead_pumping;
    t->lead_again = !again;
    t->lead_pumping = true;
    gate_give(&t->gate);
    while (again) {
        lead_read(t);
        gate_take(&t->gate);
        again = t->lead_again;
        t->lead_again = false;
        t->lead_pumping = again;
        gate_give(&t->gate);
    }
}

/* ---- SendMessage ---- */

static void write_sent(struct team *t, struct str from, struct str to, struct str summary,
                       struct str text, const char *id, struct tool_result *ret)
{
    struct mate *sender = team_mate(t, from);
    struct jw w;

    buf_addf(&ret->text, "Message sent to %.*s's inbox", STR_ARG(to));
    jw_init(&w, &ret->data, 0);
    jw_object(&w);
    jw_kbool(&w, "success", true);
    jw_kstr(&w, "message", buf_str(&ret->text));
    jw_kcstr(&w, "msg_id", id);
    jw_key(&w, "routing");
    jw_object(&w);
    jw_kstr(&w, "sender", from);
    if (sender)
        jw_kcstr(&w, "senderColor", sender->color);
    jw_key(&w, "target");
    jw_str_begin(&w);
    jw_str_part(&w, STR("@"));
    jw_str_part(&w, to);
    jw_str_end(&w);
    jw_kstr(&w, "summary", summary);
    jw_kstr(&w, "content", text);
    jw_object_end(&w);
    jw_object_end(&w);
}

static int refuse(struct tool_result *ret, const char *why)
{
    struct jw w;

    jw_init(&w, &ret->data, 0);
    jw_object(&w);
    jw_kbool(&w, "success", false);
    jw_kcstr(&w, "message", why);
    jw_object_end(&w);
    buf_adds(&ret->text, why);
    ret->is_error = true;
    return 1;
}

struct to_all {
    struct team *team;
    struct str from, text, summary;
    struct cancel *cancel;
    size_t sent;
    char id[ID_UUID_LEN + 1];
    struct err err;
};

static void send_one(void *arg, const struct mate_row *row)
{
    struct to_all *all = arg;

    if (!all->err.code && !str_is(all->from, row->name) &&
        mail_put(all->team, all->from, str_of(row->name), all->text, all->summary, all->cancel,
                 all->id, &all->err) == 0)
        all->sent++;
}

static int send_all(struct to_all *all, struct tool_result *ret)
{
    team_each(all->team, send_one, all);
    if (!all->err.code && !str_is(all->from, TEAM_LEAD) &&
        mail_put(all->team, all->from, STR(TEAM_LEAD), all->text, all->summary, all->cancel,
                 all->id, &all->err) == 0)
        all->sent++;
    if (all->err.code)
        return refuse(ret, all->err.text);
    if (!all->sent)
        return refuse(ret, "the team has no other active member");
    write_sent(all->team, all->from, STR("*"), all->summary, all->text, all->id, ret);
    return 1;
}

/* A member's answer to a shutdown_request. */
static int answer_end(struct team *t, struct str from, const struct json *v, struct cancel *cancel,
                      struct tool_result *ret, struct err *err)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(BUF_NO_LIMIT);
    struct mate *m = team_mate(t, from);
    struct str request = json_get_str(v, "request_id");
    bool approve = json_get_bool(v, "approve", false);
    char id[ID_UUID_LEN + 1];
    char now[32];
    bool is_asked;
    struct jw w;

    if (!m)
        return refuse(ret, "only a member answers a shutdown_request");
    gate_take(&t->gate);
    is_asked = m->request[0] && str_is(request, m->request);
    if (is_asked)
        m->request[0] = '\0';
    if (is_asked && approve)
        m->state = MATE_STOPPING;
    gate_give(&t->gate);
    if (!is_asked)
        return refuse(ret, "there is no open shutdown_request with this request_id");
    clock_iso(clock_wall_ms(), now);
    jw_init(&w, &text, 0);
    jw_object(&w);
    jw_kcstr(&w, "type", approve ? "shutdown_approved" : "shutdown_rejected");
    jw_kstr(&w, "requestId", request);
    jw_kstr(&w, "from", from);
    if (!approve)
        jw_kstr(&w, "reason", json_get_str(v, "reason"));
    jw_kcstr(&w, "timestamp", now);
    if (approve) {
        jw_kcstr(&w, "paneId", "in-process");
        jw_kcstr(&w, "backendType", "in-process");
    }
    jw_object_end(&w);
    if (mail_put(t, from, STR(TEAM_LEAD), buf_str(&text), (struct str){0}, cancel, id, err) < 0)
        return -1;
    write_sent(t, from, STR(TEAM_LEAD), (struct str){0}, buf_str(&text), id, ret);
    ret->ends_turn = approve;
    return 1;
}

/* The lead's answer to a member's plan. */
static int answer_plan(struct team *t, struct str from, struct str to, const struct json *v,
                       struct tool_result *ret, struct err *err)
{
    struct mate *m = team_mate(t, to);
    struct str feedback = json_get_str(v, "feedback");
    bool approve = json_get_bool(v, "approve", false);
    bool is_asked;

    if (!str_is(from, TEAM_LEAD) || !m)
        return refuse(ret, "only the lead answers a plan, and to the member who made it");
    gate_take(&t->gate);
    is_asked = m->plan[0] && str_is(json_get_str(v, "request_id"), m->plan);
    gate_give(&t->gate);
    if (!is_asked)
        return refuse(ret, "there is no open plan_approval_request with this request_id");
    if (approve && t->spec.spawner->set_mode(t->spec.spawner, m->id, /*mode=*/STR(""), err) < 0)
        return -1; /* its own mode was for the plan alone: it has the lead's again */
    gate_take(&t->gate);
    m->plan_is_answered = true;
    m->plan_is_approved = approve;
    if (approve)
        m->mode = NULL;
    m->plan_words = feedback.len ? mem_dup(feedback.ptr, feedback.len) : NULL;
    gate_wake(&t->gate);
    gate_give(&t->gate);
    write_sent(t, from, to, (struct str){0}, json_raw(v), /*id=*/"", ret);
    return 1;
}

/* A name, or the id of a member's task. */
static struct str addressee(struct team *t, struct str to)
{
    struct mate *m;

    if (str_is(to, "main"))
        return STR(TEAM_LEAD);
    m = team_mate_of_task(t, to);
    return m ? str_of(m->name) : to;
}

/* A message that is an object is one of three, and complete. */
static int check_object(const struct json *message, struct arena *arena, struct err *err)
{
    struct str type = json_get_str(message, "type");
    bool is_answer = str_is(type, "shutdown_response") || str_is(type, "plan_approval_response");

    if (!is_answer && !mail_type(json_raw(message), arena, /*ret=*/NULL).len)
        return err_set(err, ERR_BAD_INPUT,
                       "a message that is an object has a type that the team knows: "
                       "shutdown_request, shutdown_response, plan_approval_response; %s",
                       type.len ? "this one has another" : "\"type\" is missing");
    if (is_answer && !json_get_str(message, "request_id").len)
        return err_set(err, ERR_BAD_INPUT, "\"request_id\" is missing: the id of the request");
    if (is_answer && !json_is(json_get(message, "approve"), JSON_BOOL))
        return err_set(err, ERR_BAD_INPUT, "\"approve\" is missing: true or false");
    return 0;
}

int team_send(struct team *t, const struct identity *from, struct str to,
              const struct json *message, struct str summary, struct cancel *cancel,
              struct tool_result *ret, struct buf *ret_text, struct err *err)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    CLEANUP(roster_release) struct roster r = ROSTER_INIT;
    const struct member *cut_off;
    CLEANUP(buf_release) struct buf why = BUF_INIT(BUF_NO_LIMIT);
    struct str sender = team_actor(t, from, &arena);
    bool is_object = json_is(message, JSON_OBJECT);
    struct str text = is_object ? json_raw(message) : json_str(message);
    const struct json *v = NULL;
    struct str type;
    char id[ID_UUID_LEN + 1];
    struct err full = {0};
    struct err missing = {0};

    if (!sender.len)
        return 0;
    to = addressee(t, to);
    if (str_is(sender, TEAM_LEAD) && str_is(to, TEAM_LEAD))
        return refuse(ret, "that is you");
    if (!str_is(to, "*") && team_find(t, to) == TEAM_UNKNOWN)
        return 0;
    type = mail_type(text, &arena, &v);
    if (is_object && check_object(message, &arena, &missing) < 0)
        return refuse(ret, missing.text);
    if (is_object && !v)
        v = message;
    if (str_is(json_get_str(v, "type"), "shutdown_response") ||
        (is_object && str_is(json_get_str(message, "type"), "shutdown_response")))
        return answer_end(t, sender, is_object ? message : v, cancel, ret, err);
    if (str_is(type, "plan_approval_response"))
        return answer_plan(t, sender, to, v, ret, err);
    if (str_is(to, "*")) {
        struct to_all all = {t, sender, text, summary, cancel, 0, "", {0}};

        return type.len ? refuse(ret, "an object goes to one member") : send_all(&all, ret);
    }
    if (!type.len && team_was_cut_off(t, to, &r, &cut_off)) {
        struct letter l = {.from = sender, .text = text, .summary = summary};

        mail_write(&l, ret_text);
        return 2;
    }
    if (team_find(t, to) == TEAM_GONE) {
        team_explain_missing(t, to, &why);
        return refuse(ret, buf_cstr(&why));
    }
    if (str_is(type, "shutdown_request")) {
        if (!str_is(sender, TEAM_LEAD))
            return refuse(ret, "only the lead asks members to end");
        if (team_ask_to_end(t, to, json_get_str(v, "reason"), cancel, err) < 0)
            return -1;
        write_sent(t, sender, to, (struct str){0}, text, /*id=*/"", ret);
        return 1;
    }
    if (type.len)
        return refuse(ret, "this type of message is not sent by hand");
    if (!summary.len) {
        struct str rest = text;

        (void)str_cut(&rest, '\n', &summary);
        summary = str_clip(summary, 200);
    }
    if (mail_put(t, sender, to, text, summary, cancel, id, &full) < 0) {
        if (full.code != ERR_TOO_BIG) {
            *err = full;
            return -1;
        }
        return refuse(ret, full.text);
    }
    write_sent(t, sender, to, summary, text, id, ret);
    return 1;
}
