/*
 * What events mean for the conversation: a row per kind. UI thread.
 */
#include <inttypes.h>

#include "agent/event.h"
#include "base/arena.h"
#include "base/err.h"
#include "base/mem.h"
#include "json/json.h"
#include "tui/chat/chat_state.h"
#include "tui/chat/tool_view.h"
#include "tui/status/agent_rows.h"

#define EVENT_SLOW_HOOK_MS 5000
#define EVENT_LONG_TURN_MS 60000
#define EVENT_LINE 400 /* bytes of one line of feedback */

/* ---- Turns and steps ---- */

static void on_turn_started(struct chat *c, const struct event *e, int64_t now_ms)
{
    (void)e;
    if (!c->busy) /* hooks of its beginning count */
        c->turn_ms = now_ms;
    c->busy = true;
    c->needs_person = false;
    c->asked_ms = c->asked_since_ms = 0;
    c->doing = DOING_WAIT;
    c->tokens = 0;
    c->bytes = 0;
    c->told_verdict = c->told_command = c->told_interrupt = false;
    buf_clear(&c->told_goal);
    buf_clear(&c->wait);
    buf_clear(&c->hook);
}

static void on_step_started(struct chat *c, const struct event *e, int64_t now_ms)
{
    (void)e;
    (void)now_ms;
    answer_begins(c);
    c->doing = DOING_WAIT;
    c->bytes = 0;
}

static void on_step_done(struct chat *c, const struct event *e, int64_t now_ms)
{
    (void)now_ms;
    answer_step_ends(c);
    c->tokens += e->usage.output;
    c->bytes = 0;
    c->doing = c->calls.len ? DOING_CALLS : DOING_JUDGE;
}

/* The part already read stays. */
static void on_step_cut(struct chat *c, const struct event *e, int64_t now_ms)
{
    (void)e;
    (void)now_ms;
    answer_step_ends(c);
    calls_clear(c);
    buf_clear(&c->thought);
    c->bytes = 0;
}

static void on_step_void(struct chat *c, const struct event *e, int64_t now_ms)
{
    (void)e;
    (void)now_ms;
    answer_void(c);
    calls_clear(c);
    buf_clear(&c->thought);
    c->bytes = 0;
    c->doing = DOING_WAIT;
}

/* What to do about an error that its text may not say. */
static const char *hint_for(const struct chat *c, const struct turn_report *r)
{
    static const struct {
        const char *category;
        const char *hint;
        bool passes; /* a goal that waits tries again by itself */
    } hints[] = {
        {"billing_error", "Add credit to the account, or choose another provider with /model"},
        {"rate_limit", "Try again later, or choose another model with /model", true},
        {"overloaded", "Try again later, or choose another model with /model", true},
        {"server_error", "Try again, or choose another model with /model", true},
        {"model_not_found", "Choose another model with /model"},
    };

    if (r->end == END_PROMPT_TOO_LONG)
        return "Use /compact to summarize the conversation, or /clear to start a new one";
    if (r->end == END_MAX_TURNS)
        return "Send \"continue\" to let it go on";
    for (size_t i = 0; i < ARRAY_LEN(hints); i++) {
        if (str_is(r->category, hints[i].category))
            return hints[i].passes && c->wait.len ? NULL : hints[i].hint;
    }
    return NULL;
}

static void tell_interrupt(struct chat *c)
{
    if (!c->told_interrupt)
        (void)chat_add_text(c, ITEM_NOTE, ROLE_WARNING,
                            c->plain   ? NULL
                            : c->ascii ? "! "
                                       : "■ ",
                            STR("Interrupted. What should it do instead?"));
    c->told_interrupt = true;
}

static void tell_end(struct chat *c, const struct turn_report *r)
{
    bool aborted = r->end == END_ABORTED_STREAMING || r->end == END_ABORTED_TOOLS;
    const char *hint = r->is_error ? hint_for(c, r) : NULL;

    if (aborted) {
        tell_interrupt(c);
    } else if (r->is_error && !c->told_command) {
        if (!r->error.len || !str_has(buf_str(&c->told_goal), r->error)) /* "goal blocked: …" */
            (void)chat_add_text(c, ITEM_NOTE, ROLE_BAD,
                                c->plain   ? "Error: "
                                : c->ascii ? "x "
                                           : "✗ ",
                                r->error.len ? r->error : str_of(turn_end_name(r->end)));
        if (hint)
            (void)chat_add_text(c, ITEM_NOTE, ROLE_FAINT, "  ", str_of(hint));
    } else if (r->error.len && !c->told_command) {
        (void)chat_add_text(c, ITEM_NOTE, ROLE_WARNING, "! ", r->error); /* why a hook ended it */
    } else if (!r->steps && r->result.len && !c->told_command) {
        (void)chat_add_text(c, ITEM_COMMAND, ROLE_TEXT, /*mark=*/NULL, r->result);
    }
}

static void on_turn_done(struct chat *c, const struct event *e, int64_t now_ms)
{
    const struct turn_report *r = e->report;

    (void)now_ms;
    answer_turn_ends(c);
    calls_clear(c);
    todos_turn_ends(c);
    buf_clear(&c->thought);
    buf_clear(&c->hook);
    c->busy = false;
    c->needs_person = false;
    if (!r)
        return;
    tell_end(c, r);
    if (r->worked_ms >= EVENT_LONG_TURN_MS) {
        CLEANUP(buf_release) struct buf text = BUF_INIT(100);

        buf_adds(&text, "Worked for ");
        tool_view_elapsed(r->worked_ms, &text);
        (void)chat_add_text(c, ITEM_NOTE, ROLE_FAINT, c->ascii || c->plain ? NULL : "◷ ",
                            buf_str(&text));
    } else if (c->plain && r->steps && !r->is_error) {
        chat_note(c, ROLE_FAINT, STR("Done.")); /* nothing else tells a listener */
    }
}

static void on_state(struct chat *c, const struct event *e, int64_t now_ms)
{
    bool asks = e->state == STATE_REQUIRES_ACTION;

    if (asks && !c->needs_person)
        c->asked_since_ms = now_ms;
    else if (!asks && c->needs_person)
        c->asked_ms += now_ms - c->asked_since_ms; /* a user who thinks is not work */
    c->needs_person = asks;
    if (e->state == STATE_RUNNING && !c->busy)
        on_turn_started(c, e, now_ms);
    else if (e->state == STATE_IDLE)
        c->busy = false;
}

/* ---- Blocks ---- */

static void on_block_started(struct chat *c, const struct event *e, int64_t now_ms)
{
    switch (e->block) {
    case BLOCK_TEXT:
        c->doing = DOING_ANSWER;
        break;
    case BLOCK_THINKING:
    case BLOCK_REDACTED_THINKING:
        c->doing = DOING_THINK;
        c->thought_ms = now_ms;
        buf_clear(&c->thought);
        break;
    case BLOCK_TOOL_USE:
        c->doing = DOING_INPUT;
        calls_begin(c, e->id, e->name, now_ms);
        break;
    default:
        break;
    }
}

static void on_block_delta(struct chat *c, const struct event *e, int64_t now_ms)
{
    (void)now_ms;
    c->bytes += e->text.len;
    if (e->block == BLOCK_TEXT)
        answer_add(c, e->text);
    else if (e->block == BLOCK_THINKING)
        buf_add(&c->thought, e->text);
    else if (e->block == BLOCK_TOOL_USE)
        calls_input(c, e->text);
}

static void thought_done(struct chat *c, int64_t now_ms)
{
    int64_t elapsed_ms = now_ms - c->thought_ms;
    struct chat_item *it;

    if (!str_trim(buf_str(&c->thought)).len && elapsed_ms < 1000)
        return;
    it = chat_add_text(c, ITEM_THOUGHT, ROLE_THOUGHT, /*mark=*/NULL,
                       c->verbose ? buf_str(&c->thought) : STR(""));
    it->elapsed_ms = elapsed_ms;
    it->of_step = true;
    buf_clear(&c->thought);
}

static void on_block_done(struct chat *c, const struct event *e, int64_t now_ms)
{
    if (e->block == BLOCK_TEXT)
        answer_block_ends(c);
    else if (e->block == BLOCK_THINKING || e->block == BLOCK_REDACTED_THINKING)
        thought_done(c, now_ms);
    c->doing = DOING_WAIT;
}

/* ---- Calls ---- */

static void on_tool_started(struct chat *c, const struct event *e, int64_t now_ms)
{
    calls_started(c, e, now_ms);
    c->doing = DOING_CALLS;
}

static void on_tool_progress(struct chat *c, const struct event *e, int64_t now_ms)
{
    (void)now_ms;
    calls_progress(c, e);
}

static void on_tool_done(struct chat *c, const struct event *e, int64_t now_ms)
{
    (void)now_ms;
    calls_done(c, e);
    c->doing = c->calls.len ? DOING_CALLS : DOING_WAIT;
}

/* ---- User messages ---- */

static bool was_said(struct chat *c, struct str uuid)
{
    for (size_t i = 0; i < c->said.len; i++) {
        if (!str_is(uuid, c->said.ptr[i]))
            continue;
        mem_freep(&c->said.ptr[i]);
        for (size_t j = i; j < c->said.len; j++) /* and the terminating NULL */
            c->said.ptr[j] = c->said.ptr[j + 1];
        c->said.len--;
        return true;
    }
    return false;
}

/* Words, and a line for each picture. */
static void add_input(struct chat *c, const struct event *e)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    CLEANUP(buf_release) struct buf text = BUF_INIT(CHAT_MAX_TEXT);
    const struct json *v = NULL;

    (void)json_parse(&arena, e->json, &v, /*ret_info=*/NULL, /*err=*/NULL);
    buf_add(&text, str_clip(e->text, CHAT_MAX_TEXT / 2));
    JSON_EACH(json_get(v, "content"), it) {
        if (!str_is_word_of(json_get_str(it, "type"), "image document"))
            continue;
        if (text.len)
            buf_addc(&text, '\n');
        tool_view_image(it, c->ascii, &text);
    }
    if (str_trim(buf_str(&text)).len)
        (void)chat_add_text(c, ITEM_SAID, ROLE_SAID, /*mark=*/NULL, buf_str(&text));
}

/* Most of the text tenax adds is for the model alone. Feedback of a hook is shown too: otherwise
 * there is no visible reason for another step. A goal's verdict has its own entry. */
static void add_feedback(struct chat *c, struct str text)
{
    static const struct str feedback = STR_INIT("Stop hook feedback:\n");
    CLEANUP(buf_release) struct buf line = BUF_INIT(2 * EVENT_LINE);

    if (!str_starts(text, feedback) || c->told_verdict)
        return;
    text = str_trim(str_from(text, feedback.len));
    text = str_first(text, str_chr(text, '\n'));
    buf_addf(&line, "A hook sent it back: %.*s%s", STR_ARG(str_clip(text, EVENT_LINE)),
             text.len > EVENT_LINE ? "…" : "");
    (void)chat_add_text(c, ITEM_NOTE, ROLE_WARNING, c->ascii || c->plain ? NULL : "↻ ",
                        buf_str(&line));
}

static void on_user(struct chat *c, const struct event *e, int64_t now_ms)
{
    (void)now_ms;
    switch (e->user) {
    case USER_INPUT:
    case USER_APPENDED:
        c->told_interrupt = false;
        if (!was_said(c, e->id))
            add_input(c, e);
        if (e->show.len)
            (void)chat_add_text(c, ITEM_COMMAND, ROLE_FAINT, /*mark=*/NULL, e->show);
        break;
    case USER_MARKER:
        tell_interrupt(c);
        break;
    case USER_NOTICE:
    case USER_NOTICE_BETWEEN:
    case USER_ADDED:
        add_feedback(c, e->text);
        c->told_verdict = false;
        break;
    }
}

static void on_command(struct chat *c, const struct event *e, int64_t now_ms)
{
    struct chat_item *it;

    (void)now_ms;
    c->told_command = e->state == STATE_IDLE;
    if (!str_trim(e->text).len)
        return;
    it = chat_add_text(c, ITEM_COMMAND, ROLE_TEXT, /*mark=*/NULL,
                       e->data.len && !c->plain ? e->data : e->text);
    it->is_colored = e->data.len && !c->plain;
    it->is_markdown = e->is_markdown;
    it->is_error = e->is_error;
}

static void on_notice(struct chat *c, const struct event *e, int64_t now_ms)
{
    static const enum style_role roles[] = {
        [LEVEL_INFO] = ROLE_FAINT, [LEVEL_WARNING] = ROLE_WARNING, [LEVEL_ERROR] = ROLE_BAD};
    const char *marks[] = {
        [LEVEL_INFO] = c->plain || c->ascii ? NULL : "· ",
        [LEVEL_WARNING] = c->plain ? "Warning: " : "! ",
        [LEVEL_ERROR] = c->plain   ? "Error: "
                        : c->ascii ? "x "
                                   : "✗ ",
    };

    (void)now_ms;
    (void)chat_add_text(c, ITEM_NOTE, roles[e->level], marks[e->level], e->text);
}

/* ---- Beside the conversation ---- */

static void on_waiting(struct chat *c, const struct event *e, int64_t now_ms)
{
    (void)now_ms;
    if (e->total <= 0)
        return;
    c->doing = DOING_READ;
    c->processed = e->processed;
    c->total = e->total;
}

static void on_retry(struct chat *c, const struct event *e, int64_t now_ms)
{
    c->doing = DOING_RETRY;
    c->retry_ms = now_ms + e->delay_ms;
    buf_clear(&c->retry);
    buf_add(&c->retry, str_clip(e->text, EVENT_LINE));
    if (e->status)
        buf_addf(&c->retry, " (HTTP %d)", e->status);
    c->attempt = e->attempt;
    c->max_tries = e->max_tries;
    if (c->plain) { /* nothing moves there */
        CLEANUP(buf_release) struct buf text = BUF_INIT(2 * EVENT_LINE);

        buf_addf(&text, "Retrying in %" PRId64 " s: %s", (e->delay_ms + 999) / 1000,
                 buf_cstr(&c->retry));
        chat_note(c, ROLE_WARNING, buf_str(&text));
    }
}

static void on_hook_started(struct chat *c, const struct event *e, int64_t now_ms)
{
    buf_clear(&c->hook);
    buf_clear(&c->hook_id);
    if (e->show.len)
        buf_add(&c->hook, str_clip(e->show, EVENT_LINE));
    else
        buf_addf(&c->hook, "Running the hook %.*s", STR_ARG(str_clip(e->name, EVENT_LINE)));
    buf_add(&c->hook_id, e->id);
    c->hook_ms = now_ms;
}

/* One that fails is reported by a notice, one that refuses by the call it refuses. */
static void on_hook_done(struct chat *c, const struct event *e, int64_t now_ms)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(2 * EVENT_LINE);

    (void)now_ms;
    if (str_eq(buf_str(&c->hook_id), e->id))
        buf_clear(&c->hook);
    if (e->duration_ms < EVENT_SLOW_HOOK_MS)
        return;
    buf_addf(&text, "The hook %.*s took ", STR_ARG(str_clip(e->name, EVENT_LINE)));
    tool_view_elapsed(e->duration_ms, &text);
    (void)chat_add_text(c, ITEM_NOTE, ROLE_FAINT, c->plain || c->ascii ? NULL : "· ",
                        buf_str(&text));
}

/* What an agent does whose call runs: "Read(src/a.c) · 3 tool uses · 10.9k tokens". */
static void on_task_progress(struct chat *c, const struct event *e, int64_t now_ms)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(2 * EVENT_LINE);
    const char *dot = c->ascii || c->plain ? ", " : " · ";

    (void)now_ms;
    if (!e->task || !e->task->is_agent || e->task->is_background)
        return;
    buf_add(&text, str_clip(str_first(e->text, str_chr(e->text, '\n')), EVENT_LINE));
    if (e->task->tool_uses > 0)
        buf_addf(&text, "%s%" PRId64 " tool use%s", dot, e->task->tool_uses,
                 e->task->tool_uses == 1 ? "" : "s");
    if (e->task->tokens > 0) {
        buf_adds(&text, dot);
        agent_rows_count(e->task->tokens, &text);
        buf_adds(&text, " tokens");
    }
    calls_activity(c, e->tool_id, buf_str(&text));
}

/* Explore "Research hooks" finished after 12s: the first line of its report. */
static void agent_done(struct chat *c, const struct event *e, struct buf *ret)
{
    struct str what = str_clip(str_first(e->show, str_chr(e->show, '\n')), EVENT_LINE / 2);
    struct str said = str_trim(e->text);
    bool good = str_is(e->name, "completed");

    said = str_first(said, str_chr(said, '\n'));
    buf_addf(ret, "%s \"%.*s\" %s", e->task->type ? e->task->type : "Agent", STR_ARG(what),
             good                        ? "finished"
             : str_is(e->name, "failed") ? "failed"
                                         : "was stopped");
    if (e->task->duration_ms >= 1000) {
        buf_adds(ret, " after ");
        agent_rows_elapsed(e->task->duration_ms, ret);
    }
    if (said.len && !str_is(e->name, "killed"))
        buf_addf(ret, ": %.*s%s", STR_ARG(str_clip(said, EVENT_LINE / 2)),
                 said.len > EVENT_LINE / 2 ? (c->ascii ? "..." : "…") : "");
}

/* That it has begun is what its call answers. */
static void on_task_done(struct chat *c, const struct event *e, int64_t now_ms)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(4 * EVENT_LINE);
    bool good = str_is(e->name, "completed");
    struct str what = str_first(e->show, str_chr(e->show, '\n'));
    struct str how = str_first(e->text, str_chr(e->text, '\n'));

    (void)now_ms;
    if (e->task && !e->task->is_background) /* its call shows the end */
        return;
    if (e->task && e->task->is_agent)
        agent_done(c, e, &text);
    else
        buf_addf(&text, "Background task: %.*s%s: %.*s", STR_ARG(str_clip(what, EVENT_LINE)),
                 what.len > EVENT_LINE ? "…" : "", STR_ARG(str_clip(how, EVENT_LINE)));
    (void)chat_add_text(c, ITEM_NOTE, good ? ROLE_GOOD : ROLE_WARNING,
                        c->plain   ? NULL
                        : c->ascii ? "* "
                                   : "● ",
                        buf_str(&text));
}

static void on_compacting(struct chat *c, const struct event *e, int64_t now_ms)
{
    (void)e;
    (void)now_ms;
    c->doing = DOING_COMPACT;
}

static void on_compacted(struct chat *c, const struct event *e, int64_t now_ms)
{
    (void)now_ms;
    c->doing = DOING_WAIT;
    if (e->is_error) /* a notice or the result tells */
        return;
    c->told_command |= str_is(e->name, "manual"); /* its turn would say the same */
    chat_rule(c, str_first(e->text, str_chr(e->text, '\n')));
}

static void on_rewound(struct chat *c, const struct event *e, int64_t now_ms)
{
    (void)now_ms;
    chat_rule(c, str_first(e->text, str_chr(e->text, '\n')));
}

static void on_active_goal(struct chat *c, const struct event *e, int64_t now_ms)
{
    (void)now_ms;
    c->has_goal = !str_is(str_trim(e->json), "null");
}

static void (*const rows[])(struct chat *c, const struct event *e, int64_t now_ms) = {
    [EVENT_TURN_STARTED] = on_turn_started,
    [EVENT_STEP_STARTED] = on_step_started,
    [EVENT_BLOCK_STARTED] = on_block_started,
    [EVENT_BLOCK_DELTA] = on_block_delta,
    [EVENT_BLOCK_DONE] = on_block_done,
    [EVENT_STEP_DONE] = on_step_done,
    [EVENT_STEP_VOID] = on_step_void,
    [EVENT_STEP_CUT] = on_step_cut,
    [EVENT_TOOL_STARTED] = on_tool_started,
    [EVENT_TOOL_PROGRESS] = on_tool_progress,
    [EVENT_TOOL_DONE] = on_tool_done,
    [EVENT_USER] = on_user,
    [EVENT_WAITING] = on_waiting,
    [EVENT_RETRY] = on_retry,
    [EVENT_STATE] = on_state,
    [EVENT_HOOK_STARTED] = on_hook_started,
    [EVENT_HOOK_DONE] = on_hook_done,
    [EVENT_TASK_PROGRESS] = on_task_progress,
    [EVENT_TASK_DONE] = on_task_done,
    [EVENT_COMPACTING] = on_compacting,
    [EVENT_COMPACTED] = on_compacted,
    [EVENT_REWOUND] = on_rewound,
    [EVENT_GOAL] = goal_event_shown,
    [EVENT_ACTIVE_GOAL] = on_active_goal,
    [EVENT_COMMAND] = on_command,
    [EVENT_NOTICE] = on_notice,
    [EVENT_TURN_DONE] = on_turn_done,
};

void chat_event(struct chat *c, const struct event *e, int64_t now_ms)
{
    c->tail_cols = 0;
    if ((size_t)e->kind < ARRAY_LEN(rows) && rows[e->kind])
        rows[e->kind](c, e, now_ms);
}
