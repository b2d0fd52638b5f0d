/*
 * Somebody else has changed the row, another process as a rule: what that means for this one.
 *
 * The row is read at many places, and a change must be told wherever it is seen first. So what
 * observers have heard is kept beside it, and compared. Any thread.
 */
#include "base/strv.h"
#include "goal/inside.h"
#include "json/jw.h"

void goal_is_heard(struct goal *g)
{
    g->heard.has = g->has;
    g->heard.status = g->row.status;
    buf_clear(&g->heard.objective);
    buf_add(&g->heard.objective, g->row.objective);
}

/* It is gone: the transcript shall say so, or another machine would take it up again. */
static void nudged_clear(struct goal *g)
{
    goal_close_old(g, /*say_cleared=*/false);
    g->row.objective = buf_str(&g->heard.objective);
    goal_attach(g, /*met=*/true, /*sentinel=*/true, STR(""), /*achieved=*/false);
    g->row.objective = STR("");
    g->spec.host.arm(g->spec.host.arg, STR(""));
    goal_tell(g, "goal_cleared", buf_str(&g->heard.gone));
}

static void take_parts(struct goal *g)
{
    CLEANUP(strv_release) struct strv notes = STRV_INIT;

    (void)goal_adopt_parts(g, &notes);
    for (size_t i = 0; i < notes.len; i++)
        goal_notice(g, LEVEL_WARNING, "%s", notes.ptr[i]);
}

static void nudged_edit(struct goal *g)
{
    CLEANUP(buf_release) struct buf data = BUF_INIT(1 << 10);
    struct jw w;

    take_parts(g);
    g->claim.is_there = false;
    g->updated_due = true;
    g->spec.host.arm(g->spec.host.arg, goal_is_active(g) ? g->row.objective : STR(""));
    goal_attach(g, /*met=*/false, /*sentinel=*/true, STR(""), /*achieved=*/false);
    goal_tell_begin(g, &w, &data);
    jw_ki64(&w, "objective_chars", (int64_t)goal_count_points(goal_words_now(g).objective));
    jw_object_end(&w);
    goal_tell(g, "goal_updated", buf_str(&data));
}

static void nudged_status(struct goal *g)
{
    CLEANUP(buf_release) struct buf data = BUF_INIT(1 << 10);
    struct jw w;

    goal_tell_begin(g, &w, &data);
    jw_kcstr(&w, "from", goal_status_name(g->heard.status));
    jw_kcstr(&w, "to", goal_status_name(g->row.status));
    jw_kcstr(&w, "by", "user");
    jw_object_end(&w);
    goal_tell(g, "goal_updated", buf_str(&data));
}

/* It is worked for from here on. */
static void nudged_begin(struct goal *g)
{
    take_parts(g);
    goal_forget_guards(g);
    g->continuation_due = true;
    g->spec.host.arm(g->spec.host.arg, g->row.objective);
}

/* A budget that this turn has used up is nobody else's doing; the referee tells of it. */
static bool is_own_limit(const struct goal *g)
{
    return g->in_turn && g->row.status == GOAL_BUDGET_LIMITED && !g->memory.told_limit;
}

void goal_catch_up(struct goal *g)
{
    const struct goal_heard *h = &g->heard;
    bool had = h->has;
    bool has_other_status = had && g->has && h->status != g->row.status && !is_own_limit(g);
    bool is_edited = had && g->has && !str_eq(buf_str(&h->objective), g->row.objective);

    if (had == g->has && !has_other_status && !is_edited)
        return;
    g->is_elsewhere = true;
    if (is_edited)
        nudged_edit(g);
    if (has_other_status)
        nudged_status(g);
    if (had && !g->has)
        nudged_clear(g);
    if (goal_is_active(g) && (!had || has_other_status))
        nudged_begin(g);
    goal_tell_active(g);
    g->is_elsewhere = false;
    goal_is_heard(g);
}

void goal_nudge(struct goal *g)
{
    struct err err = {0};

    lock_take(&g->permit);
    if (goal_read_row(g, &err) == 0)
        goal_catch_up(g);
    lock_give(&g->permit);
    (void)g->spec.host.wake(g->spec.host.arg, /*err=*/NULL);
}
