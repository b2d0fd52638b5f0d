/*
 * content: two lanes of multiplications over words of eight bytes. Any thread.
 */
#include "goal/content.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"

#define CONTENT_PORTION ((size_t)64 << 10)
#define CONTENT_PLACES 16                /* of a large file */
#define CONTENT_PLACE ((size_t)16 << 10) /* bytes at each of them */
#define CONTENT_YOUNG_NS ((int64_t)50 * 1000 * 1000)

static void mix_word(struct content *c, uint64_t x)
{
    c->a = (c->a ^ x) * 0x9e3779b97f4a7c15u;
    c->a ^= c->a >> 32;
    c->b = (c->b + x) * 0xd6e8feb86659fd93u;
    c->b ^= c->b >> 29;
}

static void mix(struct content *c, const char *bytes, size_t len)
{
    uint64_t x = 0;
    size_t i = 0;

    for (; i + sizeof(x) <= len; i += sizeof(x)) {
        memcpy(&x, bytes + i, sizeof(x));
        mix_word(c, x);
    }
    x = 0;
    if (i < len)
        memcpy(&x, bytes + i, len - i);
    mix_word(c, x);
    mix_word(c, len);
}

static int64_t ns_of(struct timespec t)
{
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

uint64_t content_look(const struct stat *st)
{
    struct content c = {1, 1};

    mix_word(&c, (uint64_t)st->st_mode);
    mix_word(&c, (uint64_t)st->st_size);
    mix_word(&c, (uint64_t)st->st_ino);
    mix_word(&c, (uint64_t)ns_of(st->st_mtim));
    mix_word(&c, (uint64_t)ns_of(st->st_ctim));
    return c.a ? c.a : 1;
}

bool content_is_young(const struct stat *st)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return ns_of(st->st_ctim) > ns_of(now) - CONTENT_YOUNG_NS;
}

/* The whole of a small file, in portions that do not depend on how the system hands it out. */
static void read_whole(int fd, int64_t size, struct content *c)
{
    CLEANUP(mem_freep) char *portion = mem_alloc(CONTENT_PORTION);
    int64_t total = 0;
    size_t have = 0;

    for (;;) {
        ssize_t n = read(fd, portion + have, CONTENT_PORTION - have);

        if (n < 0 && errno == EINTR)
            continue;
        if (n > 0)
            have += (size_t)n;
        if (n > 0 && have < CONTENT_PORTION && total + (int64_t)have < size)
            continue;
        mix(c, portion, have);
        total += (int64_t)have;
        have = 0;
        if (n <= 0 || total >= size) /* at its end; what comes now will be seen next time */
            return;
    }
}

static void read_places(int fd, int64_t size, struct content *c)
{
    CLEANUP(mem_freep) char *place = mem_alloc(CONTENT_PLACE);
    int64_t last = size - (int64_t)CONTENT_PLACE;

    for (int i = 0; i < CONTENT_PLACES; i++) {
        ssize_t n = pread(fd, place, CONTENT_PLACE, (off_t)(last / (CONTENT_PLACES - 1) * i));

        mix(c, place, n > 0 ? (size_t)n : 0);
    }
    mix_word(c, (uint64_t)size);
}

static void read_link(int dir_fd, const char *path, struct content *c)
{
    char target[PATH_MAX];
    ssize_t n = readlinkat(dir_fd, path, target, sizeof(target));

    mix(c, target, n > 0 ? (size_t)n : 0);
}

static void read_file(int dir_fd, const char *path, struct stat *st, struct content *c)
{
    CLEANUP(fd_closep)
    int fd = openat(dir_fd, path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);

    if (fd < 0 || fstat(fd, st) < 0 || !S_ISREG(st->st_mode))
        mix_word(c, (uint64_t)st->st_size); /* cannot be read: all that is known */
    else if (st->st_size > CONTENT_WHOLE)
        read_places(fd, st->st_size, c);
    else
        read_whole(fd, st->st_size, c);
}

struct content content_read(int dir_fd, const char *path, struct stat *ret_st)
{
    struct content c = {0x243f6a8885a308d3u, 0x13198a2e03707344u};

    if (fstatat(dir_fd, path, ret_st, AT_SYMLINK_NOFOLLOW) < 0) {
        *ret_st = (struct stat){0};
        return CONTENT_GONE;
    }
    if (S_ISREG(ret_st->st_mode))
        read_file(dir_fd, path, ret_st, &c);
    else if (S_ISLNK(ret_st->st_mode))
        read_link(dir_fd, path, &c);
    /* What kind it is, and whether it can be run, is part of it. */
    mix_word(&c, (uint64_t)(ret_st->st_mode & (S_IFMT | (S_ISREG(ret_st->st_mode) ? 0100 : 0))));
    if (!c.a)
        c.a = 1;
    return c;
}
