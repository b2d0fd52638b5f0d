/*
 * What came of a call, in few lines: for tool_view.c.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/str.h"
#include "tui/chat/hanging.h"

struct json;
struct tool_view;
struct view;

/* One result that is being drawn. */
struct tool_result_view {
    const struct tool_view *tool;
    const struct view *view;
    const struct json *input, *data; /* NULL: none, or no JSON */
    struct hanging *rows;            /* after "⎿" */
    struct lines *ret;               /* for what does not hang there (diffs) */
    bool *is_folded;                 /* set when something is left out */
};

/* Whether the title alone represents a result of this tool, unless it is an error. */
bool tool_result_is_brief(struct str tool);
/* After the title: "+3 -1"; or nothing. */
void tool_result_title(const struct tool_result_view *r, struct lines *ret);
void tool_result_draw(const struct tool_result_view *r);
/* A line of the model's list of things to do. */
void tool_result_todo(const struct json *todo, bool ascii, struct hanging *to);
