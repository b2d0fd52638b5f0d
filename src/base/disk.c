/*
 * Numbered writes. Any thread; a run is repeatable exactly when its writers run one at a time.
 */
#include "base/disk.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/str.h"

enum disk_test {
    DISK_OFF,
    DISK_KILL,
    DISK_TORN,
    DISK_AFTER,
    DISK_FULL,
    DISK_EIO,
    DISK_COMMIT,
    DISK_COMMITTED,
    DISK_COUNT,
};

static atomic_int disk_test = DISK_OFF;
static atomic_int_fast64_t disk_seen;
static atomic_int_fast64_t disk_synced;
static atomic_int_fast64_t disk_commits, disk_committed;
static int64_t disk_target; /* written before disk_test leaves OFF */

static void disk_print_count(void)
{
    if (atomic_load(&disk_test) == DISK_COUNT)
        fprintf(stderr, "writes: %lld commits: %lld\n", (long long)atomic_load(&disk_seen),
                (long long)atomic_load(&disk_commits));
}

void disk_test_mode(const char *spec)
{
    static const struct {
        const char *name;
        enum disk_test test;
    } numbered[] = {
        {"kill", DISK_KILL},           {"torn", DISK_TORN}, {"after", DISK_AFTER},
        {"full", DISK_FULL},           {"eio", DISK_EIO},   {"commit", DISK_COMMIT},
        {"committed", DISK_COMMITTED},
    };
    static atomic_flag registered = ATOMIC_FLAG_INIT;
    struct str number = str_of(spec);
    struct str name;

    atomic_store(&disk_test, DISK_OFF);
    atomic_store(&disk_seen, 0);
    atomic_store(&disk_commits, 0);
    atomic_store(&disk_committed, 0);
    if (!spec)
        return;
    if (str_is(number, "count")) {
        atomic_store(&disk_test, DISK_COUNT);
        if (!atomic_flag_test_and_set(&registered))
            atexit(disk_print_count);
        return;
    }
    str_cut(&number, ':', &name);
    for (size_t i = 0; i < ARRAY_LEN(numbered); i++) {
        if (str_is(name, numbered[i].name) && str_to_i64(number, &disk_target, NULL) == 0) {
            atomic_store(&disk_test, numbered[i].test);
            return;
        }
    }
    BUG("TENAX_TEST_WRITE=%s: expected kill:N, torn:N, after:N, full:N, eio:N, commit:N, "
        "committed:N "
        "or count",
        spec);
}

static ssize_t disk_write_through(int fd, const void *bytes, size_t len)
{
    ssize_t n;

    do {
        n = write(fd, bytes, len);
    } while (n < 0 && errno == EINTR);
    return n;
}

static ssize_t disk_fail(int code)
{
    errno = code;
    return -1;
}

static ssize_t disk_write_in_test(int fd, const void *bytes, size_t len)
{
    int64_t number = atomic_fetch_add(&disk_seen, 1) + 1;
    enum disk_test test = (enum disk_test)atomic_load(&disk_test);

    if (test == DISK_FULL && number > disk_target)
        return disk_fail(ENOSPC);
    if (number != disk_target || test >= DISK_COMMIT)
        return disk_write_through(fd, bytes, len);
    switch (test) {
    case DISK_EIO:
        return disk_fail(EIO);
    case DISK_FULL:
        return len > 1 ? disk_write_through(fd, bytes, len / 2) : disk_fail(ENOSPC);
    case DISK_TORN:
        (void)disk_write_through(fd, bytes, len / 2);
        break;
    case DISK_AFTER:
        (void)disk_write_through(fd, bytes, len);
        break;
    default:
        break;
    }
    kill(getpid(), SIGKILL);
    return disk_fail(EIO); /* until it arrives */
}

ssize_t disk_write(int fd, const void *bytes, size_t len)
{
    if (atomic_load_explicit(&disk_test, memory_order_relaxed) != DISK_OFF)
        return disk_write_in_test(fd, bytes, len);
    return disk_write_through(fd, bytes, len);
}

/* Steps are whole: one that is to be torn is not made. */
static int disk_step_in_test(void)
{
    int64_t number = atomic_fetch_add(&disk_seen, 1) + 1;
    enum disk_test test = (enum disk_test)atomic_load(&disk_test);

    if (test == DISK_FULL && number >= disk_target)
        return (int)disk_fail(ENOSPC);
    if (number != disk_target || test >= DISK_COMMIT || test == DISK_AFTER)
        return 0;
    if (test == DISK_EIO)
        return (int)disk_fail(EIO);
    kill(getpid(), SIGKILL);
    return (int)disk_fail(EIO); /* until it arrives */
}

int disk_step(void)
{
    if (atomic_load_explicit(&disk_test, memory_order_relaxed) != DISK_OFF)
        return disk_step_in_test();
    return 0;
}

int disk_rename(int from_dir, const char *from, int to_dir, const char *to, unsigned flags)
{
    int rc;

    if (disk_step() < 0)
        return -1;
    rc = renameat2(from_dir, from, to_dir, to, flags);
    if (atomic_load_explicit(&disk_test, memory_order_relaxed) == DISK_AFTER &&
        atomic_load(&disk_seen) == disk_target)
        kill(getpid(), SIGKILL);
    return rc;
}

int64_t disk_syncs(void)
{
    return atomic_load(&disk_synced);
}

int disk_sync(int fd)
{
    int r;

    if (atomic_load_explicit(&disk_test, memory_order_relaxed) != DISK_OFF)
        atomic_fetch_add(&disk_synced, 1);
    do {
        r = fdatasync(fd);
    } while (r < 0 && errno == EINTR);
    return r;
}

static void disk_commit_in_test(enum disk_test point, atomic_int_fast64_t *seen)
{
    int64_t number = atomic_fetch_add(seen, 1) + 1;

    if (atomic_load(&disk_test) == (int)point && number == disk_target)
        kill(getpid(), SIGKILL);
}

void disk_commit_begins(void)
{
    if (atomic_load_explicit(&disk_test, memory_order_relaxed) != DISK_OFF)
        disk_commit_in_test(DISK_COMMIT, &disk_commits);
}

void disk_commit_ends(void)
{
    if (atomic_load_explicit(&disk_test, memory_order_relaxed) != DISK_OFF)
        disk_commit_in_test(DISK_COMMITTED, &disk_committed);
}
