/*
 * thread_goal: whether a turn goes on.
 */
#include "proto/thread_goal.h"

#include "agent/event.h"
#include "base/arena.h"
#include "goal/goal.h"
#include "guard/permit.h"
#include "host/host.h"

bool thread_goal_goes_on(struct host *h, const struct turn_report *r)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    struct store_goal row;

    if (r->end == END_ABORTED_STREAMING || r->end == END_ABORTED_TOOLS || r->end == END_BUDGET ||
        permit_mode(host_permit(h)) == MODE_PLAN || !host_goal(h))
        return false;
    return goal_get(host_goal(h), &arena, &row, /*err=*/NULL) > 0 && row.status == GOAL_ACTIVE &&
           !str_is(row.phase, "waiting");
}
