/*
 * file_history: saves a file before it is changed. The order is: bytes, then the line that names
 * them, then the edit; a kill in between leaves at most an unneeded copy, never a missing one. Tool
 * threads, one at a time (history_enter()).
 */
#include "store/files/file_history.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "base/id.h"
#include "base/utf8.h"
#include "store/files/backups.h"
#include "store/files/file_change.h"
#include "sync/thread.h"

struct file_history {
    file_history_write_fn write;
    void *write_arg;

    struct gate gate;
    bool busy; /* the thread that set it owns the rest */
    struct backups backups;
    struct file_changes changes;
    char message[ID_UUID_LEN + 1];
    bool has_line; /* the message has a line already */
    bool said_big, said_dropped, said_name;
};

struct file_history *file_history_new(const char *session_dir, file_history_write_fn write,
                                      void *arg)
{
    struct file_history *h = mem_zalloc(sizeof(*h));
    CLEANUP(mem_freep) char *dir = path_join(session_dir, FILE_HISTORY_DIR);

    h->write = write;
    h->write_arg = arg;
    backups_init(&h->backups, dir, FILE_HISTORY_MAX_TOTAL);
    gate_init(&h->gate);
    return h;
}

void file_history_free(struct file_history *h)
{
    if (!h)
        return;
    backups_release(&h->backups);
    file_changes_release(&h->changes);
    gate_release(&h->gate);
    mem_freep(&h);
}

/* Admits one thread at a time, without holding a lock while files are read and written. */
static void history_enter(struct file_history *h)
{
    gate_take(&h->gate);
    while (h->busy)
        gate_wait(&h->gate, /*deadline_ms=*/-1);
    h->busy = true;
    gate_give(&h->gate);
}

static void history_leave(struct file_history *h)
{
    gate_take(&h->gate);
    h->busy = false;
    gate_wake(&h->gate);
    gate_give(&h->gate);
}

void file_history_recall(struct file_history *h, struct file_changes *all)
{
    history_enter(h);
    file_changes_release(&h->changes);
    h->changes = *all;
    *all = (struct file_changes){0};
    history_leave(h);
}

void file_history_begin(struct file_history *h, struct str message_uuid)
{
    message_uuid = str_first(message_uuid, ID_UUID_LEN);
    history_enter(h);
    if (message_uuid.len)
        memcpy(h->message, message_uuid.ptr, message_uuid.len);
    h->message[message_uuid.len] = '\0';
    h->has_line = false;
    history_leave(h);
}

/* ---- Before ---- */

/* The number of missing folders above the path. */
static unsigned missing_folders(const char *path)
{
    CLEANUP(mem_freep) char *dir = path_dirname(path);
    unsigned n = 0;

    while (strlen(dir) > 1 && !file_exists(dir)) {
        char *up = path_dirname(dir);

        mem_freep(&dir);
        dir = up;
        n++;
    }
    return n;
}

/* True if there is nothing to save: the file was saved after this message and only we have changed
 * it. */
static int is_kept_already(struct file_history *h, const struct file_change *last, bool *ret,
                           struct err *err)
{
    *ret = false;
    if (!last || !str_is(last->message, h->message))
        return 0;
    return file_look_still(last->path.ptr, &last->left, FILE_HISTORY_MAX_FILE, ret, err);
}

static int history_put(struct file_history *h, struct file_change *c, struct str bytes,
                       struct file_kept *ret, struct err *err)
{
    if (backups_put(&h->backups, bytes, c->before.hash, &ret->dropped, err) < 0)
        return -1;
    c->backup = str_of(c->before.hash);
    if (ret->dropped && !h->said_dropped) {
        h->said_dropped = true;
        ret->note = "the copies of files for `tenax rewind` take more than 512 MB in this session: "
                    "the oldest ones are dropped";
    }
    return 0;
}

static void history_note_big(struct file_history *h, struct file_change *c, struct file_kept *ret)
{
    c->not_kept = STR("larger than 32 MB");
    ret->is_kept = false;
    if (!h->said_big) {
        h->said_big = true;
        ret->note = "files larger than 32 MB are not kept: `tenax rewind` cannot bring back how "
                    "they were";
    }
}

static int history_write(struct file_history *h, const struct file_change *c, struct err *err)
{
    CLEANUP(buf_release) struct buf line = BUF_INIT((size_t)1 << 20);

    file_change_write(c, h->has_line || !str_is(c->message, h->message), &line);
    if (buf_check(&line, err) < 0 || h->write(h->write_arg, buf_str(&line), err) < 0)
        return -1;
    h->has_line |= str_is(c->message, h->message);
    file_changes_keep(&h->changes, c);
    return 0;
}

static int history_keep(struct file_history *h, const char *path, struct str tool,
                        struct file_kept *ret, struct err *err)
{
    CLEANUP(buf_release) struct buf bytes = BUF_INIT(FILE_HISTORY_MAX_FILE);
    const struct file_change *last = map_get(&h->changes.newest, str_of(path));
    struct file_change c = {
        .path = str_of(path),
        .message = str_of(h->message),
        .tool = tool,
        .version = last ? last->version + 1 : 1,
        .time_ms = clock_wall_ms(),
    };
    bool kept = false;

    if (is_kept_already(h, last, &kept, err) < 0)
        return -1;
    if (kept)
        return 0;
    if (file_look_at(path, FILE_HISTORY_MAX_FILE, &c.before, &bytes, err) < 0)
        return -1;
    switch (c.before.kind) {
    case LOOK_FILE:
        if (history_put(h, &c, buf_str(&bytes), ret, err) < 0)
            return -1;
        break;
    case LOOK_BIG:
        history_note_big(h, &c, ret);
        break;
    case LOOK_ABSENT:
        c.folders = missing_folders(path);
        break;
    case LOOK_UNKNOWN:
    case LOOK_OTHER:
        return 0;
    }
    return history_write(h, &c, err);
}

int file_history_before(struct file_history *h, const char *path, struct str tool_use_id,
                        struct file_kept *ret, struct err *err)
{
    CLEANUP(mem_freep) char *real = NULL;
    struct file_kept kept = {.is_kept = true};
    int r = 0;

    if (path[0] == '/') {
        real = path_real(path);
        history_enter(h);
        if (utf8_is_valid(str_of(real))) {
            r = history_keep(h, real, tool_use_id, &kept, err);
        } else {
            /* Transcripts are UTF-8, so this name could not be found again. */
            kept.is_kept = false;
            kept.note = h->said_name ? NULL
                                     : "a file whose path is not UTF-8 is changed: `tenax rewind` "
                                       "cannot bring back how it was";
            h->said_name = true;
        }
        history_leave(h);
    }
    if (r < 0)
        return err_prefix(err, "'%s' is not changed, because how it is now cannot be kept", path);
    if (ret)
        *ret = kept;
    return 0;
}

/* ---- After ---- */

static int history_left(struct file_history *h, const char *path, struct err *err)
{
    const struct file_change *last = map_get(&h->changes.newest, str_of(path));
    struct file_change c;
    bool known = false;

    if (!last)
        return 0;
    if (file_look_still(path, &last->left, FILE_HISTORY_MAX_FILE, &known, err) < 0)
        return -1;
    if (known)
        return 0;
    c = *last;
    if (file_look_at(path, FILE_HISTORY_MAX_FILE, &c.left, /*ret_bytes=*/NULL, err) < 0)
        return -1;
    return history_write(h, &c, err);
}

int file_history_after(struct file_history *h, const char *path, struct err *err)
{
    CLEANUP(mem_freep) char *real = NULL;
    int r;

    if (path[0] != '/')
        return 0;
    real = path_real(path);
    history_enter(h);
    r = history_left(h, real, err);
    history_leave(h);
    return r;
}

int file_history_copy(const char *from_session_dir, const char *to_session_dir, struct err *err)
{
    CLEANUP(mem_freep) char *from = path_join(from_session_dir, FILE_HISTORY_DIR);
    CLEANUP(mem_freep) char *to = path_join(to_session_dir, FILE_HISTORY_DIR);

    return backups_copy(from, to, err);
}
