/*
 * digest: lstat, then a read in portions if it is a regular file. Time stamps move in steps of a
 * few milliseconds, so a file changed within the last of them is not settled: it could change again
 * and look the same. Any thread.
 */
#include "goal/origin/digest.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "sync/cancel.h"

#define DIGEST_PORTION ((size_t)64 << 10)
#define DIGEST_SETTLE_NS ((int64_t)50 * 1000 * 1000)

static int64_t ns_of(struct timespec t)
{
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void digest_from(const struct stat *st, struct digest *ret)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    *ret = (struct digest){
        .kind = S_ISREG(st->st_mode)   ? DIGEST_FILE
                : S_ISLNK(st->st_mode) ? DIGEST_LINK
                                       : DIGEST_OTHER,
        .size = st->st_size,
        .mtime_ns = ns_of(st->st_mtim),
        .ctime_ns = ns_of(st->st_ctim),
        .ino = st->st_ino,
        .sha256 = "-",
    };
    ret->settled = ret->ctime_ns < ns_of(now) - DIGEST_SETTLE_NS;
}

void digest_look(int dir_fd, const char *path, struct digest *ret)
{
    struct stat st;

    *ret = (struct digest){.kind = DIGEST_GONE, .sha256 = "-"};
    if (fstatat(dir_fd, path, &st, AT_SYMLINK_NOFOLLOW) == 0)
        digest_from(&st, ret);
    else if (errno != ENOENT && errno != ENOTDIR)
        ret->kind = DIGEST_CLOSED;
}

static int digest_bytes(int fd, struct cancel *cancel, struct digest *ret, struct err *err)
{
    CLEANUP(mem_freep) char *portion = mem_alloc(DIGEST_PORTION);
    struct sha256 hash;
    int64_t total = 0;
    ssize_t n;

    sha256_init(&hash);
    for (;;) {
        if (cancel_check(cancel, err) < 0)
            return -1;
        n = read(fd, portion, DIGEST_PORTION);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            break;
        sha256_add(&hash, str_make(portion, (size_t)n));
        total += n;
        if (total > DIGEST_MAX_BYTES) /* it grows while it is read */
            return 0;
    }
    if (n < 0)
        ret->kind = DIGEST_CLOSED;
    else
        sha256_end(&hash, ret->sha256);
    return 0;
}

static void digest_target(int dir_fd, const char *path, struct digest *ret)
{
    char target[PATH_MAX];
    ssize_t n = readlinkat(dir_fd, path, target, sizeof(target));

    if (n < 0)
        ret->kind = DIGEST_GONE;
    else
        sha256_hex(str_make(target, (size_t)n), ret->sha256);
}

int digest_read(int dir_fd, const char *path, struct cancel *cancel, struct digest *ret,
                struct err *err)
{
    CLEANUP(fd_closep) int fd = -1;
    struct stat st;

    digest_look(dir_fd, path, ret);
    if (ret->kind == DIGEST_LINK)
        digest_target(dir_fd, path, ret);
    if (ret->kind != DIGEST_FILE)
        return cancel_check(cancel, err);
    fd = openat(dir_fd, path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) < 0) {
        ret->kind = errno == ENOENT ? DIGEST_GONE : DIGEST_CLOSED;
        return cancel_check(cancel, err);
    }
    digest_from(&st, ret); /* of the file read, in case it was replaced */
    if (ret->kind != DIGEST_FILE || ret->size > DIGEST_MAX_BYTES)
        return cancel_check(cancel, err);
    return digest_bytes(fd, cancel, ret, err);
}
