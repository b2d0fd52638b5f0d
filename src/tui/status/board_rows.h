/*
 * The work items of a session or team, a row each:
 *
 *     ✔ #1 Read the parser
 *     ◼ #2 Write the tests  alice
 *     ◻ #3 Publish  › blocked by #2
 *
 * Pure functions; UI thread.
 */
#pragma once

#include <stddef.h>

#include "tasks/team/board.h"
#include "tui/dialog/panel.h"
#include "tui/screen/line.h"

#define BOARD_ROWS_OPEN 5 /* open items that are shown; a row counts the others */
#define BOARD_ROWS_DONE 2 /* the latest completed ones */

/* is_gone: whether that owner has left the team; may be NULL. At most v->rows rows. */
void board_rows_draw(struct board *b, bool (*is_gone)(void *arg, struct str owner), void *arg,
                     const struct view *v, struct lines *ret);
