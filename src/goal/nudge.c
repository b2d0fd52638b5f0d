/*
 * Somebody else has changed the row, another process as a rule: what that means for this one. Any
 * thread.
 */
#include "base/strv.h"
#include "goal/inside.h"
#include "json/jw.h"

/* It is gone: the transcript shall say so, or another machine would take it up again. */
static void nudged_clear(struct goal *g, struct str objective, struct str data)
{
    goal_close_old(g, /*say_cleared=*/false);
    g->row.objective = objective;
    goal_attach(g, /*met=*/true, /*sentinel=*/true, STR(""), /*achieved=*/false);
    g->row.objective = STR("");
    g->spec.host.arm(g->spec.host.arg, STR(""));
    goal_tell(g, "goal_cleared", data);
}

static void nudged_edit(struct goal *g)
{
    CLEANUP(strv_release) struct strv notes = STRV_INIT;
    CLEANUP(buf_release) struct buf data = BUF_INIT(1 << 10);
    struct jw w;

    (void)goal_adopt_parts(g, &notes);
    for (size_t i = 0; i < notes.len; i++)
        goal_notice(g, LEVEL_WARNING, "%s", notes.ptr[i]);
    g->claim.is_there = false;
    g->updated_due = true;
    g->spec.host.arm(g->spec.host.arg, goal_is_active(g) ? g->row.objective : STR(""));
    goal_attach(g, /*met=*/false, /*sentinel=*/true, STR(""), /*achieved=*/false);
    goal_tell_begin(g, &w, &data);
    jw_object_end(&w);
    goal_tell(g, "goal_updated", buf_str(&data));
}

static void nudged_status(struct goal *g, enum goal_status was)
{
    CLEANUP(buf_release) struct buf data = BUF_INIT(1 << 10);
    struct jw w;

    goal_tell_begin(g, &w, &data);
    jw_kcstr(&w, "from", goal_status_name(was));
    jw_kcstr(&w, "to", goal_status_name(g->row.status));
    jw_kcstr(&w, "by", "user");
    jw_object_end(&w);
    goal_tell(g, "goal_updated", buf_str(&data));
}

/* Its text is another than the one that is worked for. A look at the row may have come before. */
static bool is_edited(const struct goal *g, struct str objective, enum goal_status was)
{
    return !str_eq(objective, g->row.objective) ||
           (was == GOAL_ACTIVE && goal_is_active(g) &&
            !g->spec.host.is_armed(g->spec.host.arg, g->row.objective));
}

void goal_nudge(struct goal *g)
{
    CLEANUP(buf_release) struct buf objective = BUF_INIT(BUF_NO_LIMIT);
    CLEANUP(buf_release) struct buf data = BUF_INIT(1 << 10);
    struct err err = {0};
    enum goal_status was;
    struct jw w;
    bool had;

    lock_take(&g->permit);
    was = g->row.status;
    had = g->has;
    buf_add(&objective, g->row.objective);
    goal_tell_begin(g, &w, &data);
    jw_object_end(&w);
    if (goal_read_row(g, &err) == 0 && (had || g->has)) {
        if (had && g->has && is_edited(g, buf_str(&objective), was))
            nudged_edit(g);
        if (had && g->has && was != g->row.status)
            nudged_status(g, was);
        if (!g->has) {
            nudged_clear(g, buf_str(&objective), buf_str(&data));
        } else if (goal_is_active(g) && was != GOAL_ACTIVE) {
            memory_release(&g->memory);
            memory_init(&g->memory);
            memory_read(g->row.memory, &g->memory);
            goal_forget_guards(g);
            g->continuation_due = true;
            g->spec.host.arm(g->spec.host.arg, g->row.objective);
        }
        goal_tell_active(g);
    }
    lock_give(&g->permit);
    (void)g->spec.host.wake(g->spec.host.arg, /*err=*/NULL);
}
