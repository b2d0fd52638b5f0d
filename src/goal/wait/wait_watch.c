/*
 * wait_watch: a thread that polls until the awaited event has come, or the clock says that it is
 * time for a check-in. One idea: a round is "has it come? is it time? sleep", and the sleep is one
 * call that the stop token, the process and the clock can each end. It calls fn once, as the last
 * thing it does.
 */
#include <errno.h>
#include <inttypes.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/strv.h"
#include "goal/check.h"
#include "goal/wait/wait.h"
#include "proc/tree.h"
#include "sync/cancel.h"
#include "sync/thread.h"

#define LOOK_MS 1000        /* at a file; at a process without a pidfd */
#define CLOCK_LOOK_MS 30000 /* at the wall clock, which may be set, or go on while we sleep */

struct wait_watch {
    struct wait wait;
    char *dir;
    struct strv environ;
    struct sandbox *sandbox;
    void (*fn)(void *arg);
    void *arg;
    struct cancel *stop;
    struct thread *thread;
    int process_fd;     /* readable when it has ended; -1: none */
    bool process_ended; /* it was */

    struct lock lock; /* guards what follows */
    bool is_over;
    struct buf why;
};

static void watch_end(struct wait_watch *w, const char *fmt, ...) PRINTF_LIKE(2, 3);
static void watch_end(struct wait_watch *w, const char *fmt, ...)
{
    va_list args;

    lock_take(&w->lock);
    w->is_over = true;
    va_start(args, fmt);
    buf_addv(&w->why, fmt, args);
    va_end(args);
    lock_give(&w->lock);
}

/* ---- Is it there? ---- */

/* A pidfd knows best: the state in /proc is that of the first thread, which may end before others.
 */
static bool process_has_ended(const struct wait_watch *w)
{
    const struct wait *wait = &w->wait;
    struct tree_proc p;

    if (w->process_fd >= 0)
        return w->process_ended;
    return !tree_look((pid_t)wait->pid, &p) || p.start != wait->pid_start || !tree_is_alive(&p);
}

static bool watch_process(struct wait_watch *w)
{
    if (!process_has_ended(w))
        return false;
    watch_end(w, "process %" PRId64 " has ended", w->wait.pid);
    return true;
}

static bool watch_file(struct wait_watch *w)
{
    const struct wait *wait = &w->wait;
    int64_t mtime_ns;
    int64_t size;

    wait_file_now(buf_str(&wait->text), w->dir, &mtime_ns, &size);
    if (mtime_ns == wait->file_mtime_ns && size == wait->file_size)
        return false;
    watch_end(w, "file %s %s", buf_cstr(&wait->text),
              size < 0              ? "is gone"
              : wait->file_size < 0 ? "is there"
                                    : "has changed");
    return true;
}

/* A run may take until the next check-in: one that hangs must not keep it from being held. */
static int64_t watch_command_ms(const struct wait *wait)
{
    int64_t next_ms = wait_next_ms(wait);
    int64_t left_ms = next_ms ? next_ms - clock_wall_ms() : CHECK_TIMEOUT_MS;

    if (left_ms < LOOK_MS)
        return LOOK_MS;
    return left_ms < CHECK_TIMEOUT_MS ? left_ms : CHECK_TIMEOUT_MS;
}

/* One that cannot be run at all, for want of its folder or of processes, may be run later. */
static bool watch_command(struct wait_watch *w)
{
    struct check_result result = {0};
    const struct check_spec spec = {
        .command = buf_str(&w->wait.text),
        .dir = w->dir,
        .environ = strv_get(&w->environ),
        .timeout_ms = watch_command_ms(&w->wait),
        .sandbox = w->sandbox,
    };
    bool passed = check_run(&spec, w->stop, &result, /*err=*/NULL) == 0 && result.passed;

    check_result_release(&result);
    if (passed)
        watch_end(w, "the command %s succeeds", buf_cstr(&w->wait.text));
    return passed;
}

static bool watch_has_come(struct wait_watch *w)
{
    switch (w->wait.on) {
    case WAIT_PROCESS:
        return watch_process(w);
    case WAIT_FILE:
        return watch_file(w);
    case WAIT_COMMAND:
        return watch_command(w);
    case WAIT_TIME:
    case WAIT_BACKGROUND:
    case WAIT_QUOTA:
    case WAIT_RETRY:
        return false;
    }
    return false;
}

/* ---- Is it time? ---- */

static bool watch_is_time(struct wait_watch *w, int64_t now_ms)
{
    const struct wait *wait = &w->wait;

    if (wait->until_ms && now_ms >= wait->until_ms) {
        if (wait->on == WAIT_TIME)
            watch_end(w, "the time is up");
        else if (wait->on == WAIT_QUOTA)
            watch_end(w, "the quota should have reset");
        else if (wait->on == WAIT_RETRY)
            watch_end(w, "it is time for the next try");
        else
            watch_end(w, "it has been waited for as long as it may be");
        return true;
    }
    return wait->check_in_ms && now_ms >= wait->check_in_ms;
}

/* ---- Sleep ---- */

/* How long until the next look; -1: until something happens. */
static int64_t watch_pause_ms(const struct wait_watch *w, int64_t now_ms)
{
    int64_t next_ms = wait_next_ms(&w->wait);
    int64_t ms = next_ms ? next_ms - now_ms : INT64_MAX;
    int64_t most = next_ms ? CLOCK_LOOK_MS : INT64_MAX;

    if (w->wait.on == WAIT_COMMAND)
        most = WAIT_COMMAND_MS;
    else if (w->wait.on == WAIT_FILE || (w->wait.on == WAIT_PROCESS && w->process_fd < 0))
        most = LOOK_MS;
    ms = ms < most ? ms : most;
    return ms == INT64_MAX ? -1 : ms > 0 ? ms : 0;
}

static void watch_run(void *arg)
{
    struct wait_watch *w = arg;

    while (!watch_has_come(w) && !watch_is_time(w, clock_wall_ms())) {
        int r = cancel_wait_fd(w->stop, w->process_fd, watch_pause_ms(w, clock_wall_ms()),
                               /*err=*/NULL);

        if (r < 0)
            return;
        w->process_ended = r > 0;
    }
    if (!cancel_is_set(w->stop))
        w->fn(w->arg);
}

/* ---- From outside ---- */

static void watch_free(struct wait_watch *w)
{
    cancel_unref(w->stop);
    fd_closep(&w->process_fd);
    wait_release(&w->wait);
    strv_release(&w->environ);
    buf_release(&w->why);
    lock_release(&w->lock);
    mem_freep(&w->dir);
    mem_freep(&w);
}

struct wait_watch *wait_watch_start(const struct wait_watch_spec *spec, struct err *err)
{
    struct wait_watch *w = mem_zalloc(sizeof(*w));

    w->wait = *spec->wait;
    buf_init(&w->wait.text, WAIT_MAX_TEXT);
    buf_add(&w->wait.text, buf_str(&spec->wait->text));
    w->dir = mem_dup(spec->dir, strlen(spec->dir));
    for (char *const *e = spec->environ; e && *e; e++)
        strv_adds(&w->environ, *e);
    w->sandbox = spec->sandbox;
    w->fn = spec->fn;
    w->arg = spec->arg;
    w->stop = cancel_new(/*parent=*/NULL);
    lock_init(&w->lock);
    buf_init(&w->why, WAIT_MAX_TEXT + 100);
    /* Where there is no pidfd, or the process has gone already, the first look tells. */
    w->process_fd =
        w->wait.on == WAIT_PROCESS ? tree_watch((pid_t)w->wait.pid, w->wait.pid_start) : -1;
    if (cancel_fd(w->stop) < 0)
        err_set(err, ERR_IO, "out of descriptors: nothing can be waited for");
    else
        w->thread = thread_start("wait", watch_run, w, err);
    if (w->thread)
        return w;
    watch_free(w);
    return NULL;
}

bool wait_watch_is_over(struct wait_watch *w, struct buf *why)
{
    bool is_over;

    lock_take(&w->lock);
    is_over = w->is_over;
    if (is_over && why)
        buf_add(why, buf_str(&w->why));
    lock_give(&w->lock);
    return is_over;
}

void wait_watch_stop(struct wait_watch *w)
{
    if (!w)
        return;
    cancel_set(w->stop);
    thread_join(w->thread);
    watch_free(w);
}
