/*
 * changes: inotify on the folder of the database: its file and the one of its log come and go, and
 * every transaction writes to one of them.
 */
#include "store/changes.h"

#include <sys/inotify.h>
#include <unistd.h>

#include "base/file.h"
#include "sync/cancel.h"

#define UNWATCHED_MS 150

int store_changes_open(const char *home)
{
    CLEANUP(fd_closep) int fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    int r;

    if (fd < 0 || inotify_add_watch(fd, home, IN_MODIFY | IN_CREATE | IN_MOVED_TO) < 0)
        return -1;
    r = fd;
    fd = -1;
    return r;
}

int store_changes_wait(int fd, struct cancel *cancel, struct err *err)
{
    char events[4096];

    if (fd < 0)
        return cancel_wait(cancel, UNWATCHED_MS, err);
    if (cancel_wait_fd(cancel, fd, /*ms=*/-1, err) < 0)
        return -1;
    while (read(fd, events, sizeof(events)) > 0)
        continue;
    return 0;
}
