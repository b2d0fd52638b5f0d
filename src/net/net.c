/*
 * The network thread: one curl multi handle, driven by epoll.
 *
 * Other threads never touch curl, which this one loads before anything else (curl_table.h). They
 * change atomics of a stream (cancelled, unread) and nudge it: the stream is put into a queue,
 * once, and an eventfd wakes the thread, which looks at every nudged stream and does what its state
 * asks for: open, close or resume it.
 *
 * Limits on idle and total time are ours rather than curl's, because curl's go on while a stream is
 * paused. Deadlines only move away while bytes arrive, so the thread keeps the earliest one as of
 * its last look and looks again at that time: no heap, no work per byte.
 */
#include "net/net.h"

#include <errno.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "base/vec.h"
#include "net/net_stream.h"
#include "sync/thread.h"

#define EVENTS_PER_ROUND 64
#define IDLE_CONNECTIONS 64L /* kept open for the next request; each costs memory on both sides */

struct net {
    atomic_int refs; /* the owner's and one per stream, so that a late net_cancel() finds us */
    struct net_config config;
    struct thread *thread;
    int epoll_fd;
    int wake_fd;

    struct gate gate;   /* guards what net_loaded() and net_ready() wait for */
    bool loaded;        /* libcurl is there */
    bool settled;       /* and set up; or it will never be */
    struct err failure; /* code ERR_NONE: none so far */

    struct lock lock; /* the three below, and what streams have for this queue */
    struct net_stream *first_nudged;
    struct net_stream *last_nudged; /* when there is a first one */
    bool stopping;

    /* The network thread's. */
    CURLM *multi;
    VEC(struct net_stream *) live;
    struct net_notes notes;
    int64_t curl_at_ms; /* when curl wants to be called, by steady_ms(); -1: not */
};

/* curl counts in real time, even where clock.h has been made virtual. */
static int64_t steady_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void net_wake(struct net *n)
{
    uint64_t one = 1;

    /* Fails only when the counter is full, and then the thread is about to wake anyway. */
    if (write(n->wake_fd, &one, sizeof(one)) < 0 && errno != EAGAIN)
        BUG("cannot write to an eventfd: %s", strerror(errno));
}

/* Has the network thread look at s. Any thread. */
static void net_nudge(struct net_stream *s)
{
    struct net *n = s->net;
    bool first = false;

    lock_take(&n->lock);
    if (!s->nudged && !n->stopping) {
        first = !n->first_nudged;
        s->nudged = true;
        s->next_nudged = NULL;
        if (first)
            n->first_nudged = s;
        else
            n->last_nudged->next_nudged = s;
        n->last_nudged = net_stream_ref(s);
    }
    lock_give(&n->lock);
    if (first)
        net_wake(n);
}

/* One at a time: as soon as a stream is out, it may be nudged again. NULL when none is left. */
static struct net_stream *net_take_nudged(struct net *n)
{
    struct net_stream *s;

    lock_take(&n->lock);
    s = n->first_nudged;
    if (s) {
        n->first_nudged = s->next_nudged;
        s->nudged = false;
    }
    lock_give(&n->lock);
    return s;
}

/* The loop. */

static int on_curl_socket(CURL *easy, curl_socket_t fd, int what, void *arg, void *known)
{
    struct net *n = arg;
    struct epoll_event event = {.data.fd = fd};

    (void)easy;
    if (what == CURL_POLL_REMOVE) {
        epoll_ctl(n->epoll_fd, EPOLL_CTL_DEL, fd, NULL);
        return 0;
    }
    if (what & CURL_POLL_IN)
        event.events |= EPOLLIN;
    if (what & CURL_POLL_OUT)
        event.events |= EPOLLOUT;
    /* Reporting a failure would end every stream of the multi handle; its own limits
     * end this one. */
    if (epoll_ctl(n->epoll_fd, known ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, fd, &event) < 0)
        log_debug("net", "epoll_ctl on socket %d: %s", fd, strerror(errno));
    curl.multi_assign(n->multi, fd, n); /* any value that is not NULL */
    return 0;
}

static int on_curl_timer(CURLM *multi, long timeout_ms, void *arg)
{
    struct net *n = arg;

    (void)multi;
    n->curl_at_ms = timeout_ms < 0 ? -1 : steady_ms() + timeout_ms;
    return 0;
}

static void net_flush(struct net *n)
{
    while (n->notes.dirty) {
        struct net_stream *s = n->notes.dirty;

        n->notes.dirty = s->next_dirty;
        net_stream_flush(s);
    }
}

static void net_close(struct net *n, struct net_stream *s)
{
    struct net_stream *last = n->live.ptr[n->live.len - 1];

    net_stream_close(s, n->multi);
    n->live.ptr[s->live_index] = last;
    last->live_index = s->live_index;
    n->live.len--;
    net_stream_drop(s);
}

static void net_open(struct net *n, struct net_stream *s)
{
    s->live_index = n->live.len;
    vec_push(&n->live, net_stream_ref(s));
    if (net_stream_open(s, n->multi, &n->notes) < 0)
        net_close(n, s);
}

static void net_end(struct net *n, struct net_stream *s, CURLcode code)
{
    net_flush(n);
    net_stream_done(s, code);
    net_close(n, s);
}

/* What other threads may want of a stream, told by its state. */
static void net_look_at(struct net *n, struct net_stream *s)
{
    bool cancelled = atomic_load(&s->cancelled);

    if (!s->opened) {
        s->opened = true;
        if (!cancelled)
            net_open(n, s);
    } else if (s->easy && cancelled) {
        net_close(n, s);
    } else if (s->easy) {
        CURLcode code = net_stream_resume(s);

        if (code != CURLE_OK)
            net_end(n, s, code);
    }
}

static void net_look_at_nudged(struct net *n)
{
    struct net_stream *s;
    uint64_t count;

    /* Emptied before the queue is: a nudge in between wakes us once too often, not too late. */
    if (read(n->wake_fd, &count, sizeof(count)) < 0 && errno != EAGAIN)
        BUG("cannot read from an eventfd: %s", strerror(errno));
    for (s = net_take_nudged(n); s; s = net_take_nudged(n)) {
        net_look_at(n, s);
        net_stream_drop(s);
    }
}

static void net_reap(struct net *n)
{
    for (;;) {
        int left;
        CURLMsg *message = curl.multi_info_read(n->multi, &left);
        struct net_stream *s;
        CURLcode code;

        if (!message)
            return;
        if (message->msg != CURLMSG_DONE)
            continue;
        code = message->data.result;
        curl.easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &s);
        if (net_stream_try_ca_file(s, n->multi, code))
            continue;
        net_end(n, s, code);
    }
}

static void net_expire(struct net *n)
{
    int64_t now_ms = clock_mono_ms();

    if (now_ms < n->notes.look_at_ms)
        return;
    n->notes.look_at_ms = INT64_MAX;
    for (size_t i = n->live.len; i-- > 0;) { /* backwards: closing moves the last one here */
        struct net_stream *s = n->live.ptr[i];

        if (net_stream_expired(s, now_ms))
            net_close(n, s);
    }
}

/* How long epoll may wait; -1 is without limit. */
static int net_patience_ms(const struct net *n)
{
    int64_t wait_ms = INT64_MAX;

    if (n->curl_at_ms >= 0)
        wait_ms = n->curl_at_ms - steady_ms();
    if (n->notes.look_at_ms < INT64_MAX) {
        int64_t look_ms = n->notes.look_at_ms - clock_mono_ms();

        wait_ms = look_ms < wait_ms ? look_ms : wait_ms;
    }
    if (wait_ms == INT64_MAX)
        return -1;
    return wait_ms < 0 ? 0 : wait_ms > 3600 * 1000 ? 3600 * 1000 : (int)wait_ms;
}

static bool net_is_stopping(struct net *n)
{
    bool stopping;

    lock_take(&n->lock);
    stopping = n->stopping;
    lock_give(&n->lock);
    return stopping;
}

static void net_action(struct net *n, curl_socket_t fd, uint32_t events)
{
    int bits = 0;
    int running;

    if (events & (EPOLLIN | EPOLLHUP))
        bits |= CURL_CSELECT_IN;
    if (events & EPOLLOUT)
        bits |= CURL_CSELECT_OUT;
    if (events & EPOLLERR)
        bits |= CURL_CSELECT_ERR;
    curl.multi_socket_action(n->multi, fd, bits, &running);
}

/* One round: what curl has to do, mail, ends, deadlines, and last what other threads asked for, so
 * that a stream is only closed when it has nothing left to flush. False when we are to stop. */
static bool net_round(struct net *n)
{
    struct epoll_event events[EVENTS_PER_ROUND];
    int count = epoll_wait(n->epoll_fd, events, EVENTS_PER_ROUND, net_patience_ms(n));
    bool nudged = false;

    if (count < 0 && errno != EINTR)
        BUG("epoll_wait: %s", strerror(errno));
    for (int i = 0; i < count; i++) {
        if (events[i].data.fd == n->wake_fd)
            nudged = true;
        else
            net_action(n, events[i].data.fd, events[i].events);
    }
    if (n->curl_at_ms >= 0 && steady_ms() >= n->curl_at_ms) {
        n->curl_at_ms = -1;
        net_action(n, CURL_SOCKET_TIMEOUT, 0);
    }
    net_flush(n);
    net_reap(n);
    net_expire(n);
    if (nudged) {
        net_look_at_nudged(n);
        net_flush(n);
    }
    return !(nudged && net_is_stopping(n));
}

static int net_make_curl(struct net *n, struct err *err)
{
    if (curl_table_start(err) < 0)
        return -1;
    n->multi = curl.multi_init();
    n->config.share = curl.share_init();
    if (!n->multi || !n->config.share)
        return err_set(err, ERR_NETWORK, "libcurl does not start");
    curl.share_setopt(n->config.share, CURLSHOPT_SHARE, CURL_LOCK_DATA_SSL_SESSION);
    curl.multi_setopt(n->multi, CURLMOPT_SOCKETFUNCTION, on_curl_socket);
    curl.multi_setopt(n->multi, CURLMOPT_SOCKETDATA, n);
    curl.multi_setopt(n->multi, CURLMOPT_TIMERFUNCTION, on_curl_timer);
    curl.multi_setopt(n->multi, CURLMOPT_TIMERDATA, n);
    curl.multi_setopt(n->multi, CURLMOPT_MAXCONNECTS, IDLE_CONNECTIONS);
    return 0;
}

/* Says how far we are. */
static void net_tell(struct net *n, bool loaded, bool settled, const struct err *failure)
{
    gate_take(&n->gate);
    n->loaded = loaded;
    n->settled = settled;
    n->failure = *failure;
    gate_wake(&n->gate);
    gate_give(&n->gate);
}

static int net_settle(struct net *n)
{
    struct err failure = {0};
    bool loaded = curl_table_load(&failure) == 0;
    int rc = -1;

    if (loaded) {
        net_tell(n, /*loaded=*/true, /*settled=*/false, &failure);
        rc = net_make_curl(n, &failure);
    }
    net_tell(n, loaded, /*settled=*/true, &failure);
    return rc;
}

static void net_main(void *arg)
{
    struct net *n = arg;

    if (net_settle(n) < 0)
        return; /* net_start() accepts nothing */
    while (net_round(n))
        continue;
    net_look_at_nudged(n); /* stopping: no more follow these */
    net_flush(n);
    while (n->live.len)
        net_close(n, n->live.ptr[n->live.len - 1]);
}

/* The owner's side. */

static void net_unref(struct net *n)
{
    if (atomic_fetch_sub_explicit(&n->refs, 1, memory_order_acq_rel) > 1)
        return;
    vec_release(&n->live);
    net_config_release(&n->config);
    fd_closep(&n->epoll_fd);
    fd_closep(&n->wake_fd);
    lock_release(&n->lock);
    gate_release(&n->gate);
    free(n);
}

void net_free_if_last(struct net *n)
{
    net_unref(n);
}

static int net_make_loop(struct net *n, struct err *err)
{
    struct epoll_event event = {.events = EPOLLIN};

    n->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    n->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    event.data.fd = n->wake_fd;
    if (n->epoll_fd < 0 || n->wake_fd < 0 ||
        epoll_ctl(n->epoll_fd, EPOLL_CTL_ADD, n->wake_fd, &event) < 0)
        return err_sys(err, ERR_IO, "cannot set up the network thread");
    n->thread = thread_start("net", net_main, n, err);
    return n->thread ? 0 : -1;
}

struct net *net_new(const struct net_options *options, struct err *err)
{
    static const struct net_options none;
    struct net *n = mem_zalloc(sizeof(*n));

    if (!options)
        options = &none;
    atomic_init(&n->refs, 1);
    lock_init(&n->lock);
    gate_init(&n->gate);
    n->epoll_fd = -1;
    n->wake_fd = -1;
    n->curl_at_ms = -1;
    n->notes.look_at_ms = INT64_MAX;
    net_config_init(&n->config, options);
    if (net_make_loop(n, err) < 0) {
        net_free(n);
        return NULL;
    }
    net_config_find_certificates(&n->config, options->ca_file); /* while libcurl is being loaded */
    return n;
}

/* Until it is settled, or for whom that is enough, loaded. */
static int net_wait(struct net *n, bool is_loaded_enough, struct err *err)
{
    struct err failure;

    gate_take(&n->gate);
    while (!n->settled && !(n->loaded && is_loaded_enough))
        gate_wait(&n->gate, /*deadline_ms=*/-1);
    failure = n->failure;
    gate_give(&n->gate);
    if (!failure.code)
        return 0;
    if (err)
        *err = failure;
    return -1;
}

int net_loaded(struct net *n, struct err *err)
{
    int rc = net_wait(n, /*is_loaded_enough=*/true, err);

    if (rc == 0)
        curl_table_slim(); /* while the network thread sets libcurl up */
    return rc;
}

int net_ready(struct net *n, struct err *err)
{
    return net_wait(n, /*is_loaded_enough=*/false, err);
}

void net_free(struct net *n)
{
    if (!n)
        return;
    lock_take(&n->lock);
    n->stopping = true;
    lock_give(&n->lock);
    if (n->thread) {
        net_wake(n);
        thread_join(n->thread);
    }
    if (n->multi)
        curl.multi_cleanup(n->multi);
    if (n->config.share)
        curl.share_cleanup(n->config.share);
    net_unref(n);
}

bool net_is_token(struct str s)
{
    static const char allowed[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                                  "0123456789!#$%&'*+-.^_`|~";

    for (size_t i = 0; i < s.len; i++) {
        if (!memchr(allowed, s.ptr[i], sizeof(allowed) - 1))
            return false;
    }
    return s.len > 0;
}

/* A line break in a header value would let it smuggle in further headers, or a second request. */
static int check_headers(const struct strv *headers, struct err *err)
{
    for (size_t i = 0; i < headers->len; i++) {
        struct str line = str_of(headers->ptr[i]);
        size_t colon = str_chr(line, ':');

        if (colon == line.len || !net_is_token(str_first(line, colon)))
            return err_set(err, ERR_BAD_INPUT, "header %zu of the request is not \"name: value\"",
                           i + 1);
        if (strpbrk(line.ptr, "\r\n"))
            return err_set(err, ERR_BAD_INPUT, "header '%.*s' of the request has a line break",
                           STR_ARG(str_first(line, colon)));
    }
    return 0;
}

struct net_stream *net_start(struct net *n, struct net_request *request, struct mailbox *to,
                             struct err *err)
{
    struct net_stream *s;
    struct url url;

    if (url_parse(str_of(request->url), &url, err) < 0 ||
        net_config_check_proxy(&n->config, &url, err) < 0)
        return NULL;
    if (!request->method || !net_is_token(str_of(request->method))) {
        err_set(err, ERR_BAD_INPUT, "the method of the request is not a word");
        return NULL;
    }
    if (check_headers(&request->headers, err) < 0 || net_ready(n, err) < 0)
        return NULL;
    atomic_fetch_add_explicit(&n->refs, 1, memory_order_relaxed);
    s = net_stream_new(n, &n->config, request, &url, to);
    net_nudge(s);
    return s;
}

void net_used(struct net_stream *s, size_t bytes)
{
    size_t before = atomic_fetch_sub(&s->unread, bytes);

    if (before < bytes)
        BUG("net_used() of more than was sent");
    if (before - bytes <= NET_PAUSE_BYTES / 2 && atomic_load(&s->paused))
        net_nudge(s);
}

void net_cancel(struct net_stream *s)
{
    if (!atomic_exchange(&s->cancelled, true) && !atomic_load(&s->ended))
        net_nudge(s);
}

void net_stream_unref(struct net_stream *s)
{
    if (!s)
        return;
    net_cancel(s);
    net_stream_drop(s);
}

const char *net_library(struct net *n)
{
    (void)n;
    return curl.version();
}
