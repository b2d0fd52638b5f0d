/*
 * What happens in a thread as Codex clients know it: turns, and items in them.
 *
 * Takes the events of a running session or of a replayed transcript (host/record/replay.h), and
 * reports turns and items as they begin, change and end. A caller that wants a list keeps the
 * turns; else each is dropped when it has ended. Pure; one thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/str.h"
#include "base/vec.h"

struct event;
struct json;
struct jw;

#define ITEM_MAX_TEXT ((size_t)64 << 20)

enum item_kind {
    ITEM_USER,
    ITEM_AGENT,
    ITEM_REASONING,
    ITEM_COMMAND,
    ITEM_FILES,
    ITEM_MCP,
    ITEM_SEARCH,
    ITEM_HOOK, /* feedback of a Stop hook or of the referee */
    ITEM_COMPACTION,
    ITEM_TOOL, /* every other tool */
};

enum item_status {
    ITEM_RUNNING,
    ITEM_COMPLETED,
    ITEM_FAILED,
    ITEM_DECLINED,
};

struct codex_item {
    enum item_kind kind;
    enum item_status status;
    struct buf id, name;
    struct buf input; /* of a call: JSON */
    struct buf text;  /* its text; of a call its result */
    struct buf data;  /* of a call: its structured result */
    int64_t started_ms, completed_ms, duration_ms;
    int64_t exit_code;
};

enum turn_status {
    TURN_RUNNING,
    TURN_COMPLETED,
    TURN_INTERRUPTED,
    TURN_FAILED,
};

struct codex_turn {
    struct buf id;
    VEC(struct codex_item *) items;
    enum turn_status status;
    struct buf error, category;
    int http;
    int64_t started_ms, completed_ms, duration_ms;
};

struct items {
    const char *dir; /* of the session; lent */
    bool keeps;      /* turns that have ended */
    /* NULL: not needed. The arguments are lent. */
    void (*turn_started)(void *arg, const struct codex_turn *t);
    void (*item_started)(void *arg, const struct codex_turn *t, const struct codex_item *it);
    void (*item_delta)(void *arg, const struct codex_turn *t, const struct codex_item *it,
                       struct str delta);
    void (*item_completed)(void *arg, const struct codex_turn *t, const struct codex_item *it);
    /* is_over: whether a turn of the agent ends the turn that clients see. NULL: it does. */
    bool (*is_over)(void *arg, const struct event *e);
    void (*turn_completed)(void *arg, const struct codex_turn *t);
    void *arg;
    VEC(struct codex_turn *) turns; /* the last one may run */
    struct buf message;             /* id of the answer that is being said */
    struct buf answer;              /* in the form that the client wants, as the call has it */
    size_t blocks;                  /* of it, so far */
};

void items_release(struct items *s);
void items_event(struct items *s, const struct event *e);
struct codex_turn *items_running(const struct items *s); /* NULL: none runs */

/* Objects. with_items: all of them; else those of the summary (the last message). */
void item_write(const struct codex_item *it, const char *dir, struct jw *w);
enum turn_view {
    TURN_BARE,    /* items [] */
    TURN_SUMMARY, /* the last message */
    TURN_FULL,
};
void turn_write(const struct codex_turn *t, const char *dir, enum turn_view view, struct jw *w);
/* A structuredPatch of a result as hunks of a diff. */
void items_add_hunks(const struct json *hunks, struct buf *ret);
/* {message, codexErrorInfo, additionalDetails} */
void turn_write_error(const struct codex_turn *t, struct jw *w);
