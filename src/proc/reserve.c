/*
 * reserve: one place under a lock. Any thread; reserve.h documents the callers.
 */
#include "proc/reserve.h"

#include <errno.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "proc/launch.h"
#include "sync/mailbox.h"
#include "sync/thread.h"

static struct lock reserve_lock = LOCK_INIT;
static struct reserve_warden reserve; /* under the lock, as is what follows */
static bool reserve_lent;

bool reserve_put(const struct reserve_warden *w)
{
    bool is_free;

    lock_take(&reserve_lock);
    is_free = !reserve.pid;
    if (is_free)
        reserve = *w;
    lock_give(&reserve_lock);
    return is_free;
}

bool reserve_take(struct reserve_warden *ret)
{
    bool is_there;

    lock_take(&reserve_lock);
    is_there = reserve.pid && !reserve_lent;
    if (is_there) {
        *ret = reserve;
        mailbox_ref(
            ret->orders); /* its loop lives while this is lent, and may be gone afterwards */
        reserve_lent = true;
    }
    lock_give(&reserve_lock);
    return is_there;
}

bool reserve_launch(const struct reserve_warden *w, const struct launch *l)
{
    kill(w->pid, SIGCONT); /* a job may have stopped it */
    return launch_send(l, w->socket) == 0;
}

void reserve_settle(void)
{
    lock_take(&reserve_lock);
    reserve = (struct reserve_warden){0};
    reserve_lent = false;
    lock_give(&reserve_lock);
}

bool reserve_is(pid_t pid)
{
    bool is;

    lock_take(&reserve_lock);
    is = reserve.pid == pid;
    lock_give(&reserve_lock);
    return is;
}

bool reserve_is_lent(void)
{
    bool is;

    lock_take(&reserve_lock);
    is = reserve_lent;
    lock_give(&reserve_lock);
    return is;
}

bool reserve_close(const struct mailbox *orders)
{
    struct reserve_warden w = {0};
    bool is_lent;

    lock_take(&reserve_lock);
    is_lent = reserve_lent && reserve.orders == orders;
    if (!reserve_lent && reserve.orders == orders) {
        w = reserve;
        reserve = (struct reserve_warden){0};
    }
    lock_give(&reserve_lock);
    if (w.pid)
        reserve_end(w.pid, w.socket);
    return !is_lent;
}

void reserve_end(pid_t pid, int socket)
{
    close(socket);
    kill(pid, SIGKILL); /* not reaped, so it is ours; it may have been stopped */
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        continue;
}
