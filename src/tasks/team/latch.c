/*
 * latch: an OFD lock on a file that is never removed. If it were removed, a process could hold the
 * lock of a file that others no longer see. Any thread.
 */
#include "tasks/team/latch.h"

#include <fcntl.h>
#include <unistd.h>

#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"
#include "store/file_lock.h"

#define LATCH_WAIT_MS 10000

/* Closes the descriptor, which also releases the lock. */
static int latch_drop(struct latch *l)
{
    close(l->fd);
    l->fd = -1;
    return -1;
}

static int latch_wait(struct latch *l, const char *folder, const char *name, int64_t max_ms,
                      struct cancel *cancel, struct err *err)
{
    CLEANUP(mem_freep) char *path = path_join(folder, name);

    if (file_mkdirs(folder, 0700, err) < 0)
        return -1;
    l->fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (l->fd < 0)
        return err_sys(err, ERR_IO, "cannot open '%s'", path);
    return file_lock_take(l->fd, path, max_ms, cancel, err) < 0 ? latch_drop(l) : 0;
}

int latch_take(struct latch *l, const char *folder, const char *name, struct cancel *cancel,
               struct err *err)
{
    return latch_wait(l, folder, name, LATCH_WAIT_MS, cancel, err);
}

int latch_try(struct latch *l, const char *folder, const char *name, struct err *err)
{
    return latch_wait(l, folder, name, /*max_ms=*/0, /*cancel=*/NULL, err);
}

void latch_give(struct latch *l)
{
    if (l->fd < 0)
        return;
    file_lock_give(l->fd);
    close(l->fd);
    l->fd = -1;
}
