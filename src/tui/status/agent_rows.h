/*
 * The rows below the status line that show who is at work: the main agent, the agents it has
 * started and the members of a team, a row each.
 *
 *     ❯ ● main
 *       ○ Explore  Research hooks   23s · ↓ 10.9k tokens
 *
 * A filled mark stands for the conversation that is on the screen. Pure functions; UI thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"
#include "tui/dialog/panel.h"
#include "tui/screen/line.h"

#define AGENT_ROWS_MAX 5 /* beside one that says how many more there are */
#define AGENT_ROWS_NONE ((size_t)-1)

struct agent_row {
    struct str name;  /* "main", "Explore", "@lint" */
    struct str what;  /* what it is for, in a few words; may be empty */
    struct str doing; /* what it does just now: "Read(src/a.c)"; may be empty */
    struct str state; /* in place of the time: "asks", "failed"; empty: it works */
    enum style_role role;
    const char *color;  /* of a team member: "blue"; NULL: none */
    int64_t elapsed_ms; /* -1: not shown */
    int64_t tokens;     /* 0: not known */
    bool is_shown;      /* its conversation is on the screen */
    bool is_running;
};

/* focus: the row under the cursor, or AGENT_ROWS_NONE. At most v->rows rows. */
void agent_rows_draw(const struct agent_row *rows, size_t count, size_t focus, const struct view *v,
                     struct lines *ret);
/* "23s", "4m 2s", "2h 5m": short, for a figure that moves. */
void agent_rows_elapsed(int64_t ms, struct buf *ret);
/* "950", "10.9k", "1.2M". */
void agent_rows_count(int64_t n, struct buf *ret);
/* The color that a team gives to a member, as a style's fg; 0: it is none. */
uint32_t agent_rows_color(const char *name);
