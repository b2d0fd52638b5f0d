/*
 * statusline_plan: two points in time. Any thread.
 */
#include "tui/status/statusline_plan.h"

#include "tui/status/statusline.h"

void statusline_plan_happened(struct statusline_plan *p, int64_t now_ms)
{
    p->due = now_ms + STATUSLINE_DEBOUNCE_MS;
}

void statusline_plan_settings(struct statusline_plan *p, int64_t now_ms, int64_t interval_ms,
                              bool is_other_command)
{
    if (is_other_command)
        p->due = now_ms;
    if (interval_ms != p->interval_ms || is_other_command)
        p->tick = interval_ms > 0 ? now_ms + interval_ms : -1;
    p->interval_ms = interval_ms;
}

void statusline_plan_stop(struct statusline_plan *p)
{
    *p = (struct statusline_plan)STATUSLINE_PLAN_INIT;
}

int64_t statusline_plan_next(const struct statusline_plan *p)
{
    if (p->due < 0 || p->tick < 0)
        return p->due < 0 ? p->tick : p->due;
    return p->due < p->tick ? p->due : p->tick;
}

bool statusline_plan_step(struct statusline_plan *p, int64_t now_ms)
{
    if (p->tick >= 0 && p->tick <= now_ms) {
        p->tick = now_ms + p->interval_ms;
        if (p->due < 0)
            p->due = now_ms + STATUSLINE_DEBOUNCE_MS;
    }
    if (p->due < 0 || p->due > now_ms)
        return false;
    p->due = -1;
    return true;
}
