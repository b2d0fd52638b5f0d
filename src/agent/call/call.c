/*
 * The stages of a tool call. call_pipeline() is the whole sequence; it runs on the call's own
 * thread, so that a slow hook, an unanswered question or a long command delays nothing else.
 */
#include "agent/call/call.h"

#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

#include "agent/agent_state.h"
#include "agent/extra.h"
#include "agent/journal.h"
#include "agent/toolbox.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "base/secret.h"
#include "base/strv.h"
#include "guard/cap.h"
#include "guard/permit.h"
#include "guard/rule.h"
#include "guard/sandbox.h"
#include "guard/workspace.h"
#include "json/json.h"
#include "json/jw.h"
#include "json/schema.h"
#include "llm/message.h"
#include "llm/provider.h"
#include "llm/tool_output.h"
#include "sync/cancel.h"
#include "sync/crew.h"

#define CALL_PREVIEW 200

static void call_mail_free(struct mail *m)
{
    mem_freep(&m);
}

const struct mail_kind call_mail_kind = {"call", call_mail_free};

bool call_mail_is(const struct mail *m, const struct call *c)
{
    return m->kind == &call_mail_kind && ((const struct call_mail *)m)->call == c;
}

/* Sets the structured result of a failed call to its error text. */
static void call_say_failure(struct call *c)
{
    struct jw w;

    buf_clear(&c->result.data);
    jw_init(&w, &c->result.data, 0);
    jw_str_begin(&w);
    jw_str_part(&w, STR("Error: "));
    jw_str_part(&w, buf_str(&c->result.text));
    jw_str_end(&w);
}

void call_fail(struct call *c, const char *fmt, ...)
{
    va_list args;

    buf_clear(&c->result.text);
    va_start(args, fmt);
    buf_addv(&c->result.text, fmt, args);
    va_end(args);
    c->result.is_error = true;
    call_say_failure(c);
}

void call_deny(struct call *c, struct str why)
{
    c->denied = true;
    call_fail(c, "%.*s", STR_ARG(why));
}

int call_set_input(struct call *c, struct str json, struct err *err)
{
    const struct json *args;
    struct json_info info = {0};

    if (json_parse_copy(&c->arena, json, &args, &info, err) < 0)
        return -1;
    if (info.lone_surrogates) /* it cannot be written as UTF-8 */
        return err_set(err, ERR_BAD_INPUT,
                       "it contains half of a character (an escape such as \\ud83d that needs a "
                       "second one); send the character itself");
    if (schema_check(toolbox_schema(c->toolbox, c->entry), args, err) < 0)
        return -1;
    c->args = args;
    c->flags = tool_flags(c->entry, args);
    buf_clear(&c->expanded);
    if (c->entry->expand) {
        c->entry->expand(c->entry, c->agent->spec.workspace, args, &c->expanded);
    } else {
        struct jw w;

        jw_init(&w, &c->expanded, 0);
        jw_json(&w, args);
    }
    return 0;
}

void call_subject(struct call *c, struct rule_subject *ret)
{
    *ret = (struct rule_subject){.tool = str_of(c->entry->name), .args = c->args};
    if (c->entry->about)
        c->entry->about(c->entry, c->agent->spec.workspace, c->args, &c->arena, ret);
    c->subject = *ret;
}

static bool call_has_hooks(const struct call *c)
{
    return agent_hook_wanted(c->agent, HOOK_PRE_TOOL_USE, c->name) ||
           agent_hook_wanted(c->agent, HOOK_POST_TOOL_USE, c->name) ||
           agent_hook_wanted(c->agent, HOOK_POST_TOOL_USE_FAILURE, c->name);
}

/* True if the call is safe to repeat and needs no permission. */
static bool call_is_free(struct call *c)
{
    const unsigned both = TOOL_READ_ONLY | TOOL_CONCURRENT;
    struct permit_answer answer;
    struct rule_subject subject;

    if ((c->flags & both) != both || c->flags & TOOL_PERSON || call_has_hooks(c))
        return false;
    call_subject(c, &subject);
    permit_check(c->agent->spec.permit, &subject, c->flags, &answer);
    return answer.verdict == PERMIT_ALLOW || answer.has_trial;
}

/* Placeholder for a tool whose server is still connecting; see call_await_tool(). */
static const struct tool_entry late_row = {.name = "mcp", .text = "", .schema = "{}"};

static void call_fail_unknown(struct call *c)
{
    struct str near = toolbox_nearest(c->toolbox, c->name);
    struct str name = str_clip(c->name, CALL_PREVIEW);

    if (c->is_executed || c->late_input.len)
        call_fail(c, "No such tool available: %.*s%s%.*s", STR_ARG(name),
                  near.len ? ". Did you mean " : "", STR_ARG(near));
    else if (near.len)
        call_fail(c, "There is no tool named '%.*s'. Did you mean %.*s?", STR_ARG(name),
                  STR_ARG(near));
    else
        call_fail(c, "There is no tool named '%.*s'. Use one of those you were given.",
                  STR_ARG(name));
}

/* Reports that the input does not match the schema. */
static void call_fail_input(struct call *c, struct str input, const struct err *why)
{
    if (!c->expanded.len)
        buf_add(&c->expanded, input);
    call_fail(c, "The input does not fit %s: %s. Nothing was done; correct it and call again.",
              c->entry->name, why->text);
    if (!c->is_executed)
        return;
    buf_adds(&c->result.text, "\n");
    extra_write_entry(c->entry, &c->result.text);
    call_say_failure(c);
}

/* ExecuteExtraTool: turns the call into a call of the tool that it names. False if it names none.
 */
static bool call_redirect(struct call *c, struct str *input)
{
    const struct json *args = NULL;
    const struct json *params;

    if (json_parse_copy(&c->arena, *input, &args, /*ret_info=*/NULL, /*err=*/NULL) < 0 ||
        !str_trim(json_get_str(args, "tool_name")).len) {
        buf_add(&c->expanded, *input);
        call_fail(c, "The input does not fit ExecuteExtraTool: tool_name is missing. Nothing was "
                     "done; correct it and call again.");
        return false;
    }
    params = json_get(args, "params");
    c->is_executed = true;
    c->name = arena_str(&c->arena, str_trim(json_get_str(args, "tool_name")));
    c->entry = toolbox_find(c->toolbox, c->name);
    *input = json_is(params, JSON_STRING) ? json_str(params)
             : params                     ? json_raw(params)
                                          : STR("{}");
    if (c->entry && c->entry->flags & (TOOL_FINDS | TOOL_EXECUTES)) {
        buf_add(&c->expanded, json_raw(args));
        call_fail(c, "%s cannot be called by ExecuteExtraTool.", c->entry->name);
        return false;
    }
    return true;
}

/* Uses the current toolbox if a server has connected since the step began. */
static void call_look_again(struct call *c)
{
    struct extra_source *source = c->agent->spec.extra;

    if (!source)
        return;
    toolbox_unref(c->toolbox);
    c->toolbox = source->toolbox(source);
    c->entry = toolbox_find(c->toolbox, c->name);
}

/* True if the tool is missing because its server is still connecting or can be retried. */
static bool call_comes_late(struct call *c, struct str input)
{
    struct extra_source *source = c->agent->spec.extra;
    const struct json *args;
    enum extra_state state = source ? source->state_of(source, c->name) : EXTRA_CONNECTED;

    if (state != EXTRA_CONNECTING && state != EXTRA_FAILED)
        return false;
    if (json_parse_copy(&c->arena, input, &args, /*ret_info=*/NULL, /*err=*/NULL) < 0)
        return false;
    c->entry = &late_row;
    c->late_input = json_raw(args);
    buf_add(&c->expanded, c->late_input);
    c->state = CALL_READY;
    return true;
}

static bool a_server_connects(const struct call *c)
{
    struct extra_source *source = c->agent->spec.extra;

    return source && source->state_of(source, c->name) == EXTRA_CONNECTING;
}

/* Prepares the call; if it cannot run, it gets its result here. */
static void call_prepare(struct call *c, const struct block *block)
{
    struct str input = str_trim(block->input).len ? str_trim(block->input) : STR("{}");
    struct err err = {0};

    c->state = CALL_ENDED;
    c->entry = toolbox_find(c->toolbox, block->name);
    if (block->input_bad) {
        const struct json *v;

        buf_adds(&c->expanded, "{}");
        if (!c->entry) {
            call_fail_unknown(c);
            return;
        }
        if (json_parse(&c->arena, block->input, &v, /*ret_info=*/NULL, &err) == 0)
            err_set(&err, ERR_BAD_INPUT, "it is no object");
        call_fail(c,
                  "The input of %s is not a JSON object (%s). It began: %.*s\nNothing was done; "
                  "send the call again with correct JSON.",
                  c->entry->name, err.text, STR_ARG(str_clip(block->input, CALL_PREVIEW)));
        return;
    }
    if (c->entry && c->entry->flags & TOOL_EXECUTES && !call_redirect(c, &input))
        return;
    /* One that is known from the server's last time is what it says only once it has connected. */
    if (c->entry && c->entry->server && a_server_connects(c) && call_comes_late(c, input))
        return;
    if (c->entry && c->entry->server)
        call_look_again(c);
    if (!c->entry) {
        if (call_comes_late(c, input))
            return;
        call_look_again(c); /* once more: the server may have connected since the first look */
    }
    if (!c->entry) {
        buf_adds(&c->expanded, "{}");
        call_fail_unknown(c);
        return;
    }
    if (call_set_input(c, input, &err) < 0) {
        call_fail_input(c, input, &err);
        return;
    }
    if (c->agent->spec.refuses && c->agent->spec.refuses(c->agent->spec.refuses_arg, c->entry)) {
        call_fail(c,
                  "a fork starts no agents and asks no questions: %s does not work here. Do the "
                  "work yourself.",
                  c->entry->name);
        return;
    }
    c->state = CALL_READY;
    c->is_free = call_is_free(c);
}

struct call *call_new(const struct agent *a, const struct block *block, struct mailbox *to,
                      struct cancel *cancel)
{
    struct call *c = mem_zalloc(sizeof(*c));
    const struct provider *provider = agent_provider(a, 0);
    CLEANUP(buf_release) struct buf model = BUF_INIT(4096);

    buf_addf(&model, "%s/%.*s", provider->name, STR_ARG(provider->model.name));
    c->model = arena_cstr(&c->arena, buf_str(&model));
    c->agent = a;
    c->turn = a->turn;
    c->step = a->step;
    c->result = (struct tool_result)TOOL_RESULT_INIT;
    buf_init(&c->expanded, TOOL_MAX_TEXT);
    buf_init(&c->effects, TOOL_MAX_TEXT);
    buf_init(&c->context, HOOK_MAX_TEXT);
    buf_init(&c->denied_why, HOOK_MAX_TEXT);
    buf_init(&c->stop_reason, HOOK_MAX_TEXT);
    c->id = arena_str(&c->arena, block->id);
    c->name = arena_str(&c->arena, block->name);
    c->cancel = cancel_new(cancel);
    c->to = mailbox_ref(to);
    c->toolbox = toolbox_ref(a->spec.toolbox);
    call_prepare(c, block);
    return c;
}

/* ---- The call's own thread ---- */

static struct event *call_event(const struct call *c, enum event_kind kind)
{
    struct event *e = agent_event(c->agent, kind);

    e->turn = c->turn;
    e->step = c->step;
    e->id = arena_str(&e->arena, c->id);
    e->name = arena_str(&e->arena, c->name);
    return e;
}

static void call_progress(struct tool_call *tool_call, struct str text)
{
    const struct call *c = tool_call->agent;
    struct event *e = call_event(c, EVENT_TOOL_PROGRESS);

    e->text = arena_str(&e->arena, text);
    e->duration_ms = clock_mono_ms() - c->start_ms;
    agent_emit(c->agent, e, c->cancel);
}

static int call_ask_hooks(struct tool_call *tool_call, const char *event, struct str members,
                          struct buf *ret_reason, struct err *err)
{
    struct call *c = tool_call->agent;

    /* uses only what any thread may use */
    return agent_ask_hooks((struct agent *)c->agent, event, members, c, c->cancel, ret_reason, err);
}

void call_hook_input(const struct call *c, enum hook_event event, struct jw *w)
{
    agent_hook_begin(c->agent, w, event);
    jw_kcstr(w, "tool_name", c->entry->name);
    jw_kraw(w, "tool_input", buf_str(&c->expanded));
    if (event != HOOK_PERMISSION_REQUEST)
        jw_kstr(w, "tool_use_id", c->id);
}

void call_heed(struct call *c, const struct hook_outcome *o)
{
    if (o->context.len) {
        if (c->context.len)
            buf_addc(&c->context, '\n');
        buf_add(&c->context, buf_str(&o->context));
    }
    if (o->stop) {
        c->stop_turn = true;
        buf_add(&c->stop_reason, buf_str(&o->stop_reason));
    }
}

/* The file that this call changes, or NULL if there is none or no journal to save it. */
static const char *call_kept_file(struct call *c)
{
    if (!(c->flags & TOOL_EDITS) || !c->agent->spec.journal)
        return NULL;
    return arena_cstr(&c->arena, c->subject.text);
}

/* Saves the file as the call left it; again after hooks (formatters) may have changed it. */
static void call_keep_left(struct call *c)
{
    struct journal *journal = c->agent->spec.journal;

    if (c->changed_file && journal->after_edit)
        journal->after_edit(journal, c->changed_file);
}

struct tool_call call_for_tool(struct call *c)
{
    const struct agent_spec *spec = &c->agent->spec;

    return (struct tool_call){
        .entry = c->entry,
        .id = c->id,
        .args = c->args,
        .real = c->subject.real,
        .identity = &spec->identity,
        .workspace = spec->workspace,
        .permit = spec->permit,
        .sandbox = spec->sandbox,
        .asker = spec->asker,
        .conf = spec->conf,
        .net = spec->net,
        .referee = spec->referee,
        .spending = spec->spending,
        .spawner = spec->spawner,
        .toolbox = c->toolbox,
        .extra = spec->extra,
        .team = spec->team,
        .model_name = c->model,
        .cancel = c->cancel,
        .progress = call_progress,
        .hook = call_ask_hooks,
        .agent = c,
    };
}

/* A command that was refused a connection may run again. */
static int call_run_tool(struct call *c, struct err *err)
{
    CLEANUP(sandbox_hosts_release) struct sandbox_hosts hosts = {0};
    struct tool_call tool_call = call_for_tool(c);

    if (call_hosts(c, &hosts))
        tool_call.hosts = &hosts;
    for (int i = 0; i < CALL_MAX_RUNS; i++) {
        int64_t start_ms = clock_mono_ms();
        int rc = c->entry->run(&tool_call, &c->result, err);

        c->run_ms = clock_mono_ms() - start_ms;
        if (rc < 0)
            return -1;
        if (!call_ask_host(c, &hosts))
            break;
        strv_clear(&hosts.refused);
        tool_call = call_for_tool(c); /* the user may have changed the command */
        tool_call.hosts = &hosts;
    }
    return 0;
}

static void call_run(struct call *c)
{
    struct journal *journal = c->agent->spec.journal;
    const char *file = call_kept_file(c);
    struct err err = {0};

    if (file && journal->before_edit(journal, file, c->id, &err) < 0) {
        call_fail(c, "%s", err.text);
        return;
    }
    c->ran = true;
    if (!c->entry->run) { /* TOOL_FINAL: the input is the result */
        buf_adds(&c->result.text, "The answer is taken.");
        return;
    }
    if (call_run_tool(c, &err) < 0)
        call_fail(c, "%s", err.text);
    c->changed_file = file;
    call_keep_left(c);
    if (c->result.text.over)
        call_fail(c, "%s gave more than %zu MB", c->entry->name, TOOL_MAX_TEXT >> 20);
}

/* Applies a hook's replacement of the result: a text, or the tool's structured result. */
static void call_take_output(struct call *c, const struct hook_outcome *o)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    const struct json *data;

    if (!o->output.len)
        return;
    buf_clear(&c->result.text);
    if (!o->output_is_data ||
        json_parse(&arena, buf_str(&o->output), &data, /*ret_info=*/NULL, /*err=*/NULL) < 0) {
        buf_add(&c->result.text, buf_str(&o->output));
        return;
    }
    tool_output_text(data, &c->result.text);
    buf_clear(&c->result.data);
    buf_add(&c->result.data, buf_str(&o->output));
}

static void call_after(struct call *c)
{
    enum hook_event event = c->result.is_error ? HOOK_POST_TOOL_USE_FAILURE : HOOK_POST_TOOL_USE;
    CLEANUP(hook_outcome_release) struct hook_outcome o = HOOK_OUTCOME_INIT;
    CLEANUP(buf_release) struct buf json = BUF_INIT(2 * TOOL_MAX_TEXT);
    struct err err = {0};
    struct jw w;

    if (cancel_is_set(c->cancel) || !agent_hook_wanted(c->agent, event, c->name))
        return;
    jw_init(&w, &json, 0);
    call_hook_input(c, event, &w);
    if (event == HOOK_POST_TOOL_USE_FAILURE) {
        jw_kstr(&w, "error", buf_str(&c->result.text));
        jw_kbool(&w, "is_interrupt", false); /* hooks do not run after an interrupt */
    } else if (c->result.data.len) {
        jw_kraw(&w, "tool_response", buf_str(&c->result.data));
    } else {
        jw_kstr(&w, "tool_response", buf_str(&c->result.text));
    }
    jw_ki64(&w, "duration_ms", c->run_ms);
    jw_object_end(&w);
    if (agent_hook_run(c->agent, event, c->name, buf_str(&json), c, c->cancel, &o, &err) < 0 &&
        err.code == ERR_DENIED)
        buf_adds(&o.reason, err.text);
    call_heed(c, &o);
    call_take_output(c, &o);
    if (o.decision == HOOK_DENY && o.reason.len) {
        if (c->context.len)
            buf_addc(&c->context, '\n');
        buf_add(&c->context, buf_str(&o.reason));
    }
}

/* Runs CwdChanged hooks if the command changed the working directory. */
static void call_tell_folder(struct call *c, const char *before)
{
    CLEANUP(mem_freep) char *now = workspace_cwd(c->agent->spec.workspace);
    CLEANUP(hook_outcome_release) struct hook_outcome o = HOOK_OUTCOME_INIT;
    CLEANUP(buf_release) struct buf json = BUF_INIT(BUF_NO_LIMIT);
    struct err err = {0};
    struct jw w;

    if (strcmp(before, now) == 0 || cancel_is_set(c->cancel) ||
        !agent_hook_wanted(c->agent, HOOK_CWD_CHANGED, STR("")))
        return;
    jw_init(&w, &json, 0);
    agent_hook_begin(c->agent, &w, HOOK_CWD_CHANGED);
    jw_kcstr(&w, "old_cwd", before);
    jw_kcstr(&w, "new_cwd", now);
    jw_object_end(&w);
    (void)agent_hook_run(c->agent, HOOK_CWD_CHANGED, STR(""), buf_str(&json), /*call=*/NULL,
                         c->cancel, &o, &err);
    call_heed(c, &o);
}

/* Waits for the tool's server. False if the tool did not appear or the input does not match its
 * schema. */
static bool call_await_tool(struct call *c)
{
    struct extra_source *source = c->agent->spec.extra;
    struct err err = {0};

    source->await(source, c->name, c->cancel);
    if (cancel_is_set(c->cancel)) {
        call_fail(c, "The call was interrupted before its tool was available.");
        return false;
    }
    toolbox_unref(c->toolbox);
    c->toolbox = source->toolbox(source);
    c->entry = toolbox_find(c->toolbox, c->name);
    if (!c->entry) {
        CLEANUP(extra_servers_release) struct extra_servers servers = {0};
        CLEANUP(buf_release) struct buf states = BUF_INIT(BUF_NO_LIMIT);

        call_fail_unknown(c);
        source->servers(source, &servers);
        extra_write_states(&servers, &states);
        if (states.len)
            buf_addf(&c->result.text, "\n%s", buf_cstr(&states));
        call_say_failure(c);
        return false;
    }
    if (call_set_input(c, c->late_input, &err) < 0) {
        call_fail_input(c, c->late_input, &err);
        return false;
    }
    return true;
}

static void call_pipeline(struct call *c)
{
    CLEANUP(mem_freep) char *folder = workspace_cwd(c->agent->spec.workspace);
    int leave;

    if (c->late_input.len && !call_await_tool(c))
        return;
    leave = call_leave(c);
    if (leave < 0)
        return;
    if (cancel_is_set(c->cancel)) {
        call_fail(c, "The call was interrupted; it may already have had effects.");
        return;
    }
    if (leave == 0)
        call_run(c);
    call_tell_folder(c, folder);
    call_after(c);
    call_keep_left(c);
    secret_scrub(&c->result.text);
    if (!c->result.is_capped)
        cap_text(c->agent->spec.workspace, c->id,
                 c->entry->max_result ? c->entry->max_result : TOOL_MAX_RESULT, &c->result.text);
    if (c->result.is_error)
        call_say_failure(c);
    if (c->is_executed)
        extra_name_tool(c->name, &c->result.data);
}

static void call_thread(void *arg)
{
    struct call *c = arg;
    struct call_mail *m = mem_zalloc(sizeof(*m));
    struct mailbox *to = mailbox_ref(c->to);

    call_pipeline(c);
    c->duration_ms = clock_mono_ms() - c->start_ms;
    m->mail.kind = &call_mail_kind;
    m->call = c;
    mailbox_send(to, &m->mail); /* from here on the call belongs to the agent */
    mailbox_unref(to);
}

/* ---- The agent's thread ---- */

static void call_emit_started(const struct call *c)
{
    struct event *e = call_event(c, EVENT_TOOL_STARTED);

    e->json = arena_str(&e->arena, buf_str(&c->expanded));
    agent_emit(c->agent, e, c->cancel);
}

void call_start(struct call *c)
{
    struct err err = {0};

    c->start_ms = clock_mono_ms();
    call_emit_started(c);
    if (c->state == CALL_ENDED)
        return;
    c->state = CALL_RUNNING;
    if (crew_start(c->agent->crew, c->entry->name, call_thread, c, &err) < 0) {
        call_fail(c, "%s", err.text);
        c->result.stops_batch = true;
        c->state = CALL_ENDED;
    }
}

void call_collect(struct call *c)
{
    c->state = CALL_ENDED;
    log_debug("agent", "%.*s %.*s: %" PRId64 " ms%s", STR_ARG(c->name), STR_ARG(c->id),
              c->duration_ms, c->result.is_error ? ", error" : "");
}

void call_emit_ended(const struct call *c)
{
    struct event *e = call_event(c, EVENT_TOOL_PROGRESS);

    e->ended = true;
    e->is_error = c->result.is_error;
    e->duration_ms = c->duration_ms;
    agent_emit(c->agent, e, c->cancel);
}

void call_start_skipped(struct call *c, struct str because)
{
    c->start_ms = clock_mono_ms();
    call_emit_started(c);
    call_fail(c, "Not run: %.*s.", STR_ARG(because));
    c->state = CALL_ENDED;
}

void call_result(struct call *c, struct arena *arena, struct block *ret)
{
    struct block *content = arena_zalloc(arena, (c->result.images.len + 1) * sizeof(*content));
    size_t n = 0;

    if (c->result.text.len || !c->result.images.len)
        content[n++] = (struct block){.kind = BLOCK_TEXT,
                                      .text = c->result.text.len ? buf_str(&c->result.text)
                                                                 : STR("(no output)")};
    VEC_EACH(&c->result.images, image) {
        CLEANUP(buf_release) struct buf data = BUF_INIT(BUF_NO_LIMIT);

        buf_add_base64(&data, buf_str(&image->bytes));
        content[n++] = (struct block){
            .kind = BLOCK_IMAGE,
            .media_type = str_of(image->media_type),
            .data = arena_str(arena, buf_str(&data)),
        };
    }
    *ret = (struct block){
        .kind = BLOCK_TOOL_RESULT,
        .id = c->id,
        .name = c->name,
        .content = content,
        .content_len = n,
        .is_error = c->result.is_error,
    };
}

void call_free(struct call *c)
{
    if (!c)
        return;
    tool_result_release(&c->result);
    buf_release(&c->expanded);
    buf_release(&c->effects);
    buf_release(&c->context);
    buf_release(&c->denied_why);
    buf_release(&c->stop_reason);
    cancel_unref(c->cancel);
    mailbox_unref(c->to);
    toolbox_unref(c->toolbox);
    arena_release(&c->arena);
    mem_freep(&c);
}
