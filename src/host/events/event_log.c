/*
 * event_log: takes events and appends their lines, many in one write, on the log's own thread.
 *
 * It does not use base/disk.h for writing: a log may be lost, and writes of a parallel thread would
 * make the numbers of test points nondeterministic.
 */
#include "host/events/event_log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/event.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/secret.h"
#include "host/events/event_line.h"
#include "host/events/feed.h"
#include "sync/mailbox.h"
#include "sync/thread.h"

#define LOG_MAX_LINES ((size_t)1 << 20) /* waiting bytes */
#define LOG_GATHER_MS 10                /* events of a few quick steps are written together */

/* Events that wake the thread; others are taken along. */
#define LOG_WAKES                                                                                  \
    (EVENT_BIT(EVENT_TURN_STARTED) | EVENT_BIT(EVENT_STEP_DONE) | EVENT_BIT(EVENT_TOOL_STARTED) |  \
     EVENT_BIT(EVENT_RETRY) | EVENT_BIT(EVENT_TURN_DONE))

struct event_log {
    struct feed *feed;
    struct mailbox *mailbox;
    struct thread *thread;
    char *session, *path, *older;
    size_t max_bytes;

    /* The thread's fields. */
    struct observer *observer;
    struct event_line line;
    struct buf lines;
    int fd;
    size_t size;
    bool began; /* a turn has started */
    /* Event numbers: the first one missing in the file (0 = none), the first one in `lines`, the
     * last one taken. */
    uint64_t lost, waiting, taken;
};

static void stop_free(struct mail *m)
{
    mem_freep(&m);
}

static const struct mail_kind stop_kind = {"stop", stop_free};

/* ---- The file ---- */

static int log_open(struct event_log *l)
{
    CLEANUP(mem_freep) char *dir = path_dirname(l->path);
    struct stat st;
    char last;

    if (l->fd >= 0)
        return 0;
    if (file_mkdirs(dir, 0700, /*err=*/NULL) < 0)
        return -1;
    l->fd = open(l->path, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
    if (l->fd < 0)
        return -1;
    if (fstat(l->fd, &st) < 0 || !S_ISREG(st.st_mode)) {
        fd_closep(&l->fd);
        l->fd = -1;
        return -1;
    }
    l->size = (size_t)st.st_size;
    /* a process was killed in the middle of a line */
    if (st.st_size > 0 && pread(l->fd, &last, 1, st.st_size - 1) == 1 && last != '\n')
        buf_insert(&l->lines, 0, STR("\n"));
    return 0;
}

static void log_close(struct event_log *l)
{
    if (l->fd >= 0)
        close(l->fd);
    l->fd = -1;
}

/* Opens a file with room. */
static int log_make_room(struct event_log *l)
{
    if (log_open(l) < 0)
        return -1;
    if (l->size < l->max_bytes)
        return 0;
    log_close(l);
    if (rename(l->path, l->older) < 0)
        return -1;
    return log_open(l);
}

/* Writes all or nothing; if a line was written partly, the next open completes it. */
static int log_put(struct event_log *l)
{
    struct str bytes;
    ssize_t n;

    if (log_make_room(l) < 0)
        return -1;
    bytes = buf_str(&l->lines);
    do {
        n = write(l->fd, bytes.ptr, bytes.len);
    } while (n < 0 && errno == EINTR);
    if (n > 0)
        l->size += (size_t)n;
    if (n == (ssize_t)bytes.len)
        return 0;
    log_close(l);
    return -1;
}

static void log_flush(struct event_log *l)
{
    if (!l->began || !l->lines.len)
        return;
    secret_scrub(&l->lines);
    if (log_put(l) < 0 && !l->lost)
        l->lost = l->waiting;
    buf_clear(&l->lines);
}

/* ---- Events ---- */

static void log_event(struct event_log *l, const struct event *e)
{
    if (l->lost && l->lines.len < LOG_MAX_LINES / 2) {
        event_line_gap(l->session, l->lost, e->seq - 1, &l->lines);
        l->lost = 0;
    }
    l->began |= e->kind == EVENT_TURN_STARTED;
    if (!l->lines.len)
        l->waiting = e->seq;
    if (l->lines.len < LOG_MAX_LINES / 2)
        event_line_write(&l->line, e, &l->lines);
    else if (!l->lost) /* many events before the first turn */
        l->lost = e->seq;
    l->taken = e->seq;
    if (l->lines.len >= LOG_MAX_LINES / 2)
        log_flush(l);
}

static void log_take(struct event_log *l)
{
    for (;;) {
        struct event *e = NULL;
        uint64_t seq = 0;

        switch (observer_take(l->observer, &e, &seq)) {
        case OBSERVED_NOTHING:
            log_flush(l);
            return;
        case OBSERVED_EVENT:
            log_event(l, e);
            event_unref(e);
            break;
        case OBSERVED_GAP:
            if (!l->lost)
                l->lost = l->taken + 1;
            break;
        case OBSERVED_DROPPED:
            observer_free(l->observer);
            l->observer =
                feed_observe(l->feed, seq + 1, OBSERVER_REMOTE | OBSERVER_CHILDREN, l->mailbox);
            observer_wake_on(l->observer, LOG_WAKES);
            break;
        }
    }
}

/* Waits for mail or the deadline; true if the log must end. */
static bool log_wait(struct event_log *l, int64_t deadline_ms)
{
    struct mail *m = NULL;
    bool is_end;

    if (mailbox_take(l->mailbox, /*cancel=*/NULL, deadline_ms, &m, /*err=*/NULL) < 0)
        return false;
    is_end = m->kind == &stop_kind;
    mail_free(m);
    return is_end;
}

static void log_run(void *arg)
{
    struct event_log *l = arg;
    bool ending = false;

    l->observer =
        feed_observe(l->feed, /*from=*/1, OBSERVER_REMOTE | OBSERVER_CHILDREN, l->mailbox);
    observer_wake_on(l->observer, LOG_WAKES);
    while (!ending) {
        log_take(l);
        /* Only the end wakes it until it has taken everything. */
        ending = log_wait(l, /*deadline_ms=*/-1) || log_wait(l, clock_mono_ms() + LOG_GATHER_MS);
    }
    log_take(l);
    observer_free(l->observer);
}

struct event_log *event_log_start(struct feed *feed, const char *session, const char *folder,
                                  size_t max_bytes, struct err *err)
{
    struct event_log *l = mem_zalloc(sizeof(*l));

    l->feed = feed_ref(feed);
    l->mailbox = mailbox_new();
    l->session = mem_dup(session, strlen(session));
    l->path = path_join(folder, "events.jsonl");
    l->older = path_join(folder, "events.1.jsonl");
    l->max_bytes = max_bytes;
    l->fd = -1;
    buf_init(&l->lines, LOG_MAX_LINES);
    l->thread = thread_start("tenax-events", log_run, l, err);
    if (!l->thread) {
        event_log_stop(l);
        return NULL;
    }
    return l;
}

void event_log_stop(struct event_log *l)
{
    struct mail *m;

    if (!l)
        return;
    if (l->thread) {
        m = mem_zalloc(sizeof(*m));
        m->kind = &stop_kind;
        mailbox_send(l->mailbox, m);
        thread_join(l->thread);
    }
    log_close(l);
    mailbox_close(l->mailbox);
    mailbox_unref(l->mailbox);
    feed_unref(l->feed);
    buf_release(&l->lines);
    mem_freep(&l->session);
    mem_freep(&l->path);
    mem_freep(&l->older);
    mem_freep(&l);
}
