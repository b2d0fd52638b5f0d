/*
 * hook: interprets the JSON output of handlers for each event, and merges several outputs.
 *
 * An output is read and checked as a whole before any of it takes effect, so that an invalid one
 * changes nothing. Any thread; an outcome belongs to one thread at a time.
 */
#include "agent/hook.h"

#include "base/err.h"
#include "base/file.h"
#include "base/secret.h"
#include "guard/workspace.h"
#include "json/json.h"
#include "json/jw.h"

static const char *const event_names[] = {
#define X(id, name) [HOOK_##id] = name,
    HOOK_EVENTS(X)
#undef X
};

const char *hook_event_name(enum hook_event e)
{
    return event_names[e];
}

bool hook_event_parse(struct str name, enum hook_event *ret)
{
    for (size_t i = 0; i < HOOK_EVENT_COUNT; i++) {
        if (str_is(name, event_names[i])) {
            *ret = (enum hook_event)i;
            return true;
        }
    }
    return false;
}

void hook_outcome_release(struct hook_outcome *o)
{
    buf_release(&o->reason);
    buf_release(&o->stop_reason);
    buf_release(&o->context);
    buf_release(&o->message);
    buf_release(&o->terminal);
    buf_release(&o->input);
    buf_release(&o->output);
    buf_release(&o->permissions);
    buf_release(&o->form);
    buf_release(&o->title);
    buf_release(&o->first);
    buf_release(&o->shell);
    strv_release(&o->watch);
    arena_release(&o->arena);
}

/* --- reading -------------------------------------------------------------------------------- */

/* The parsed output of one handler. */
struct said {
    enum hook_decision decision;
    bool stop;
    bool interrupt;
    struct str reason;
    struct str stop_reason;
    struct str context;
    struct str message;
    struct str terminal;
    const struct json *input;
    const struct json *output;
    const struct json *permissions;
    struct str action;
    const struct json *content;
    bool retry;
    bool hides_prompt;
    struct str title;
    struct str first;
    const struct json *watch;
};

/* Reads a member; leaves *ret unchanged if it is missing. */
static int take(const struct json *o, const char *key, enum json_type type, const struct json **ret,
                struct err *err)
{
    const struct json *v = json_get(o, key);

    if (!v || json_is(v, JSON_NULL))
        return 0;
    if (!json_is(v, type))
        return err_set(err, ERR_BAD_INPUT, "'%s' must be of type %s, not %s", key,
                       json_type_name(type), json_type_name(json_type(v)));
    *ret = v;
    return 0;
}

static int take_str(const struct json *o, const char *key, struct str *ret, struct err *err)
{
    const struct json *v = NULL;

    if (take(o, key, JSON_STRING, &v, err) < 0)
        return -1;
    if (v)
        *ret = json_str(v);
    return 0;
}

static int take_bool(const struct json *o, const char *key, bool *ret, struct err *err)
{
    const struct json *v = NULL;

    if (take(o, key, JSON_BOOL, &v, err) < 0)
        return -1;
    if (v)
        *ret = json_bool(v, false);
    return 0;
}

/* Events for which "decision": "block" means no. */
static bool event_blocks(enum hook_event e)
{
    return e == HOOK_USER_PROMPT_SUBMIT || e == HOOK_USER_PROMPT_EXPANSION ||
           e == HOOK_POST_TOOL_USE || e == HOOK_POST_TOOL_USE_FAILURE ||
           e == HOOK_POST_TOOL_BATCH || e == HOOK_STOP || e == HOOK_SUBAGENT_STOP ||
           e == HOOK_PRE_COMPACT || e == HOOK_PRE_TOOL_USE || e == HOOK_CONFIG_CHANGE ||
           e == HOOK_TASK_CREATED;
}

/* The top-level fields, common to all events. */
static int said_common(struct said *s, enum hook_event event, const struct json *output,
                       struct err *err)
{
    struct str decision = {0};
    bool goes_on = true;

    if (take_bool(output, "continue", &goes_on, err) < 0 ||
        take_str(output, "stopReason", &s->stop_reason, err) < 0 ||
        take_str(output, "systemMessage", &s->message, err) < 0 ||
        take_str(output, "terminalSequence", &s->terminal, err) < 0 ||
        take_str(output, "decision", &decision, err) < 0 ||
        take_str(output, "reason", &s->reason, err) < 0)
        return -1;
    s->stop = !goes_on;
    if (decision.len && !str_is(decision, "block") && !str_is(decision, "approve"))
        return err_set(err, ERR_BAD_INPUT, "'decision' must be block or approve, not '%.*s'",
                       STR_ARG(str_clip(decision, 100)));
    if (str_is(decision, "block") && event_blocks(event))
        s->decision = HOOK_DENY;
    else if (str_is(decision, "approve") && event == HOOK_PRE_TOOL_USE)
        s->decision = HOOK_ALLOW;
    return 0;
}

static int said_pre_tool_use(struct said *s, const struct json *specific, struct err *err)
{
    struct str decision = {0};

    if (take_str(specific, "permissionDecision", &decision, err) < 0 ||
        take_str(specific, "permissionDecisionReason", &s->reason, err) < 0 ||
        take(specific, "updatedInput", JSON_OBJECT, &s->input, err) < 0)
        return -1;
    if (!decision.len)
        return 0;
    if (str_is(decision, "allow"))
        s->decision = HOOK_ALLOW;
    else if (str_is(decision, "deny"))
        s->decision = HOOK_DENY;
    else if (str_is(decision, "ask"))
        s->decision = HOOK_ASK;
    else if (str_is(decision, "defer"))
        s->decision = HOOK_DEFER;
    else
        return err_set(err, ERR_BAD_INPUT,
                       "'permissionDecision' must be allow, deny, ask or defer, not '%.*s'",
                       STR_ARG(str_clip(decision, 100)));
    return 0;
}

static int said_permission_request(struct said *s, const struct json *specific, struct err *err)
{
    const struct json *decision = NULL;
    struct str behavior = {0};

    if (take(specific, "decision", JSON_OBJECT, &decision, err) < 0)
        return -1;
    if (!decision)
        return 0;
    if (take_str(decision, "behavior", &behavior, err) < 0 ||
        take_str(decision, "message", &s->reason, err) < 0 ||
        take_bool(decision, "interrupt", &s->interrupt, err) < 0 ||
        take(decision, "updatedInput", JSON_OBJECT, &s->input, err) < 0 ||
        take(decision, "updatedPermissions", JSON_ARRAY, &s->permissions, err) < 0)
        return -1;
    if (str_is(behavior, "allow"))
        s->decision = HOOK_ALLOW;
    else if (str_is(behavior, "deny"))
        s->decision = HOOK_DENY;
    else
        return err_set(err, ERR_BAD_INPUT, "'behavior' must be allow or deny, not '%.*s'",
                       STR_ARG(str_clip(behavior, 100)));
    return 0;
}

static int said_form(struct said *s, const struct json *specific, struct err *err)
{
    if (take_str(specific, "action", &s->action, err) < 0 ||
        take(specific, "content", JSON_OBJECT, &s->content, err) < 0)
        return -1;
    if (s->action.len && !str_is_word_of(s->action, "accept decline cancel"))
        return err_set(err, ERR_BAD_INPUT, "'action' must be accept, decline or cancel, not '%.*s'",
                       STR_ARG(str_clip(s->action, 100)));
    return 0;
}

static int said_session_start(struct said *s, const struct json *specific, struct err *err)
{
    bool reload = false;

    /* The last one is accepted but has no effect: skills are read when they are used. */
    if (take_str(specific, "initialUserMessage", &s->first, err) < 0 ||
        take_str(specific, "sessionTitle", &s->title, err) < 0 ||
        take(specific, "watchPaths", JSON_ARRAY, &s->watch, err) < 0 ||
        take_bool(specific, "reloadSkills", &reload, err) < 0)
        return -1;
    return 0;
}

static int said_specific(struct said *s, enum hook_event event, const struct json *specific,
                         struct err *err)
{
    struct str name = {0};

    if (take_str(specific, "hookEventName", &name, err) < 0)
        return -1;
    if (!str_is(name, hook_event_name(event)))
        return err_set(err, ERR_BAD_INPUT, "'hookEventName' must be %s, not '%.*s'",
                       hook_event_name(event), STR_ARG(str_clip(name, 100)));
    if (take_str(specific, "additionalContext", &s->context, err) < 0)
        return -1;
    switch (event) {
    case HOOK_PRE_TOOL_USE:
        return said_pre_tool_use(s, specific, err);
    case HOOK_PERMISSION_REQUEST:
        return said_permission_request(s, specific, err);
    case HOOK_PERMISSION_DENIED:
        return take_bool(specific, "retry", &s->retry, err);
    case HOOK_ELICITATION:
    case HOOK_ELICITATION_RESULT:
        return said_form(s, specific, err);
    case HOOK_SESSION_START:
        return said_session_start(s, specific, err);
    case HOOK_CWD_CHANGED:
    case HOOK_FILE_CHANGED:
        return take(specific, "watchPaths", JSON_ARRAY, &s->watch, err);
    case HOOK_USER_PROMPT_SUBMIT:
    case HOOK_USER_PROMPT_EXPANSION:
        if (take_str(specific, "sessionTitle", &s->title, err) < 0)
            return -1;
        return take_bool(specific, "suppressOriginalPrompt", &s->hides_prompt, err);
    case HOOK_POST_TOOL_USE:
        s->output = json_get(specific, "updatedToolOutput");
        if (!s->output)
            s->output = json_get(specific, "updatedMCPToolOutput");
        return 0;
    case HOOK_STOP:
    case HOOK_SUBAGENT_STOP:
        /* Added context makes the turn continue. */
        if (s->context.len)
            s->decision = HOOK_DENY;
        return 0;
    default:
        return 0;
    }
}

static int said_read(struct said *s, enum hook_event event, const struct json *output,
                     struct err *err)
{
    const struct json *specific = NULL;

    if (!json_is(output, JSON_OBJECT))
        return err_set(err, ERR_BAD_INPUT, "the output is not a JSON object");
    if (json_get_bool(output, "async", false))
        return 0; /* an async handler: its output has no effect */
    if (said_common(s, event, output, err) < 0 ||
        take(output, "hookSpecificOutput", JSON_OBJECT, &specific, err) < 0)
        return -1;
    return specific ? said_specific(s, event, specific, err) : 0;
}

/* --- merging -------------------------------------------------------------------------------- */

/* Size of the first max characters in bytes. */
static size_t first_chars(struct str text, size_t max)
{
    size_t at = 0;

    for (size_t chars = 0; at < text.len; at++) {
        if (((unsigned char)text.ptr[at] & 0xc0) != 0x80 && chars++ == max)
            break;
    }
    return at;
}

/* Appends the beginning of a long text and the path of a file with all of it. */
static void say_preview(struct workspace *w, struct buf *to, struct str text)
{
    CLEANUP(buf_release) struct buf path = BUF_INIT(BUF_NO_LIMIT);  /* bounded by the system */
    CLEANUP(buf_release) struct buf whole = BUF_INIT(BUF_NO_LIMIT); /* a copy */
    struct str shown = str_first(text, first_chars(text, w ? HOOK_PREVIEW : HOOK_MAX_STRING));
    struct err err = {0};

    buf_add(to, shown);
    if (!w) {
        buf_addf(to, "\n[%zu more bytes are left out]", text.len - shown.len);
        return;
    }
    buf_add(&whole, text);
    secret_scrub(&whole);
    if (workspace_spill(w, STR("hook"), &path, &err) == 0 &&
        file_replace(buf_cstr(&path), buf_str(&whole), 0600, &err) == 0)
        buf_addf(to, "\n[%zu more bytes; the whole is in %s]", text.len - shown.len,
                 buf_cstr(&path));
    else
        buf_addf(to, "\n[%zu more bytes could not be kept: %s]", text.len - shown.len, err.text);
}

void hook_outcome_say(struct hook_outcome *o, struct buf *to, struct str text)
{
    if (!text.len)
        return;
    if (to->len)
        buf_addc(to, '\n');
    if (first_chars(text, HOOK_MAX_STRING) < text.len)
        say_preview(o->workspace, to, text);
    else
        buf_add(to, text);
}

static void replace(struct buf *with, const struct json *v)
{
    struct jw w;

    if (!v)
        return;
    buf_clear(with);
    jw_init(&w, with, 0);
    jw_json(&w, v);
}

/* A refusal counts whatever other hooks say; else the last one does. */
static void merge_form(struct hook_outcome *o, const struct said *s)
{
    struct jw w;

    if (!s->action.len || (str_is(s->action, "accept") && o->form.len &&
                           !str_starts(buf_str(&o->form), STR("{\"action\":\"accept\""))))
        return;
    buf_clear(&o->form);
    jw_init(&w, &o->form, 0);
    jw_object(&w);
    jw_kstr(&w, "action", s->action);
    if (s->content && str_is(s->action, "accept"))
        jw_kjson(&w, "content", s->content);
    jw_object_end(&w);
}

void hook_outcome_stop(struct hook_outcome *o, struct str reason)
{
    if (!o->stop)
        hook_outcome_say(o, &o->stop_reason, reason);
    o->stop = true;
}

void hook_outcome_decide(struct hook_outcome *o, enum hook_decision decision, struct str reason)
{
    if (decision > o->decision) {
        buf_clear(&o->reason);
        o->decision = decision;
    }
    if (decision == o->decision && decision != HOOK_SILENT)
        hook_outcome_say(o, &o->reason, reason);
}

int hook_outcome_merge(struct hook_outcome *o, enum hook_event event, const struct json *output,
                       struct err *err)
{
    struct said s = {0};

    if (said_read(&s, event, output, err) < 0)
        return -1;
    if (s.stop)
        hook_outcome_stop(o, s.stop_reason);
    hook_outcome_decide(o, s.decision, s.reason);
    hook_outcome_say(o, &o->context, s.context);
    hook_outcome_say(o, &o->message, s.message);
    if (s.terminal.len <= HOOK_MAX_TERMINAL - o->terminal.len && hook_terminal_is_fine(s.terminal))
        buf_add(&o->terminal, s.terminal);
    hook_outcome_say(o, &o->first, s.first);
    o->watches = o->watches || s.watch;
    JSON_EACH(s.watch, path) {
        if (o->watch.len == HOOK_MAX_WATCH)
            break;
        if (json_str(path).len && !strv_has(&o->watch, json_str(path)))
            strv_add(&o->watch, json_str(path));
    }
    o->interrupt |= s.interrupt && s.decision == HOOK_DENY;
    o->retry |= s.retry;
    o->hides_prompt |= s.hides_prompt;
    if (s.title.len) {
        buf_clear(&o->title);
        buf_add(&o->title, s.title);
    }
    replace(&o->input, s.input);
    replace(&o->permissions, s.permissions);
    merge_form(o, &s);
    if (json_is(s.output, JSON_STRING)) {
        buf_clear(&o->output);
        buf_add(&o->output, json_str(s.output));
        o->output_is_data = false;
    } else if (s.output && !json_is(s.output, JSON_NULL)) {
        replace(&o->output, s.output);
        o->output_is_data = true;
    }
    return 0;
}

/* --- running -------------------------------------------------------------------------------- */

bool hooks_want(struct hook_runner *const *runners, enum hook_event event, struct str subject)
{
    for (; runners && *runners; runners++) {
        if ((*runners)->wants(*runners, event, subject))
            return true;
    }
    return false;
}

void hooks_status(struct hook_runner *const *runners, const struct hook_input *in, struct buf *ret)
{
    for (; runners && *runners && !ret->len; runners++) {
        if ((*runners)->status)
            (*runners)->status(*runners, in, ret);
    }
}

int hooks_run(struct hook_runner *const *runners, const struct hook_input *in,
              struct cancel *cancel, struct hook_outcome *io, struct err *err)
{
    struct err first = {0};

    for (; runners && *runners; runners++) {
        struct err now = {0};

        if (!(*runners)->wants(*runners, in->event, in->subject) ||
            (*runners)->run(*runners, in, cancel, io, &now) == 0)
            continue;
        /* A cancel ends the run, and the agent must see a denial. */
        if (first.code == ERR_NONE || now.code == ERR_CANCELLED ||
            (now.code == ERR_DENIED && first.code != ERR_DENIED))
            first = now;
        if (now.code == ERR_CANCELLED)
            break;
    }
    if (first.code == ERR_NONE)
        return 0;
    return err_set(err, first.code, "%s", first.text);
}
