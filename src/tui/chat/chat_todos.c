/*
 * The model's to-do list while it works: below the status line and updated in place. The scrollback
 * gets it once a turn, in its final state. UI thread.
 */
#include "agent/event.h"
#include "base/arena.h"
#include "json/json.h"
#include "tui/chat/chat_state.h"
#include "tui/chat/tool_result.h"

#define TODOS_ROWS 6 /* of the list, beside a row for the rest */

static const struct json *todos_read(const struct chat *c, struct arena *arena)
{
    const struct json *v = NULL;

    if (!c->todos || json_parse(arena, c->todos->data, &v, /*ret_info=*/NULL, /*err=*/NULL) < 0)
        return NULL;
    return json_get(v, "newTodos");
}

static bool is_done(const struct json *todo)
{
    return str_is(json_get_str(todo, "status"), "completed");
}

bool todos_take(struct chat *c, struct event *done)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    const struct json *list;

    if (c->plain || c->verbose || done->is_error || !str_is(done->name, "TodoWrite"))
        return false;
    event_unref(c->todos);
    c->todos = event_ref(done);
    c->todos_told = false;
    buf_clear(&c->active);
    list = todos_read(c, &arena);
    JSON_EACH(list, it) {
        if (!c->active.len && str_is(json_get_str(it, "status"), "in_progress"))
            buf_add(&c->active, str_clip(json_get_str(it, "activeForm"), c->active.max));
    }
    return json_len(list) > 0;
}

void todos_turn_ends(struct chat *c)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    const struct json *list = todos_read(c, &arena);
    size_t left = 0;

    if (json_len(list) && !c->todos_told)
        chat_add(c, ITEM_CALL)->done = event_ref(c->todos);
    c->todos_told = true;
    JSON_EACH(list, it) {
        left += !is_done(it);
    }
    if (left)
        return;
    event_unref(c->todos);
    c->todos = NULL;
    buf_clear(&c->active);
}

/* The first one to show: finished ones are dropped first where not all fit. */
static size_t first_shown(const struct json *list, size_t rows)
{
    size_t count = json_len(list);
    size_t first = 0;

    while (count - first > rows && is_done(json_at(list, first)))
        first++;
    return first;
}

void todos_draw_live(const struct chat *c, const struct view *v, size_t max_rows, struct lines *ret)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    CLEANUP(hanging_release) struct hanging h = {0};
    const struct json *list = todos_read(c, &arena);
    size_t rows = max_rows < TODOS_ROWS ? max_rows : TODOS_ROWS;
    size_t count = json_len(list);
    size_t first;

    if (!c->busy || !count || rows < 2)
        return;
    rows -= count > rows;
    first = first_shown(list, rows);
    hanging_init(&h, ret, v->cols, STYLE(ROLE_FAINT), c->ascii ? "  |  " : "  ⎿  ", /*rest=*/NULL);
    h.cut = true;
    h.ascii = v->ascii;
    for (size_t i = first; i < count && i < first + rows; i++)
        tool_result_todo(json_at(list, i), c->ascii, &h);
    if (count > rows) {
        CLEANUP(buf_release) struct buf more = BUF_INIT(100);
        size_t below = count - first > rows ? count - first - rows : 0;

        if (first)
            buf_addf(&more, "%zu done", first);
        if (below)
            buf_addf(&more, "%s%zu more", first ? ", " : "", below);
        hanging_put(&h, STYLE(ROLE_FAINT), buf_str(&more));
        hanging_end(&h);
    }
}
