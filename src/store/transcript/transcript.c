/*
 * A file that is appended to. The file's lock (an OFD lock) excludes other processes during a
 * write; threads take turns (transcript_enter()). With SYNC_TURN one thread of the process waits
 * for the disk, so that neither request nor answer does; freeing the transcript waits for the last
 * sync.
 */
#include "store/transcript/transcript.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/disk.h"
#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/secret.h"
#include "store/file_lock.h"
#include "sync/thread.h"

/* The project's folder, that of all projects, the home: any of them may be new. */
#define NAMED_FOLDERS 3
#define MAX_WAIT_MS 5000 /* for a process that writes into the same file; a write takes 0.1 ms */

struct transcript {
    char *path;
    enum transcript_sync sync;
    void (*mirror)(void *arg, struct str lines);
    void *mirror_arg;
    int64_t max_wait_ms;
    struct cancel *cancel; /* or NULL */

    struct gate gate;
    bool busy;        /* the thread that set it owns the next eight */
    int fd;           /* -1: not opened yet */
    bool exists;      /* there is a file, ours or an older one */
    bool is_named;    /* its name and those of its folders are on disk */
    bool is_copy;     /* until it exists, it is written under another name, which no list shows */
    struct buf waits; /* whole lines that go before the next message */
    bool has_failed;  /* a message is among them */
    struct buf once;  /* the text being written, kept for its memory */
    off_t end;        /* file size after our last line, if no one else has written since */

    /* The syncer's; under its gate. */
    bool is_synced; /* by it, at least once */
    bool sync_wanted;
    struct transcript *sync_next;
};

struct transcript *transcript_new(const char *path, enum transcript_sync sync)
{
    struct transcript *t = mem_zalloc(sizeof(*t));

    t->path = mem_dup(path, strlen(path));
    t->sync = sync;
    t->fd = -1;
    t->max_wait_ms = MAX_WAIT_MS;
    t->exists = file_exists(path);
    buf_init(&t->waits, BUF_NO_LIMIT);
    buf_init(&t->once, BUF_NO_LIMIT);
    gate_init(&t->gate);
    return t;
}

/* Admits one thread at a time, without holding a lock during slow operations. */
static void transcript_enter(struct transcript *t)
{
    gate_take(&t->gate);
    while (t->busy)
        gate_wait(&t->gate, /*deadline_ms=*/-1);
    t->busy = true;
    gate_give(&t->gate);
}

static void transcript_leave(struct transcript *t)
{
    gate_take(&t->gate);
    t->busy = false;
    gate_wake(&t->gate);
    gate_give(&t->gate);
}

/* ---- Syncing in the background ---- */

/* One thread for all transcripts of the process; exists while one of them may need it. */
struct syncer {
    struct thread *thread;
    bool is_ending;
};

static struct {
    struct gate gate; /* of all below, and of the transcripts' part in it */
    struct syncer *syncer;
    struct transcript *first, *last; /* that wait */
    struct transcript *busy;         /* the one being synced, or NULL */
    size_t users;
} syncing = {.gate = GATE_INIT};

static void syncer_loop(void *arg)
{
    struct syncer *self = arg;

    gate_take(&syncing.gate);
    for (;;) {
        struct transcript *t;

        while (!syncing.first && !self->is_ending)
            gate_wait(&syncing.gate, /*deadline_ms=*/-1);
        if (self->is_ending) /* nothing waits of those that it was there for */
            break;
        t = syncing.first;
        syncing.first = t->sync_next;
        if (!syncing.first)
            syncing.last = NULL;
        t->sync_wanted = false;
        syncing.busy = t;
        gate_give(&syncing.gate);
        (void)disk_sync(t->fd); /* set once, before the first wish */
        gate_take(&syncing.gate);
        syncing.busy = NULL;
        gate_wake(&syncing.gate);
    }
    gate_give(&syncing.gate);
}

/* The gate is held, so that no thread ends before it is known. False: there is none. */
static bool syncer_start(void)
{
    struct syncer *s;

    if (syncing.syncer)
        return true;
    s = mem_zalloc(sizeof(*s));
    s->thread = thread_start("tenax-sync", syncer_loop, s, /*err=*/NULL);
    if (s->thread)
        syncing.syncer = s;
    else
        mem_freep(&s);
    return syncing.syncer;
}

/* Removes it from the queue. */
static void syncer_forget(struct transcript *t)
{
    struct syncer *last = NULL;

    gate_take(&syncing.gate);
    while (t->sync_wanted || syncing.busy == t)
        gate_wait(&syncing.gate, /*deadline_ms=*/-1);
    if (t->is_synced && --syncing.users == 0)
        last = TAKE_PTR(syncing.syncer);
    if (last)
        last->is_ending = true;
    gate_wake(&syncing.gate);
    gate_give(&syncing.gate);
    if (last)
        thread_join(last->thread);
    mem_freep(&last);
}

/* If a file's name is not synced, a power failure loses the file, however well its lines are
 * synced. File systems that cannot sync a folder are fine. */
static void transcript_sync_names(struct transcript *t)
{
    CLEANUP(mem_freep) char *dir = path_dirname(t->path);

    t->is_named = true;
    for (int i = 0; i < NAMED_FOLDERS; i++) {
        CLEANUP(fd_closep) int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        char *up = path_dirname(dir);

        if (fd >= 0)
            (void)disk_sync(fd);
        mem_freep(&dir);
        dir = up;
    }
}

static int transcript_sync_now(struct transcript *t, struct err *err)
{
    if (disk_sync(t->fd) < 0)
        return err_sys(err, ERR_IO, "'%s' could not be brought to the disk", t->path);
    if (!t->is_named)
        transcript_sync_names(t);
    return 0;
}

static int transcript_sync_soon(struct transcript *t, struct err *err)
{
    bool has_thread;

    gate_take(&syncing.gate);
    has_thread = syncer_start();
    if (has_thread && !t->is_synced) {
        t->is_synced = true;
        syncing.users++;
    }
    if (has_thread && !t->sync_wanted) {
        t->sync_wanted = true;
        t->sync_next = NULL;
        if (syncing.last)
            syncing.last->sync_next = t;
        else
            syncing.first = t;
        syncing.last = t;
    }
    gate_wake(&syncing.gate);
    gate_give(&syncing.gate);
    return has_thread ? 0 : transcript_sync_now(t, err);
}

void transcript_free(struct transcript *t)
{
    if (!t)
        return;
    syncer_forget(t);
    if (t->fd >= 0)
        close(t->fd);
    buf_release(&t->waits);
    buf_release(&t->once);
    gate_release(&t->gate);
    mem_freep(&t->path);
    mem_freep(&t);
}

int transcript_add_line(const char *path, struct str line, bool durable, struct err *err)
{
    struct transcript *t = transcript_new(path, durable ? SYNC_ALWAYS : SYNC_NEVER);
    int r = transcript_message(t, line, durable, err);

    transcript_free(t);
    return r;
}

const char *transcript_path(const struct transcript *t)
{
    return t->path;
}

bool transcript_exists(struct transcript *t)
{
    bool exists;

    transcript_enter(t);
    exists = t->exists;
    transcript_leave(t);
    return exists;
}

void transcript_mirror(struct transcript *t, void (*fn)(void *arg, struct str lines), void *arg)
{
    transcript_enter(t);
    t->mirror = fn;
    t->mirror_arg = arg;
    transcript_leave(t);
}

void transcript_patience(struct transcript *t, int64_t max_wait_ms, struct cancel *cancel)
{
    transcript_enter(t);
    t->max_wait_ms = max_wait_ms < 0 ? MAX_WAIT_MS : max_wait_ms;
    t->cancel = cancel;
    transcript_leave(t);
}

/* ---- Writing ---- */

/* The name of the file at present. */
static void transcript_name(const struct transcript *t, struct buf *ret)
{
    buf_addf(ret, "%s%s", t->path, t->is_copy ? TRANSCRIPT_COPY : "");
}

/* Renames a completely written copy to its final name; deletes an incomplete one. */
static int transcript_settle(struct transcript *t, bool is_written, struct err *err)
{
    CLEANUP(buf_release) struct buf path = BUF_INIT(BUF_NO_LIMIT);

    if (!t->is_copy)
        return 0;
    transcript_name(t, &path);
    if (is_written && rename(buf_cstr(&path), t->path) == 0) {
        t->is_copy = false;
        return 0;
    }
    if (is_written)
        err_sys(err, ERR_IO, "cannot make '%s'", t->path);
    (void)unlink(buf_cstr(&path));
    fd_closep(&t->fd);
    return -1;
}

static int transcript_open(struct transcript *t, struct err *err)
{
    CLEANUP(mem_freep) char *dir = path_dirname(t->path);
    CLEANUP(buf_release) struct buf path = BUF_INIT(BUF_NO_LIMIT);

    if (t->fd >= 0)
        return 0;
    if (file_mkdirs(dir, 0700, err) < 0)
        return -1;
    transcript_name(t, &path);
    t->fd =
        open(buf_cstr(&path),
             O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY | (t->is_copy ? O_TRUNC : 0), 0600);
    if (t->fd < 0)
        return err_sys(err, ERR_IO, "cannot open '%s'", t->path);
    return 0;
}

/* Whether the last line is incomplete: a process was killed, or the disk was full. Checked only if
 * we did not write it: a read after each write would make file systems update the access time, too.
 */
static bool transcript_is_torn(const struct transcript *t, off_t size)
{
    char last;

    if (size <= 0 || size == t->end)
        return false;
    return pread(t->fd, &last, 1, size - 1) == 1 && last != '\n';
}

static off_t transcript_size(const struct transcript *t)
{
    struct stat st;

    return fstat(t->fd, &st) < 0 ? 0 : st.st_size;
}

static int transcript_write(struct transcript *t, struct str lines, struct err *err)
{
    size_t torn;
    off_t size;
    ssize_t n;

    if (transcript_open(t, err) < 0)
        return -1;
    /* Some file systems have no locks; O_APPEND keeps lines whole there too, nearly always. */
    if (file_lock_take(t->fd, t->path, t->max_wait_ms, t->cancel, err) < 0)
        return -1;
    buf_clear(&t->once);
    size = transcript_size(t);
    if (transcript_is_torn(t, size))
        buf_addc(&t->once, '\n');
    torn = t->once.len;
    buf_add(&t->once, lines);
    secret_scrub(&t->once);
    n = disk_write(t->fd, t->once.ptr, t->once.len);
    if (n < 0)
        err_sys(err, ERR_IO, "cannot write '%s'", t->path);
    else if ((size_t)n < t->once.len)
        err_set(err, ERR_IO, "cannot write '%s': No space left on device", t->path);
    file_lock_give(t->fd);
    if (transcript_settle(t, n >= 0 && (size_t)n == t->once.len, err) < 0 || n < 0 ||
        (size_t)n < t->once.len)
        return -1;
    t->exists = true;
    t->end = size + n;
    if (t->mirror)
        t->mirror(t->mirror_arg, str_from(buf_str(&t->once), torn));
    return 0;
}

/* Writes waiting lines and these in one write. */
static int transcript_append(struct transcript *t, struct str lines, bool is_durable, bool stays,
                             struct err *err)
{
    size_t waited = t->waits.len;

    if (waited)
        buf_add(&t->waits, lines);
    if (transcript_write(t, waited ? buf_str(&t->waits) : lines, err) < 0) {
        if (!stays)
            buf_cut(&t->waits, waited, t->waits.len - waited);
        else if (!waited)
            buf_add(&t->waits, lines);
        t->has_failed = t->has_failed || stays;
        return -1;
    }
    t->has_failed = false;
    buf_clear(&t->waits);
    if (t->sync == SYNC_ALWAYS)
        return transcript_sync_now(t, err);
    if (t->sync == SYNC_TURN && is_durable)
        return transcript_sync_soon(t, err);
    return 0;
}

void transcript_hold(struct transcript *t, struct str lines)
{
    transcript_enter(t);
    buf_add(&t->waits, lines);
    transcript_leave(t);
}

void transcript_copy(struct transcript *t, struct str lines)
{
    transcript_enter(t);
    t->is_copy = !t->exists;
    buf_add(&t->waits, lines);
    transcript_leave(t);
}

int transcript_fact(struct transcript *t, struct str lines, struct err *err)
{
    int r = 0;

    transcript_enter(t);
    if (t->has_failed) /* waiting lines that cannot be written are dropped */
        r = transcript_append(t, lines, /*is_durable=*/false, /*stays=*/false, err);
    else if (!t->exists)
        buf_add(&t->waits, lines);
    else
        r = transcript_write(t, lines, err);
    if (r == 0 && t->exists && t->sync == SYNC_ALWAYS)
        r = transcript_sync_now(t, err);
    transcript_leave(t);
    return r;
}

int transcript_message(struct transcript *t, struct str lines, bool is_durable, struct err *err)
{
    int r;

    transcript_enter(t);
    r = transcript_append(t, lines, is_durable, /*stays=*/true, err);
    transcript_leave(t);
    return r;
}

int transcript_attempt(struct transcript *t, struct str lines, struct err *err)
{
    int r;

    transcript_enter(t);
    r = transcript_append(t, lines, /*is_durable=*/true, /*stays=*/false, err);
    transcript_leave(t);
    return r;
}
