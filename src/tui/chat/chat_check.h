/*
 * A conversation from a script, for tests: a line per event.
 *
 *     said hello                     what the person sent
 *     user hello                     EVENT_USER of another front end; "added", "marker": the others
 * kinds turn, step, step-done 120      TURN_STARTED, STEP_STARTED, STEP_DONE with output tokens
 *     text Hi.                       a whole block of text; "open", "more", "close" are its parts
 *     think 3000 Hm.                 a block of thinking that takes so many ms
 *     call a Bash {"command":"ls"}   a call: its block and TOOL_STARTED; "input" only the beginning
 *     progress a one\ntwo            its output
 *     result a text ⇒ {"data":1}     TOOL_DONE; "fail a text" an error, "deny a text" a no
 *     void, retry 4000 503 why       STEP_VOID, RETRY
 *     notice 1 text                  of that level
 *     goal goal_verdict {…}          EVENT_GOAL; "active {…}" EVENT_ACTIVE_GOAL
 *     command goal text              its answer, alone; "command+" within a turn; "command*" the
 *                                    model's words
 *     hook Stop 7000                 a hook that takes so many ms; "hooks Stop" one that begins;
 *                                    "hooks Stop words" with what it wants to be shown
 *     task completed what => how     a background command is over
 *     waiting 10 100, compacting, compacted text, rewound text, state 2, note text, rule text
 *     end, end-error category text   TURN_DONE; "end-ms 61000", "end-abort"
 *     wait 3000                      time passes
 *     take, lost 2, verbose          the app's side
 */
#pragma once

#include <string.h>

#include "agent/event.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/mem.h"
#include "tui/chat/chat.h"

struct chat_check {
    struct chat *chat;
    struct view view;
    int64_t now_ms;
    struct lines taken;
    unsigned takes; /* of 256: how often something is taken between two events, by chance */
    uint64_t seed;
};

static int64_t number(struct str *rest)
{
    struct str word;
    int64_t n = 0;

    if (!str_cut(rest, ' ', &word) || str_to_i64(word, &n, /*err=*/NULL) < 0)
        BUG("a number is missing");
    return n;
}

static struct str word(struct str *rest)
{
    struct str w = STR("");

    (void)str_cut(rest, ' ', &w);
    return w;
}

/* "\n" written as two characters. */
static struct str unescaped(struct event *e, struct str text)
{
    CLEANUP(buf_release) struct buf out = BUF_INIT(1 << 20);

    for (size_t i = 0; i < text.len; i++) {
        bool is_break = text.ptr[i] == '\\' && i + 1 < text.len && text.ptr[i + 1] == 'n';

        buf_addc(&out, is_break ? '\n' : text.ptr[i]);
        i += is_break;
    }
    return arena_str(&e->arena, buf_str(&out));
}

static void send(struct chat_check *k, struct event *e)
{
    chat_event(k->chat, e, k->now_ms);
    event_unref(e);
}

static inline void chat_check_take(struct chat_check *k)
{
    k->view.now_ms = k->now_ms;
    chat_take(k->chat, &k->view, &k->taken);
}

static void chance(struct chat_check *k)
{
    k->seed = k->seed * 6364136223846793005u + 1442695040888963407u;
    if ((k->seed >> 56) < k->takes)
        chat_check_take(k);
}

static struct event *block_event(enum event_kind kind, enum block_kind block, struct str text)
{
    struct event *e = event_new(kind);

    e->block = block;
    e->text = unescaped(e, text);
    return e;
}

/* Deltas of a few bytes each. */
static void deltas(struct chat_check *k, enum block_kind block, struct str text)
{
    struct event *whole = block_event(EVENT_BLOCK_DELTA, block, text);
    struct str rest = whole->text;

    while (rest.len) {
        struct str part = str_clip(rest, rest.len < 7 ? rest.len : 7);
        struct event *e = event_new(EVENT_BLOCK_DELTA);

        e->block = block;
        e->text = arena_str(&e->arena, part);
        send(k, e);
        chance(k);
        rest = str_from(rest, part.len);
    }
    event_unref(whole);
}

static void play_open(struct chat_check *k, struct str text)
{
    send(k, block_event(EVENT_BLOCK_STARTED, BLOCK_TEXT, STR("")));
    deltas(k, BLOCK_TEXT, text);
}

static void play_text(struct chat_check *k, struct str text)
{
    send(k, block_event(EVENT_BLOCK_STARTED, BLOCK_TEXT, STR("")));
    deltas(k, BLOCK_TEXT, text);
    send(k, block_event(EVENT_BLOCK_DONE, BLOCK_TEXT, text));
}

static void play_think(struct chat_check *k, struct str rest)
{
    int64_t ms = number(&rest);

    send(k, block_event(EVENT_BLOCK_STARTED, BLOCK_THINKING, STR("")));
    deltas(k, BLOCK_THINKING, rest);
    k->now_ms += ms;
    send(k, block_event(EVENT_BLOCK_DONE, BLOCK_THINKING, STR("")));
}

static struct event *call_event(enum event_kind kind, struct str id, struct str name)
{
    struct event *e = event_new(kind);

    e->block = BLOCK_TOOL_USE;
    e->id = arena_str(&e->arena, id);
    e->name = arena_str(&e->arena, name);
    return e;
}

static void play_call(struct chat_check *k, struct str rest, bool whole)
{
    struct str id = word(&rest);
    struct str name = word(&rest);
    struct event *e;

    send(k, call_event(EVENT_BLOCK_STARTED, id, name));
    deltas(k, BLOCK_TOOL_USE, rest);
    if (!whole)
        return;
    send(k, call_event(EVENT_BLOCK_DONE, id, name));
    e = call_event(EVENT_TOOL_STARTED, id, name);
    e->json = arena_str(&e->arena, rest);
    send(k, e);
}

static void play_result(struct chat_check *k, struct str rest, bool is_error, enum err_code error)
{
    static const struct str arrow = STR_INIT(" ⇒ ");
    struct str id = word(&rest);
    struct str name = word(&rest);
    size_t at = str_find(rest, arrow);
    struct event *e = call_event(EVENT_TOOL_DONE, id, name);

    e->is_error = is_error;
    e->error = error;
    e->text = unescaped(e, str_first(rest, at));
    e->data = arena_str(&e->arena, str_from(rest, at + arrow.len));
    e->duration_ms = 100;
    send(k, e);
}

static void play_end(struct chat_check *k, struct turn_report report)
{
    struct event *e = event_new(EVENT_TURN_DONE);
    struct turn_report *r = arena_new(&e->arena, struct turn_report);

    *r = report;
    r->steps = 1;
    r->error = unescaped(e, report.error);
    r->category = arena_str(&e->arena, report.category);
    e->report = r;
    send(k, e);
}

static void play_error(struct chat_check *k, struct str rest)
{
    struct turn_report r = {.end = END_API_ERROR, .is_error = true, .category = word(&rest)};

    r.error = rest;
    play_end(k, r);
}

static void play_command(struct chat_check *k, struct str rest, bool alone, bool is_markdown)
{
    struct event *e = event_new(EVENT_COMMAND);

    if (alone)
        send(k, event_new(EVENT_TURN_STARTED));
    e->name = arena_str(&e->arena, word(&rest));
    e->text = unescaped(e, rest);
    e->state = alone ? STATE_IDLE : STATE_RUNNING;
    e->is_markdown = is_markdown;
    send(k, e);
    if (alone) {
        struct event *end = event_new(EVENT_TURN_DONE);
        struct turn_report *r = arena_new(&end->arena, struct turn_report);

        r->result = unescaped(end, rest);
        end->report = r;
        send(k, end);
    }
}

static void play_hook(struct chat_check *k, struct str rest, bool whole)
{
    struct event *e = call_event(EVENT_HOOK_STARTED, STR("h1"), word(&rest));
    struct event *done = call_event(EVENT_HOOK_DONE, STR("h1"), e->name);

    if (!whole)
        e->show = unescaped(e, rest);
    send(k, e);
    if (whole) {
        done->duration_ms = number(&rest);
        k->now_ms += done->duration_ms;
        send(k, done);
    } else {
        event_unref(done);
    }
}

static struct event *text_event(enum event_kind kind, struct str text)
{
    struct event *e = event_new(kind);

    e->text = unescaped(e, text);
    return e;
}

static void play_user(struct chat_check *k, struct str text, enum event_user user)
{
    struct event *e = text_event(EVENT_USER, text);

    e->user = user;
    e->id = STR("0000");
    send(k, e);
}

/* Those that need more than their text. */
static bool play_more(struct chat_check *k, struct str verb, struct str rest)
{
    struct event *e;

    if (str_is(verb, "step-done")) {
        e = event_new(EVENT_STEP_DONE);
        e->usage.output = rest.len ? number(&rest) : 0;
    } else if (str_is(verb, "retry")) {
        e = event_new(EVENT_RETRY);
        e->delay_ms = number(&rest);
        e->status = (int)number(&rest);
        e->attempt = 2;
        e->max_tries = 10;
        e->text = unescaped(e, rest);
    } else if (str_is(verb, "notice")) {
        e = event_new(EVENT_NOTICE);
        e->level = (enum event_level)number(&rest);
        e->text = unescaped(e, rest);
    } else if (str_is(verb, "goal")) {
        e = event_new(EVENT_GOAL);
        e->name = arena_str(&e->arena, word(&rest));
        e->json = arena_str(&e->arena, rest);
        e->time_ms = 1000000;
    } else if (str_is(verb, "active")) {
        e = event_new(EVENT_ACTIVE_GOAL);
        e->json = arena_str(&e->arena, rest);
    } else if (str_is(verb, "task")) {
        size_t how;

        e = event_new(EVENT_TASK_DONE);
        e->name = arena_str(&e->arena, word(&rest));
        how = str_find(rest, STR(" => "));
        e->show = unescaped(e, str_first(rest, how));
        e->text = unescaped(e, str_from(rest, how + 4));
    } else if (str_is(verb, "waiting")) {
        e = event_new(EVENT_WAITING);
        e->processed = number(&rest);
        e->total = number(&rest);
    } else if (str_is(verb, "state")) {
        e = event_new(EVENT_STATE);
        e->state = (enum event_state)number(&rest);
    } else if (str_is(verb, "ended") || str_is(verb, "ended-badly")) {
        e = call_event(EVENT_TOOL_PROGRESS, word(&rest), STR(""));
        e->ended = true;
        e->is_error = str_is(verb, "ended-badly");
    } else if (str_is(verb, "progress")) {
        e = call_event(EVENT_TOOL_PROGRESS, word(&rest), STR(""));
        e->text = unescaped(e, rest);
    } else {
        return false;
    }
    send(k, e);
    return true;
}

static bool play_simple(struct chat_check *k, struct str verb, struct str rest)
{
    static const struct {
        const char *verb;
        enum event_kind kind;
    } rows[] = {
        {"turn", EVENT_TURN_STARTED},     {"step", EVENT_STEP_STARTED},
        {"void", EVENT_STEP_VOID},        {"cut", EVENT_STEP_CUT},
        {"compacting", EVENT_COMPACTING}, {"compacted", EVENT_COMPACTED},
        {"rewound", EVENT_REWOUND},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        if (str_is(verb, rows[i].verb)) {
            send(k, text_event(rows[i].kind, rest));
            return true;
        }
    }
    return false;
}

static void play_line(struct chat_check *k, struct str rest)
{
    struct str verb = word(&rest);

    if (play_simple(k, verb, rest) || play_more(k, verb, rest))
        return;
    if (str_is(verb, "said"))
        chat_said(k->chat, rest, STR("0000"));
    else if (str_is(verb, "user"))
        play_user(k, rest, USER_INPUT);
    else if (str_is(verb, "added"))
        play_user(k, rest, USER_ADDED);
    else if (str_is(verb, "marker"))
        play_user(k, rest, USER_MARKER);
    else if (str_is(verb, "text"))
        play_text(k, rest);
    else if (str_is(verb, "open"))
        play_open(k, rest);
    else if (str_is(verb, "more"))
        deltas(k, BLOCK_TEXT, rest);
    else if (str_is(verb, "close"))
        send(k, block_event(EVENT_BLOCK_DONE, BLOCK_TEXT, STR("")));
    else if (str_is(verb, "think"))
        play_think(k, rest);
    else if (str_is(verb, "call"))
        play_call(k, rest, /*whole=*/true);
    else if (str_is(verb, "input"))
        play_call(k, rest, /*whole=*/false);
    else if (str_is(verb, "result"))
        play_result(k, rest, /*is_error=*/false, ERR_NONE);
    else if (str_is(verb, "fail"))
        play_result(k, rest, /*is_error=*/true, ERR_NONE);
    else if (str_is(verb, "deny"))
        play_result(k, rest, /*is_error=*/true, ERR_DENIED);
    else if (str_is(verb, "verbose"))
        chat_set_verbose(k->chat, true);
    else if (str_is(verb, "command"))
        play_command(k, rest, /*alone=*/true, /*is_markdown=*/false);
    else if (str_is(verb, "command*"))
        play_command(k, rest, /*alone=*/true, /*is_markdown=*/true);
    else if (str_is(verb, "command+"))
        play_command(k, rest, /*alone=*/false, /*is_markdown=*/false);
    else if (str_is(verb, "hook"))
        play_hook(k, rest, /*whole=*/true);
    else if (str_is(verb, "hooks"))
        play_hook(k, rest, /*whole=*/false);
    else if (str_is(verb, "note"))
        chat_note(k->chat, ROLE_FAINT, rest);
    else if (str_is(verb, "rule"))
        chat_rule(k->chat, rest);
    else if (str_is(verb, "end"))
        play_end(k, (struct turn_report){0});
    else if (str_is(verb, "end-ms"))
        play_end(k, (struct turn_report){.worked_ms = number(&rest)});
    else if (str_is(verb, "end-abort"))
        play_end(k, (struct turn_report){.end = END_ABORTED_STREAMING, .is_error = true});
    else if (str_is(verb, "end-error"))
        play_error(k, rest);
    else if (str_is(verb, "asked"))
        chat_asked(k->chat, rest);
    else if (str_is(verb, "answered"))
        chat_answered(k->chat, rest, k->now_ms);
    else if (str_is(verb, "wait"))
        k->now_ms += number(&rest);
    else if (str_is(verb, "take"))
        chat_check_take(k);
    else if (str_is(verb, "lost"))
        chat_lost(k->chat, (size_t)number(&rest));
    else
        BUG("no such line in a script: %.*s", STR_ARG(verb));
}

static inline void chat_check_init(struct chat_check *k, int cols, int rows)
{
    *k = (struct chat_check){
        .chat = chat_new(&(struct chat_spec){.dir = "/p"}),
        .view = {.cols = cols, .rows = rows},
        .now_ms = 1000,
        .taken = LINES_INIT,
    };
}

static inline void chat_check_release(struct chat_check *k)
{
    chat_free(k->chat);
    lines_release(&k->taken);
}

static inline void chat_check_play(struct chat_check *k, const char *script)
{
    struct str rest = str_of(script);
    struct str line;

    while (rest.len && str_cut(&rest, '\n', &line)) {
        if (line.len)
            play_line(k, line);
        chance(k);
    }
}

/* The taken lines, and after them, following a line "~ rows of text", the live ones. */
static inline void chat_check_text(struct chat_check *k, bool with_live, struct buf *ret)
{
    CLEANUP(lines_release) struct lines live = LINES_INIT;
    size_t text_rows = 0;

    lines_text(&k->taken, ret);
    if (!with_live)
        return;
    k->view.now_ms = k->now_ms;
    chat_live(k->chat, &k->view, &live, &text_rows);
    buf_addf(ret, "~ %zu\n", text_rows);
    lines_text(&live, ret);
}
