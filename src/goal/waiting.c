/*
 * A goal that waits: what for stands in the row, who watches is a thread of wait.h, and the agent
 * is woken once. The goal is held.
 */
#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "goal/goal_state.h"
#include "json/jw.h"

/* The row's phase_detail: what people see, and the wait itself. */
static void write_detail(const struct goal *g, struct buf *ret)
{
    CLEANUP(buf_release) struct buf what = BUF_INIT(WAIT_MAX_TEXT);
    CLEANUP(buf_release) struct buf json = BUF_INIT(2 * WAIT_MAX_TEXT);
    struct jw w;

    wait_describe(&g->wait, clock_wall_ms(), &what);
    wait_write(&g->wait, &json);
    jw_init(&w, ret, 0);
    jw_object(&w);
    jw_kstr(&w, "what", buf_str(&what));
    if (g->wait.on == WAIT_RETRY)
        jw_kstr(&w, "why", buf_str(&g->wait.text));
    jw_ki64(&w, "until_ms", g->wait.until_ms);
    jw_kraw(&w, "wait", buf_str(&json));
    jw_object_end(&w);
}

void goal_keep_wait(struct goal *g, const char *phase, struct err *err)
{
    CLEANUP(buf_release) struct buf detail = BUF_INIT(GOAL_MAX_TEXT);

    write_detail(g, &detail);
    (void)goal_set_phase(g, phase, buf_str(&detail), err);
}

static void wake_from_wait(void *arg)
{
    struct goal *g = arg;

    (void)g->spec.host.wake(g->spec.host.arg, /*err=*/NULL);
}

/* Takes the content of *w. */
void goal_wait_for(struct goal *g, struct wait *w, const char *phase, struct err *err)
{
    CLEANUP(buf_release) struct buf data = BUF_INIT(GOAL_MAX_EVENT);
    CLEANUP(buf_release) struct buf what = BUF_INIT(WAIT_MAX_TEXT);
    struct wait_watch_spec spec = {
        .wait = &g->wait,
        .dir = g->spec.dir,
        .environ = g->spec.environ,
        .sandbox = goal_sandbox(g),
        .fn = wake_from_wait,
        .arg = g,
    };
    struct jw jw;

    wait_watch_stop(g->watch);
    g->watch = NULL;
    wait_release(&g->wait);
    g->wait = *w;
    *w = (struct wait)WAIT_INIT;
    if (!g->wait.since_ms)
        g->wait.since_ms = clock_wall_ms();
    if (!g->wait.check_in_ms && g->wait.on != WAIT_RETRY && g->wait.on != WAIT_QUOTA)
        wait_checked_in(&g->wait, g->wait.since_ms);
    g->waits = true;
    goal_keep_wait(g, phase, err);
    wait_describe(&g->wait, clock_wall_ms(), &what);
    goal_tell_begin(g, &jw, &data);
    jw_kcstr(&jw, "on", wait_on_name(g->wait.on));
    jw_kstr(&jw, "what", buf_str(&what));
    jw_ki64(&jw, "until_ms", g->wait.until_ms);
    jw_object_end(&jw);
    goal_note(g, "wait", buf_str(&data));
    goal_tell(g, "goal_waiting", buf_str(&data));
    if (g->spec.is_outside) /* there is no agent to wake, and no sandbox for a command */
        return;
    if (g->wait.on == WAIT_PROCESS || g->wait.on == WAIT_FILE || g->wait.on == WAIT_COMMAND) {
        g->watch = wait_watch_start(&spec, err);
        if (!g->watch)
            log_debug("goal", "cannot watch: %s", err ? err->text : "");
    }
}

void goal_end_wait(struct goal *g, const char *why)
{
    CLEANUP(buf_release) struct buf data = BUF_INIT(GOAL_MAX_EVENT);
    struct jw w;

    g->waits = false;
    wait_watch_stop(g->watch);
    g->watch = NULL;
    goal_tell_begin(g, &w, &data);
    jw_kcstr(&w, "why", why);
    jw_ki64(&w, "waited_ms", clock_wall_ms() - g->wait.since_ms);
    jw_object_end(&w);
    goal_note(g, "wake", buf_str(&data));
    if (goal_is_active(g))
        (void)goal_set_phase(g, "working", STR(""), /*err=*/NULL);
}
