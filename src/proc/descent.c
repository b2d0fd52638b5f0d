/*
 * descent: the wardens of the user's jobs, by their numbers, which stay unique until they are
 * reaped. Under a lock that is held for a lookup.
 */
#include "proc/descent.h"

#include <stddef.h>
#include <unistd.h>

#include "proc/tree.h"
#include "sync/thread.h"

static struct lock descent_lock = LOCK_INIT;
static pid_t descent_wardens[DESCENT_MAX]; /* 0: free */

static void descent_replace(pid_t old, pid_t new)
{
    lock_take(&descent_lock);
    for (size_t i = 0; i < DESCENT_MAX; i++) {
        if (descent_wardens[i] == old) {
            descent_wardens[i] = new;
            break;
        }
    }
    lock_give(&descent_lock);
}

void descent_add(pid_t warden)
{
    descent_replace(0, warden);
}

void descent_remove(pid_t warden)
{
    descent_replace(warden, 0);
}

static bool descent_has(pid_t warden)
{
    bool has = false;

    lock_take(&descent_lock);
    for (size_t i = 0; i < DESCENT_MAX; i++)
        has = has || descent_wardens[i] == warden;
    lock_give(&descent_lock);
    return has;
}

bool descent_is_agents(pid_t pid)
{
    pid_t branch = tree_branch(pid, getpid());

    return branch && (branch < 0 || !descent_has(branch));
}
