/*
 * kin: the wardens of the user's jobs, by their numbers, which stay unique until they are reaped.
 * Under a lock that is held for a lookup.
 */
#include "proc/kin.h"

#include <stddef.h>
#include <unistd.h>

#include "proc/tree.h"
#include "sync/thread.h"

static struct lock kin_lock = LOCK_INIT;
static pid_t kin_wardens[KIN_MAX]; /* 0: free */

static void kin_replace(pid_t old, pid_t new)
{
    lock_take(&kin_lock);
    for (size_t i = 0; i < KIN_MAX; i++) {
        if (kin_wardens[i] == old) {
            kin_wardens[i] = new;
            break;
        }
    }
    lock_give(&kin_lock);
}

void kin_add(pid_t warden)
{
    kin_replace(0, warden);
}

void kin_remove(pid_t warden)
{
    kin_replace(warden, 0);
}

static bool kin_has(pid_t warden)
{
    bool has = false;

    lock_take(&kin_lock);
    for (size_t i = 0; i < KIN_MAX; i++)
        has = has || kin_wardens[i] == warden;
    lock_give(&kin_lock);
    return has;
}

bool kin_is_agents(pid_t pid)
{
    pid_t branch = tree_branch(pid, getpid());

    return branch && (branch < 0 || !kin_has(branch));
}
