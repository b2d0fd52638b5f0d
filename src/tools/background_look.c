/*
 * background_look: what commands in the background have said. The file is read without the lock: it
 * only grows. Any thread.
 */
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"
#include "tools/background_state.h"
#include "tools/clip.h"
#include "tools/pick.h"

#define BACKGROUND_READ_BYTES ((size_t)64 << 10)

/* A part of a job's file, from a look at it. */
struct background_part {
    struct buf path;
    size_t from;
    size_t to;
    struct buf line; /* after it; empty: none, or shown before */
    size_t lost;
    struct buf blocked; /* the same */
};

static void background_part_release(struct background_part *part)
{
    buf_release(&part->path);
    buf_release(&part->line);
    buf_release(&part->blocked);
}

/* Lock held. */
static void job_take_part(struct job *j, struct background_part *ret)
{
    uint64_t hash = str_hash(buf_str(&j->line));

    buf_add(&ret->path, buf_str(&j->spool.path));
    ret->from = j->seen;
    ret->to = j->written;
    ret->lost = j->lost;
    if (hash != j->line_seen || ret->to > ret->from)
        buf_add(&ret->line, buf_str(&j->line));
    if (!j->has_shown_blocked)
        buf_add(&ret->blocked, buf_str(&j->blocked));
    j->has_shown_blocked = j->is_over;
    j->seen = j->written;
    j->line_seen = hash;
}

static int background_read(const struct background_part *part, struct pick *pick, struct err *err)
{
    CLEANUP(fd_closep) int fd = open(buf_cstr(&part->path), O_RDONLY | O_CLOEXEC);
    CLEANUP(mem_freep) char *bytes = mem_alloc(BACKGROUND_READ_BYTES);

    if (fd < 0)
        return err_sys(err, ERR_IO, "cannot read '%s'", buf_cstr(&part->path));
    for (size_t at = part->from; at < part->to;) {
        size_t want = part->to - at;
        ssize_t len = pread(fd, bytes, want < BACKGROUND_READ_BYTES ? want : BACKGROUND_READ_BYTES,
                            (off_t)at);

        if (len < 0)
            return err_sys(err, ERR_IO, "cannot read '%s'", buf_cstr(&part->path));
        if (len == 0)
            break; /* the file was truncated */
        pick_feed(pick, str_make(bytes, (size_t)len));
        at += (size_t)len;
    }
    pick_feed(pick, buf_str(&part->line));
    pick_end(pick);
    return 0;
}

void background_view_release(struct background_view *v)
{
    mem_freep(&v->command);
    buf_release(&v->text);
    buf_release(&v->summary);
}

int background_look(struct workspace *w, struct str id, struct str pattern,
                    struct background_view *ret, struct err *err)
{
    struct background *list = background_of(w);
    CLEANUP(background_part_release)
    struct background_part part = {.path = BUF_INIT(BUF_NO_LIMIT),
                                   .line = BUF_INIT(BUF_NO_LIMIT),
                                   .blocked = BUF_INIT(BACKGROUND_MAX_BLOCKED)};
    CLEANUP(background_view_release)
    struct background_view view = {.text = BUF_INIT(BUF_NO_LIMIT),
                                   .summary = BUF_INIT(BACKGROUND_MAX_SUMMARY)};
    CLEANUP(clip_release) struct clip clip = {0};
    CLEANUP(pick_freep) struct pick *pick = NULL;
    struct job *j;

    clip_init(&clip, SPOOL_HEAD, SPOOL_TAIL);
    pick = pick_new(pattern, &clip, err);
    if (!pick)
        return -1;
    lock_take(&list->lock);
    j = background_find(list, id, err);
    if (j) {
        job_take_part(j, &part);
        job_summarise(j, &view.summary);
        view.status = job_status(j);
        view.has_code = j->is_over && view.status != TASK_KILLED;
        view.code = j->how == PROC_SIGNALLED ? 128 + j->code : j->code;
        view.command = mem_dup(j->command, strlen(j->command));
    }
    lock_give(&list->lock);
    if (!j || background_read(&part, pick, err) < 0)
        return -1;
    clip_write(&clip, buf_cstr(&part.path), &view.text);
    if (part.lost)
        buf_addf(&view.text, "[%zu bytes of output were not saved]\n", part.lost);
    buf_add(&view.text, buf_str(&part.blocked));
    *ret = view;
    view = (struct background_view){0}; /* NOLINT: released at the end of the scope */
    return 0;
}

/* Bytes from..to of a file, or those of them that exist. */
static int tail_read(const char *path, size_t from, size_t to, struct buf *ret, struct err *err)
{
    CLEANUP(fd_closep) int fd = open(path, O_RDONLY | O_CLOEXEC);

    if (fd < 0)
        return err_sys(err, ERR_IO, "cannot read '%s'", path);
    while (from < to) {
        size_t want = to - from < BACKGROUND_READ_BYTES ? to - from : BACKGROUND_READ_BYTES;
        ssize_t len = pread(fd, buf_room(ret, want), want, (off_t)from);

        if (len < 0)
            return err_sys(err, ERR_IO, "cannot read '%s'", path);
        if (len == 0)
            break; /* the file was truncated */
        buf_grown(ret, (size_t)len);
        from += (size_t)len;
    }
    return 0;
}

int background_tail(struct workspace *w, struct str id, size_t max_bytes, struct buf *ret,
                    size_t *ret_total, struct err *err)
{
    struct background *list = background_of(w);
    CLEANUP(buf_release) struct buf path = BUF_INIT(BUF_NO_LIMIT);
    CLEANUP(buf_release) struct buf line = BUF_INIT(BUF_NO_LIMIT);
    size_t written = 0;
    size_t begin = 0;
    struct job *j;

    lock_take(&list->lock);
    j = background_find(list, id, err);
    if (j) {
        buf_add(&path, buf_str(&j->spool.path));
        buf_add(&line, buf_str(&j->line));
        written = j->written;
        *ret_total = written + line.len + j->lost;
    }
    lock_give(&list->lock);
    if (!j || tail_read(buf_cstr(&path), written > max_bytes ? written - max_bytes : 0, written,
                        ret, err) < 0)
        return -1;
    buf_add(ret, buf_str(&line));
    if (ret->len > max_bytes)
        begin = ret->len - max_bytes;
    while (ret->len < *ret_total && begin < ret->len && (ret->ptr[begin] & 0xc0) == 0x80)
        begin++; /* never from the middle of a character */
    buf_cut(ret, 0, begin);
    return buf_check(ret, err);
}
