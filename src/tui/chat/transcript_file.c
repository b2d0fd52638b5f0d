/*
 * transcript_file: searches newlines in both directions, through one block that moves. The file is
 * read, not mapped: if another process truncates it, the rest is missing, but nothing crashes. UI
 * thread.
 */
#include "tui/chat/transcript_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"

#define BLOCK_BYTES ((size_t)256 << 10)

int transcript_file_open(struct transcript_file *f, const char *path, struct err *err)
{
    *f = (struct transcript_file){.fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
    buf_init(&f->line, TRANSCRIPT_MAX_LINE);
    if (f->fd < 0)
        return err_sys(err, errno == ENOENT ? ERR_NOT_FOUND : ERR_IO, "cannot open '%s'", path);
    f->block = mem_alloc(BLOCK_BYTES);
    return 0;
}

void transcript_file_release(struct transcript_file *f)
{
    fd_closep(&f->fd);
    f->fd = -1;
    mem_freep(&f->block);
    buf_release(&f->line);
}

static uint64_t file_size(const struct transcript_file *f)
{
    struct stat st;

    return fstat(f->fd, &st) == 0 && st.st_size > 0 ? (uint64_t)st.st_size : 0;
}

/* Bytes of the file from `at` on, as many as the block holds; empty: there are none. */
static struct str bytes_from(struct transcript_file *f, uint64_t at, uint64_t end)
{
    struct str got;

    if (at >= end)
        return STR("");
    if (at < f->block_at || at >= f->block_at + f->block_len) {
        ssize_t n = pread(f->fd, f->block, BLOCK_BYTES, (off_t)at);

        f->block_at = at;
        f->block_len = n > 0 ? (size_t)n : 0;
        if (n <= 0)
            return STR("");
    }
    got = str_make(f->block + (at - f->block_at), f->block_len - (size_t)(at - f->block_at));
    return str_first(got, end - at < got.len ? (size_t)(end - at) : got.len);
}

/* The bytes right before `at`; empty: the file has become shorter. */
static struct str bytes_before(struct transcript_file *f, uint64_t at)
{
    uint64_t from = f->block_at;
    struct str got;

    if (from >= at || from + f->block_len < at) {
        f->block_len = 0; /* the cached block may stop short of it */
        from = at > BLOCK_BYTES ? at - BLOCK_BYTES : 0;
    }
    got = bytes_from(f, from, at);
    return got.len == at - from ? got : STR("");
}

/* Position of the first newline at or after `at`; end: none. */
static uint64_t newline_from(struct transcript_file *f, uint64_t at, uint64_t end)
{
    while (at < end) {
        struct str bytes = bytes_from(f, at, end);
        size_t n = str_chr(bytes, '\n');

        if (!bytes.len)
            return end;
        if (n < bytes.len)
            return at + n;
        at += bytes.len;
    }
    return end;
}

/* The position after the last newline before `at`; 0: there is none. */
static uint64_t newline_before(struct transcript_file *f, uint64_t at)
{
    while (at > 0) {
        struct str bytes = bytes_before(f, at);
        const char *found = bytes.len ? memrchr(bytes.ptr, '\n', bytes.len) : NULL;

        if (!bytes.len)
            return 0;
        if (found)
            return at - bytes.len + (uint64_t)(found - bytes.ptr) + 1;
        at -= bytes.len;
    }
    return 0;
}

uint64_t transcript_file_end(struct transcript_file *f)
{
    uint64_t size = file_size(f);

    if (size == f->size)
        return f->end;
    f->block_len = 0; /* it may end where the file did */
    f->size = size;
    f->end = newline_before(f, size);
    return f->end;
}

bool transcript_file_next(struct transcript_file *f, uint64_t at, uint64_t *ret)
{
    uint64_t end = transcript_file_end(f);
    uint64_t stop = newline_from(f, at, end);

    if (stop + 1 >= end)
        return false;
    *ret = stop + 1;
    return true;
}

bool transcript_file_prev(struct transcript_file *f, uint64_t at, uint64_t *ret)
{
    uint64_t end = transcript_file_end(f);

    at = at < end ? at : end;
    if (!at)
        return false;
    *ret = newline_before(f, at - 1);
    return true;
}

bool transcript_file_line(struct transcript_file *f, uint64_t at, struct str *ret)
{
    uint64_t end = transcript_file_end(f);
    uint64_t stop = newline_from(f, at, end);

    if (at >= end || stop - at > TRANSCRIPT_MAX_LINE)
        return false;
    buf_clear(&f->line);
    while (at < stop) {
        struct str bytes = bytes_from(f, at, stop);

        if (!bytes.len)
            return false;
        buf_add(&f->line, bytes);
        at += bytes.len;
    }
    *ret = str_make(buf_cstr(&f->line), f->line.len);
    return true;
}

bool transcript_file_find_last(struct transcript_file *f, struct str bytes, uint64_t *ret)
{
    uint64_t at = transcript_file_end(f);
    size_t overlap = bytes.len ? bytes.len - 1 : 0;

    if (!bytes.len || bytes.len >= BLOCK_BYTES / 2)
        return false;
    while (at > 0) {
        struct str block;
        const char *last = NULL;
        uint64_t from;

        f->block_len = 0; /* as much as can be had before `at` */
        block = bytes_before(f, at);
        if (!block.len)
            return false;
        from = at - block.len;
        for (struct str rest = block; rest.len >= bytes.len;) {
            size_t n = str_find(rest, bytes);

            if (n >= rest.len)
                break;
            last = rest.ptr + n;
            rest = str_from(rest, n + 1);
        }
        if (last) {
            *ret = newline_before(f, from + (uint64_t)(last - block.ptr));
            return true;
        }
        at = from ? from + overlap : 0;
        if (at >= from + block.len)
            return false; /* no longer than the pattern */
    }
    return false;
}
