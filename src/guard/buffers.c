/*
 * buffers: decides which of two texts of a file is current. One lock guards everything; it is never
 * held while the editor is asked. Any thread.
 */
#include "guard/buffers.h"

#include <stdint.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/vec.h"
#include "guard/workspace.h"
#include "sync/thread.h"

#define BUFFERS_MAX_FILES 10000
#define BUFFERS_MAX_RUNS 256
#define BUFFERS_SLACK_MS 20 /* file times have the resolution of a kernel tick */

/* The text of each side when it was last known to have no unsaved or unloaded changes. */
struct bases {
    uint64_t buffer, disk;
};

/* A period in which at least one command ran. */
struct run {
    int64_t from_ms, to_ms;
};

struct buffers {
    struct lock lock;
    struct buffer_lender lender; /* arg NULL = none */
    struct map files;            /* path → struct bases */
    VEC(struct run) runs;
    size_t running;
    bool has_complained;
};

struct buffers *buffers_new(void)
{
    struct buffers *b = mem_zalloc(sizeof(*b));

    lock_init(&b->lock);
    return b;
}

static void forget_files(struct buffers *b)
{
    MAP_EACH(&b->files, it) {
        mem_freep(&it->value);
    }
    map_release(&b->files);
}

void buffers_free(struct buffers *b)
{
    if (!b)
        return;
    if (b->lender.arg)
        b->lender.unref(b->lender.arg);
    forget_files(b);
    vec_release(&b->runs);
    lock_release(&b->lock);
    mem_freep(&b);
}

void buffers_lend(struct buffers *b, const struct buffer_lender *lender)
{
    struct buffer_lender old;

    lender->ref(lender->arg);
    lock_take(&b->lock);
    old = b->lender;
    b->lender = *lender;
    b->has_complained = false;
    forget_files(b); /* another editor has other buffers */
    lock_give(&b->lock);
    if (old.arg)
        old.unref(old.arg);
}

void buffers_withdraw(struct buffers *b, const void *arg)
{
    struct buffer_lender old = {0};

    lock_take(&b->lock);
    if (b->lender.arg == arg) {
        old = b->lender;
        b->lender = (struct buffer_lender){0};
        forget_files(b);
    }
    lock_give(&b->lock);
    if (old.arg)
        old.unref(old.arg);
}

/* ---- Commands ---- */

void buffers_command_began(struct buffers *b)
{
    lock_take(&b->lock);
    if (!b->running++) {
        if (b->runs.len ==
            BUFFERS_MAX_RUNS) { /* merges the first two, including the time between */
            b->runs.ptr[1].from_ms = b->runs.ptr[0].from_ms;
            b->runs.len--;
            for (size_t i = 0; i < b->runs.len; i++)
                b->runs.ptr[i] = b->runs.ptr[i + 1];
        }
        vec_push(&b->runs, ((struct run){clock_file_ms() - BUFFERS_SLACK_MS, INT64_MAX}));
    }
    lock_give(&b->lock);
}

void buffers_command_ended(struct buffers *b)
{
    lock_take(&b->lock);
    if (!--b->running)
        b->runs.ptr[b->runs.len - 1].to_ms = clock_file_ms() + BUFFERS_SLACK_MS;
    lock_give(&b->lock);
}

/* The lock must be held. */
static bool command_changed(const struct buffers *b, const struct stat *st)
{
    int64_t ms = (int64_t)st->st_mtim.tv_sec * 1000 + st->st_mtim.tv_nsec / 1000000;

    VEC_EACH(&b->runs, run) {
        if (ms >= run->from_ms && ms <= run->to_ms)
            return true;
    }
    return false;
}

/* ---- Deciding which text is current ---- */

/* Hash of a text without line endings: editors that keep \r\n on disk have \n in their buffers. */
static uint64_t text_hash(struct str text)
{
    CLEANUP(buf_release) struct buf plain = BUF_INIT(BUF_NO_LIMIT);

    if (str_chr(text, '\r') == text.len)
        return seen_hash(text);
    while (text.len) {
        size_t n = str_chr(text, '\r');

        buf_add(&plain, str_first(text, n));
        text = str_from(text, n);
        if (text.len && !str_starts(text, STR("\r\n")))
            buf_addc(&plain, '\r');
        text = str_from(text, 1);
    }
    return seen_hash(buf_str(&plain));
}

/* The lock must be held. */
static void set_bases(struct buffers *b, const char *real, struct bases now)
{
    struct bases *it = map_get(&b->files, str_of(real));

    if (!it) {
        if (b->files.len >= BUFFERS_MAX_FILES)
            return;
        it = mem_zalloc(sizeof(*it));
        map_set(&b->files, str_of(real), it);
    }
    *it = now;
}

/* The lock must be held. */
static enum buffer_truth decide(struct buffers *b, const char *real, const struct stat *st,
                                uint64_t buffer, uint64_t disk)
{
    struct bases *known = map_get(&b->files, str_of(real));
    struct bases bases;

    if (buffer == disk) {
        set_bases(b, real, (struct bases){buffer, disk});
        return BUFFER_NEWER;
    }
    if (known) {
        bases = *known;
    } else {
        /* First seen, and already different: either the user has not saved, or one of our commands
         * has changed the file and the editor has not reloaded it. */
        bases.buffer = bases.disk = command_changed(b, st) ? buffer : disk;
        set_bases(b, real, bases);
    }
    if (bases.disk == disk)
        return BUFFER_NEWER;
    return bases.buffer == buffer ? BUFFER_NONE : BUFFER_CONFLICT;
}

static struct buffers *served_by(struct workspace *w, const char *real,
                                 struct buffer_lender *ret_lender)
{
    struct buffers *b = workspace_buffers(w);

    lock_take(&b->lock);
    *ret_lender = b->lender;
    if (ret_lender->arg)
        ret_lender->ref(ret_lender->arg);
    lock_give(&b->lock);
    if (ret_lender->arg && workspace_contains_real(w, real))
        return b;
    if (ret_lender->arg)
        ret_lender->unref(ret_lender->arg);
    return NULL;
}

bool buffers_serve(struct workspace *w, const char *real)
{
    struct buffer_lender lender;

    if (!served_by(w, real, &lender))
        return false;
    lender.unref(lender.arg);
    return lender.read;
}

bool buffers_serve_writes(struct workspace *w, const char *real)
{
    struct buffer_lender lender;

    if (!served_by(w, real, &lender))
        return false;
    lender.unref(lender.arg);
    return lender.write;
}

/* A new file has no buffer, unless the user has begun to write it. */
static enum buffer_truth new_file(struct str buffer)
{
    return buffer.len ? BUFFER_CONFLICT : BUFFER_NONE;
}

enum buffer_truth buffers_read(struct workspace *w, const char *real, const struct stat *st,
                               struct str disk, struct cancel *cancel, struct buf *ret_text)
{
    struct buffer_lender lender;
    struct buffers *b = served_by(w, real, &lender);
    enum buffer_truth truth = BUFFER_NONE;
    bool complains = false;
    struct err err = {0};
    uint64_t buffer_hash;
    uint64_t disk_hash;

    if (!b)
        return BUFFER_NONE;
    if (lender.read && lender.read(lender.arg, real, cancel, ret_text, &err) == 0) {
        buffer_hash = text_hash(buf_str(ret_text));
        disk_hash = text_hash(disk);
        lock_take(&b->lock);
        truth = st ? decide(b, real, st, buffer_hash, disk_hash) : new_file(buf_str(ret_text));
        lock_give(&b->lock);
    } else if (lender.read && st && err.code != ERR_CANCELLED) {
        lock_take(&b->lock);
        complains = !b->has_complained;
        b->has_complained = true;
        lock_give(&b->lock);
    }
    if (complains)
        lender.complain(lender.arg, real, err.text);
    lender.unref(lender.arg);
    return truth;
}

int buffers_write(struct workspace *w, const char *real, struct str text, struct cancel *cancel,
                  struct err *err)
{
    struct buffer_lender lender;
    int r;

    if (!served_by(w, real, &lender))
        return err_set(err, ERR_IO, "the editor has closed the session");
    r = lender.write ? lender.write(lender.arg, real, text, cancel, err)
                     : err_set(err, ERR_UNSUPPORTED, "the editor does not write files");
    lender.unref(lender.arg);
    return r;
}

bool buffers_wrote(struct workspace *w, const char *real, struct str text, struct str disk)
{
    struct buffers *b = workspace_buffers(w);
    uint64_t now = text_hash(disk);

    lock_take(&b->lock);
    set_bases(b, real, (struct bases){now, now}); /* not saved yet: the buffer has changed */
    lock_give(&b->lock);
    return text_hash(text) == now;
}
