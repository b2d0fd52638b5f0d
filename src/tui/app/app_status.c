/*
 * app_status: the rows below the editor: the built-in line, or the user's own status line and below
 * it the permission mode, the goal and the background tasks. UI thread.
 */
#include <math.h>

#include "base/clock.h"
#include "goal/report/display.h"
#include "guard/permit.h"
#include "host/host.h"
#include "tui/app/app.h"
#include "tui/chat/chat.h"
#include "tui/editor/editor.h"
#include "tui/status/statusline.h"

/* How it stands and, while it is worked for, how far it is: "goal 12.5K / 50K · 3 turns · why the
 * last verdict was no". */
static void status_pill(const struct goal_look *look, struct buf *ret)
{
    size_t empty;

    buf_adds(ret, "goal ");
    empty = ret->len;
    goal_show_indicator(look, ret);
    if (look->goal->status != GOAL_ACTIVE)
        return;
    if (ret->len > empty)
        buf_adds(ret, " · ");
    goal_show_pill(look, ret);
}

static void status_of(struct app *a, struct status *s, struct buf *pill)
{
    struct host *host = app_host(a);

    *s = (struct status){
        .model = buf_str(&a->figures.model),
        .context_percent = -1,
        .usd = a->figures.has_usd ? a->figures.usd : NAN,
        .mode = host ? permit_mode_name(permit_mode(host_permit(host))) : "default",
        .vim = editor_vim_mode(a->editor),
        .branch = buf_str(&a->figures.branch),
        .tasks = a->figures.tasks,
        .coordinates = host && host_coordinates(host),
    };
    if (a->agents.team.len) {
        buf_clear(&a->agents.pill);
        buf_addf(&a->agents.pill, "team %.*s %zu/%zu", STR_ARG(a->agents.team),
                 a->agents.busy_members, a->agents.members);
        s->team = buf_str(&a->agents.pill);
    }
    if (a->figures.window > 0 && a->figures.context_tokens >= a->figures.window)
        s->context_percent = 100;
    else if (a->figures.window > 0 && a->figures.context_tokens > 0)
        s->context_percent = (int)(a->figures.context_tokens * 100 / a->figures.window);
    if (host && a->goal.is_there) {
        struct goal_look look = {
            .goal = &a->goal.row,
            .now_ms = clock_mono_ms(),
            .read_ms = a->goal.read_ms,
            .turn_ms = chat_is_busy(a->chat) ? a->turn_ms : 0,
            .plan_mode = permit_mode(host_permit(host)) == MODE_PLAN,
        };

        status_pill(&look, pill);
        s->goal = buf_str(pill);
    }
}

void app_status_happened(struct app *a, int why)
{
    CLEANUP(buf_release) struct buf pill = BUF_INIT(4096);
    struct status s;

    if (!a->statusline)
        return;
    status_of(a, &s, &pill);
    statusline_happened(a->statusline, (enum status_reason)why, &s);
}

/* The person's own line. Until another session's says something, the old one stays. */
static void status_own(struct app *a, const struct view *v, struct lines *ret)
{
    if (a->statusline && (statusline_has_text(a->statusline) || !lines_count(&a->own_status))) {
        lines_clear(&a->own_status);
        statusline_draw(a->statusline, v, &a->own_status);
    }
    for (size_t i = 0; i < lines_count(&a->own_status); i++)
        lines_add_cut(ret, lines_at(&a->own_status, i), v->cols, v->ascii);
}

/* A hint stands in the place of the first row, so that nothing jumps, but never in that of mode,
 * goal and tasks. A command may print any number of lines: the first ones are shown. */
void app_status_draw(struct app *a, const struct view *v, struct lines *ret)
{
    CLEANUP(buf_release) struct buf pill = BUF_INIT(4096);
    struct lines rows = LINES_INIT;
    struct str hint = buf_str(&a->hint);
    size_t most = v->rows > 1 ? (size_t)v->rows - 1 : 0; /* of the user's own */
    struct status s;

    if (v->rows <= 0)
        return;
    status_of(a, &s, &pill);
    if (a->agents.has_focus && !a->hint.len)
        hint = app_agents_hint(a);
    if (a->statusline)
        a->has_own_status = statusline_is_on(a->statusline);
    if (!a->has_own_status) {
        lines_clear(&a->own_status);
        s.hint = hint;
        status_draw(&s, v, ret);
        return;
    }
    if (hint.len) {
        lines_put(&rows, STYLE(ROLE_FAINT), hint);
        lines_end(&rows);
    }
    status_own(a, v, &rows);
    for (size_t i = 0; i < lines_count(&rows) && lines_count(ret) < most; i++) {
        if (i != 1 || !hint.len) /* the row that the hint hides */
            lines_add_cut(ret, lines_at(&rows, i), v->cols, v->ascii);
    }
    status_draw_state(&s, v, ret);
    lines_release(&rows);
}
