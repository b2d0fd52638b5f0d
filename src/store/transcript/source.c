/*
 * The file of a load. Reads with pread: any thread, no position to keep.
 */
#include "store/transcript/source.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "json/json.h"
#include "store/transcript/line.h"

#define KEEP_BYTES ((size_t)1 << 20) /* a buffer larger than this is not kept for the next line */

int source_open(struct line_source *s, const char *path, struct err *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat st;

    if (fd < 0)
        return err_sys(err, errno == ENOENT || errno == ENOTDIR ? ERR_NOT_FOUND : ERR_IO,
                       "cannot open '%s'", path);
    if (fstat(fd, &st) < 0) {
        err_sys(err, ERR_IO, "cannot read '%s'", path);
    } else if (!S_ISREG(st.st_mode)) {
        err_set(err, ERR_BAD_INPUT, "'%s' is no transcript: it is not a file", path);
    } else {
        *s = (struct line_source){.fd = fd, .size = (uint64_t)st.st_size};
        return 0;
    }
    fd_closep(&fd);
    return -1;
}

void source_release(struct line_source *s)
{
    fd_closep(&s->fd);
}

int source_read(const struct line_source *s, uint64_t offset, uint64_t len, struct buf *ret,
                struct err *err)
{
    char *room;
    size_t done = 0;

    if (len > LINE_MAX_BYTES)
        return err_set(err, ERR_TOO_BIG, "a line of the transcript is longer than %u MB",
                       (unsigned)(LINE_MAX_BYTES >> 20));
    if (offset > s->size || len > s->size - offset)
        return err_set(err, ERR_BAD_INPUT, "there is no such line in the transcript");
    if (ret->cap > KEEP_BYTES)
        buf_release(ret);
    buf_clear(ret);
    room = buf_room(ret, (size_t)len);
    while (done < len) {
        ssize_t got = pread(s->fd, room + done, (size_t)len - done, (off_t)(offset + done));

        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return err_sys(err, ERR_IO, "cannot read the transcript");
        if (got == 0)
            return err_set(err, ERR_IO, "the transcript was cut short while it was read");
        done += (size_t)got;
    }
    buf_grown(ret, (size_t)len);
    return 0;
}

const struct json *source_json(const struct line_source *s, uint64_t offset, uint64_t len,
                               struct arena *arena)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(LINE_MAX_BYTES);
    const struct json *root;

    if (source_read(s, offset, len, &text, /*err=*/NULL) < 0 ||
        json_parse_copy(arena, buf_str(&text), &root, /*ret_info=*/NULL, /*err=*/NULL) < 0)
        return NULL;
    return json_is(root, JSON_OBJECT) ? root : NULL;
}

/* Where a string that is cut at max bytes may be closed: not within an escape, nor between the two
 * of a pair. */
static size_t safe_cut(struct str raw, size_t max)
{
    size_t at = 1; /* the quote */

    while (at < raw.len && raw.ptr[at] != '"') {
        size_t n = 1;

        if (raw.ptr[at] == '\\')
            n = at + 1 < raw.len && raw.ptr[at + 1] == 'u' ? 6 : 2;
        if (n == 6 && at + 8 < raw.len && (raw.ptr[at + 2] | 0x20) == 'd' &&
            raw.ptr[at + 6] == '\\')
            n = 12;
        if (at + n > max || at + n > raw.len)
            break;
        at += n;
    }
    return at;
}

void source_string(const struct line_source *s, struct entry_span at, size_t max_bytes,
                   struct buf *ret)
{
    /* Six bytes of an escape make at least one; longer text is cut, and clipped then. */
    size_t max_raw = max_bytes * 6 + 16;
    uint64_t len = at.len < max_raw ? at.len : max_raw;
    CLEANUP(buf_release) struct buf raw = BUF_INIT(LINE_MAX_BYTES);
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    const struct json *value;

    buf_clear(ret);
    if (at.len < 1 || source_read(s, at.offset, len, &raw, /*err=*/NULL) < 0)
        return;
    buf_cut(&raw, safe_cut(buf_str(&raw), len), raw.len);
    buf_addc(&raw, '"');
    if (json_parse(&arena, buf_str(&raw), &value, /*ret_info=*/NULL, /*err=*/NULL) < 0)
        return;
    buf_add(ret, str_clip(json_str(value), max_bytes));
}
