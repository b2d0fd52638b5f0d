/*
 * The deadline of a goal, as a thread beside a turn that works for it. Everything in a turn that
 * takes time (the model, its retries, tools, hooks, checks, the judge, compaction) watches the
 * turn's cancel token, so setting that token at the deadline ends all of it. The wall clock is read
 * anew every few seconds: it may be set, and so may the deadline.
 */
#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "goal/goal_state.h"
#include "sync/cancel.h"

#define LOOK_MS 5000

struct alarm {
    struct goal *goal;
    struct cancel *turn; /* set at the deadline */
    struct cancel *stop; /* the turn is over */
    struct thread *thread;
};

bool goal_is_overdue(const struct goal *g)
{
    return g->row.deadline_ms && clock_wall_ms() >= g->row.deadline_ms;
}

/* How long to wait for the next look; 0: the turn has to end. */
static int64_t alarm_look(struct alarm *a)
{
    struct goal *g = a->goal;
    int64_t left = LOOK_MS;

    goal_enter(g);
    if (g->has && goal_is_active(g) && g->row.deadline_ms && str_is(g->row.goal_id, g->turn_goal)) {
        int64_t until = g->row.deadline_ms - clock_wall_ms();

        /* A turn that the user began in this terminal runs to its end. */
        if (until <= 0 && (g->drives || !g->spec.is_interactive)) {
            g->rang = true;
            left = 0;
        } else if (until > 0 && until < left) {
            left = until;
        }
    }
    goal_leave(g);
    return left;
}

static void alarm_run(void *arg)
{
    struct alarm *a = arg;

    for (;;) {
        int64_t ms = alarm_look(a);

        if (!ms) {
            cancel_set(a->turn);
            return;
        }
        if (cancel_wait(a->stop, ms, /*err=*/NULL) < 0)
            return;
    }
}

void alarm_start(struct goal *g)
{
    struct alarm *a;
    struct err err = {0};

    /* Waiting moves a virtual clock, so a wait beside the turn's own would reach every deadline. */
    if (g->alarm || !g->turn_cancel || !g->row.deadline_ms || !g->turn_goal[0] ||
        clock_is_virtual())
        return;
    a = mem_zalloc(sizeof(*a));
    a->goal = g;
    a->turn = cancel_ref(g->turn_cancel);
    a->stop = cancel_new(/*parent=*/NULL);
    a->thread = thread_start("alarm", alarm_run, a, &err);
    g->alarm = a;
    if (!a->thread)
        log_debug("goal", "the deadline is only looked at between calls: %s", err.text);
}

void alarm_stop(struct goal *g)
{
    struct alarm *a;

    goal_enter(g);
    a = TAKE_PTR(g->alarm);
    goal_leave(g);
    if (!a)
        return;
    cancel_set(a->stop);
    thread_join(a->thread);
    cancel_unref(a->stop);
    cancel_unref(a->turn);
    mem_freep(&a);
}
