/*
 * file_lock: polls for a lock with growing pauses, and finds its holder. The kernel does not report
 * a process for an OFD lock, but lists it with the descriptors of its holder. Any thread.
 */
#include "store/file_lock.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/str.h"
#include "sync/cancel.h"

#define PAUSE_MS 50           /* the longest one */
#define CANCELLED_WAIT_MS 200 /* total, for a cancelled caller */
#define MAX_INFO ((size_t)16 << 10)

/* ---- The holder ---- */

/* Whether this descriptor of a process is our file with a lock. */
static bool holds(const char *process, const char *number, const struct stat *ours)
{
    CLEANUP(buf_release) struct buf path = BUF_INIT(300);
    CLEANUP(buf_release) struct buf info = BUF_INIT(MAX_INFO);
    struct stat st;

    buf_addf(&path, "/proc/%s/fd/%s", process, number);
    if (stat(buf_cstr(&path), &st) < 0 || st.st_ino != ours->st_ino || st.st_dev != ours->st_dev)
        return false;
    buf_clear(&path);
    buf_addf(&path, "/proc/%s/fdinfo/%s", process, number);
    return file_slurp(buf_cstr(&path), MAX_INFO, &info, /*err=*/NULL) == 0 &&
           str_find(buf_str(&info), STR("lock:")) < info.len;
}

static bool process_holds(const char *process, const struct stat *ours)
{
    CLEANUP(buf_release) struct buf path = BUF_INIT(300);
    bool found = false;
    DIR *d;

    buf_addf(&path, "/proc/%s/fd", process);
    d = opendir(buf_cstr(&path)); /* other users' processes are visible only to root */
    for (struct dirent *e = d ? readdir(d) : NULL; e && !found; e = readdir(d))
        found = e->d_name[0] != '.' && holds(process, e->d_name, ours);
    if (d)
        closedir(d);
    return found;
}

static void add_name(const char *process, struct buf *ret)
{
    CLEANUP(buf_release) struct buf path = BUF_INIT(300);
    CLEANUP(buf_release) struct buf name = BUF_INIT(100);

    buf_addf(&path, "/proc/%s/comm", process);
    (void)file_slurp(buf_cstr(&path), 100, &name, /*err=*/NULL);
    buf_addf(ret, " (pid %s, %.*s)", process, STR_ARG(str_trim(buf_str(&name))));
}

static bool is_number(const char *name)
{
    return strspn(name, "0123456789") == strlen(name);
}

/* " (pid 12, vim)"; nothing if it is not visible. */
static void find_holder(int fd, struct buf *ret)
{
    struct stat ours;
    DIR *d = fstat(fd, &ours) < 0 ? NULL : opendir("/proc");

    for (struct dirent *e = d ? readdir(d) : NULL; e && !ret->len; e = readdir(d)) {
        if (is_number(e->d_name) && process_holds(e->d_name, &ours))
            add_name(e->d_name, ret);
    }
    if (d)
        closedir(d);
}

static int is_held(int fd, const char *path, int64_t waited_ms, struct err *err)
{
    CLEANUP(buf_release) struct buf who = BUF_INIT(200);

    find_holder(fd, &who);
    return err_set(err, ERR_BUSY,
                   "cannot write '%s': another process%s has held its lock for %" PRId64 " ms",
                   path, buf_cstr(&who), waited_ms);
}

/* ---- The lock ---- */

/* 1: locked, or there are no locks here; 0: another process has it. */
static int try_lock(int fd)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};

    while (fcntl(fd, F_OFD_SETLK, &lock) < 0) {
        if (errno == EAGAIN || errno == EACCES)
            return 0;
        if (errno != EINTR)
            return 1;
    }
    return 1;
}

int file_lock_take(int fd, const char *path, int64_t max_ms, struct cancel *cancel, struct err *err)
{
    int64_t waited = 0;
    int64_t pause = 1;

    while (!try_lock(fd)) {
        bool hurries = cancel_is_set(cancel);

        if (waited >= (hurries && max_ms > CANCELLED_WAIT_MS ? CANCELLED_WAIT_MS : max_ms))
            return is_held(fd, path, waited, err);
        (void)cancel_wait(hurries ? NULL : cancel, pause, /*err=*/NULL);
        waited += pause;
        pause = pause < PAUSE_MS / 2 ? 2 * pause : PAUSE_MS;
    }
    return 0;
}

void file_lock_give(int fd)
{
    struct flock lock = {.l_type = F_UNLCK, .l_whence = SEEK_SET};

    (void)fcntl(fd, F_OFD_SETLK, &lock);
}
