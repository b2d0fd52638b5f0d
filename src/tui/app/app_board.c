/*
 * app_board: the task list above the prompt, which Ctrl-T shows and hides while nothing is written.
 * It is read from its files by a chore when something has happened, and once a second, because
 * other processes may change it. UI thread.
 */
#include "base/clock.h"
#include "base/err.h"
#include "host/chore.h"
#include "host/host.h"
#include "tasks/team/team.h"
#include "tui/app/app.h"
#include "tui/editor/editor.h"
#include "tui/screen/keypress.h"
#include "tui/screen/term.h"
#include "tui/status/board_rows.h"

#define BOARD_TICK_MS 1000
#define BOARD_ROOMY_ROWS 5 /* of its part: there is room for a blank row above it */

struct board_chore {
    struct chore chore;
    struct team *team;
    struct board board;
    struct strv gone; /* owners that have left the team */
};

static void board_run(struct chore *e)
{
    struct board_chore *c = (struct board_chore *)e;
    CLEANUP(buf_release) struct buf list = BUF_INIT(BUF_NO_LIMIT);

    team_list_id(c->team, &list);
    if (board_init(&c->board, team_home(c->team), buf_str(&list), /*err=*/NULL) < 0 ||
        board_read(&c->board, /*err=*/NULL) < 0)
        return;
    VEC_EACH(&c->board.items, i) {
        if (i->owner.len && team_find(c->team, i->owner) == TEAM_GONE)
            strv_add(&c->gone, i->owner);
    }
}

static void board_done(struct chore *e, void *arg)
{
    struct board_chore *c = (struct board_chore *)e;
    struct app *a = arg;
    struct board old = a->board.list;
    struct strv old_gone = a->board.gone;

    a->board.is_asked = false;
    if (!a->board.is_shown)
        return;
    a->board.list = c->board;
    a->board.gone = c->gone;
    a->board.is_read = true;
    c->board = old;
    c->gone = old_gone;
    a->is_dirty = true;
}

static void board_free(struct chore *e)
{
    struct board_chore *c = (struct board_chore *)e;

    board_release(&c->board);
    strv_release(&c->gone);
    mem_freep(&e);
}

static void board_ask(struct app *a)
{
    struct board_chore *c;

    a->board.asked_ms = clock_mono_ms();
    if (a->board.is_asked || !app_host(a))
        return;
    a->board.is_asked = true;
    c = chore_new(sizeof(*c), board_run, board_done, board_free);
    c->team = host_team(app_host(a));
    chores_give(a->chores, c);
}

void app_board_tick(struct app *a)
{
    if (app_board_due(a) >= 0 && clock_mono_ms() >= app_board_due(a))
        board_ask(a);
}

int64_t app_board_due(const struct app *a)
{
    return a->board.is_shown ? a->board.asked_ms + BOARD_TICK_MS : -1;
}

static bool is_gone(void *arg, struct str owner)
{
    return strv_has(arg, owner);
}

void app_board_draw(struct app *a, const struct view *v, struct lines *ret)
{
    struct view part = *v;

    if (!a->board.is_shown || !a->board.is_read)
        return;
    if (v->rows >= BOARD_ROOMY_ROWS) {
        lines_end(ret);
        part.rows--;
    }
    board_rows_draw(&a->board.list, is_gone, &a->board.gone, &part, ret);
}

bool app_board_key(struct app *a, const struct keypress *k)
{
    if (!keypress_is(k, "ctrl+t") || !editor_is_empty(a->editor) || term_able(a->term)->is_plain)
        return false;
    a->board.is_shown = !a->board.is_shown;
    a->board.is_read = false;
    if (a->board.is_shown)
        board_ask(a);
    return true;
}

void app_board_release(struct app *a)
{
    board_release(&a->board.list);
    strv_release(&a->board.gone);
}
