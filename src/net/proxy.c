/*
 * proxy: the doors. One thread polls them and gives every descriptor that comes through to a
 * connection (proxy_conn.c).
 */
#include "net/proxy.h"

#include <errno.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/err.h"
#include "base/vec.h"
#include "net/host_list.h"
#include "net/proxy_state.h"
#include "sync/cancel.h"
#include "sync/mailbox.h"

#define PROXY_HEAD_MS 20000
#define PROXY_CONNECT_MS 20000
#define PROXY_IDLE_MS ((int64_t)10 * 60 * 1000)

struct door_mail {
    struct mail mail;
    struct proxy_door *door;
};

/* Connections not taken up yet are closed with it. The proxy thread, or after it. */
static void door_shut(struct proxy_door *d)
{
    fd_closep(&d->fd);
    proxy_door_unref(d);
}

static void door_mail_free(struct mail *m)
{
    struct door_mail *d = (struct door_mail *)m;

    if (d->door)
        door_shut(d->door);
    mem_freep(&m);
}

static const struct mail_kind door_mail_kind = {"proxy door", door_mail_free};

static char *dup_or_empty(const char *text)
{
    return mem_dup(text ? text : "", text ? strlen(text) : 0);
}

struct proxy *proxy_new(const struct proxy_spec *spec)
{
    struct proxy *p = mem_zalloc(sizeof(*p));

    atomic_init(&p->refs, 1);
    p->allowed = spec->allowed;
    p->denied = spec->denied;
    p->upstream.proxy = dup_or_empty(spec->upstream);
    p->upstream.plain_proxy = dup_or_empty(spec->upstream_plain);
    p->upstream.no_proxy = dup_or_empty(spec->no_proxy);
    p->http_port = spec->http_port;
    p->socks_port = spec->socks_port;
    p->head_ms = spec->head_ms ? spec->head_ms : PROXY_HEAD_MS;
    p->connect_ms = spec->connect_ms ? spec->connect_ms : PROXY_CONNECT_MS;
    p->idle_ms = spec->idle_ms ? spec->idle_ms : PROXY_IDLE_MS;
    p->stop = cancel_new(/*parent=*/NULL);
    p->new_doors = mailbox_new();
    gate_init(&p->gate);
    return p;
}

void proxy_unref(struct proxy *p)
{
    if (atomic_fetch_sub_explicit(&p->refs, 1, memory_order_acq_rel) > 1)
        return;
    host_list_free(p->allowed);
    host_list_free(p->denied);
    net_config_release(&p->upstream);
    cancel_unref(p->stop);
    mailbox_unref(p->new_doors);
    gate_release(&p->gate);
    mem_freep(&p);
}

void proxy_free(struct proxy *p)
{
    if (!p)
        return;
    cancel_set(p->stop);
    thread_join(p->thread);
    mailbox_close(p->new_doors);
    gate_take(&p->gate);
    while (p->conns > p->looking) /* threads in a name lookup leave when signalled */
        gate_wait(&p->gate, /*deadline_ms=*/-1);
    gate_give(&p->gate);
    proxy_unref(p);
}

/* ---- doors ---- */

struct proxy_door *proxy_door_ref(struct proxy_door *d)
{
    atomic_fetch_add_explicit(&d->refs, 1, memory_order_relaxed);
    return d;
}

void proxy_door_unref(struct proxy_door *d)
{
    if (!d || atomic_fetch_sub_explicit(&d->refs, 1, memory_order_acq_rel) > 1)
        return;
    gate_take(&d->proxy->gate);
    d->proxy->doors--;
    gate_give(&d->proxy->gate);
    proxy_unref(d->proxy);
    strv_release(&d->refusals);
    lock_release(&d->lock);
    mem_freep(&d);
}

void proxy_door_refuse(struct proxy_door *d, struct str line)
{
    lock_take(&d->lock);
    if (d->refusals.len < PROXY_MAX_REFUSALS && !strv_has(&d->refusals, line))
        strv_add(&d->refusals, line);
    lock_give(&d->lock);
}

void proxy_door_refusals(struct proxy_door *d, struct strv *ret)
{
    lock_take(&d->lock);
    strv_add_all(ret, &d->refusals);
    lock_give(&d->lock);
}

bool proxy_refusal_parse(struct str line, struct proxy_refusal *ret)
{
    size_t colon;

    *ret = (struct proxy_refusal){0};
    if (!str_starts(line, STR(PROXY_REFUSED)))
        return false;
    line = str_from(line, strlen(PROXY_REFUSED));
    colon = str_find(line, STR(": "));
    if (colon == line.len)
        return false;
    ret->target = str_first(line, colon);
    line = str_from(line, colon + 2);
    ret->is_denied = str_starts(line, STR(PROXY_DENIED_ADDRESS));
    if (str_starts(line, STR(PROXY_PRIVATE))) {
        line = str_from(line, strlen(PROXY_PRIVATE));
        ret->address = str_first(line, str_chr(line, ','));
    }
    return true;
}

/* The descriptors of a message: the first is the connection, others are unexpected. -1 when there
 * is none. */
static int take_descriptor(struct msghdr *m)
{
    int taken = -1;

    for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c)) {
        size_t count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);

        if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
            continue;
        for (size_t i = 0; i < count; i++) {
            int fd;

            memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof(fd));
            if (taken < 0)
                taken = fd;
            else
                fd_closep(&fd);
        }
    }
    return taken;
}

/* False when no process has the other end any more. */
static bool door_serve(struct proxy_door *d)
{
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(8 * sizeof(int))];
    } control;
    char word[16];
    struct iovec io = {.iov_base = word, .iov_len = sizeof(word)};
    struct msghdr m = {
        .msg_iov = &io,
        .msg_iovlen = 1,
        .msg_control = control.bytes,
        .msg_controllen = sizeof(control.bytes),
    };
    ssize_t n = recvmsg(d->fd, &m, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    int fd;

    if (n < 0)
        return errno == EAGAIN || errno == EINTR;
    fd = take_descriptor(&m);
    if (fd >= 0)
        proxy_conn_start(d, fd);
    return n > 0 || fd >= 0;
}

/* ---- the thread ---- */

struct doors {
    VEC(struct proxy_door *) list;
    VEC(struct pollfd) polls; /* cancel, mailbox, then the doors in their order */
};

static void doors_take_new(struct doors *doors, struct proxy *p)
{
    struct mail *m = mailbox_try(p->new_doors);

    for (; m; m = mailbox_try(p->new_doors)) {
        struct door_mail *d = (struct door_mail *)m;

        vec_push(&doors->list, d->door);
        d->door = NULL;
        mail_free(m);
    }
}

static void doors_poll(struct doors *doors, struct proxy *p)
{
    doors->polls.len = 0;
    vec_push(&doors->polls, ((struct pollfd){.fd = cancel_fd(p->stop), .events = POLLIN}));
    vec_push(&doors->polls, ((struct pollfd){.fd = mailbox_fd(p->new_doors), .events = POLLIN}));
    VEC_EACH(&doors->list, d) {
        vec_push(&doors->polls, ((struct pollfd){.fd = (*d)->fd, .events = POLLIN}));
    }
    poll(doors->polls.ptr, doors->polls.len, -1);
}

static void doors_serve(struct doors *doors)
{
    size_t kept = 0;

    for (size_t i = 0; i < doors->list.len; i++) {
        struct proxy_door *d = doors->list.ptr[i];

        if (doors->polls.ptr[i + 2].revents && !door_serve(d))
            door_shut(d);
        else
            doors->list.ptr[kept++] = d;
    }
    doors->list.len = kept;
}

static void proxy_thread(void *arg)
{
    struct proxy *p = arg;
    struct doors doors = {0};

    while (!cancel_is_set(p->stop)) {
        doors_poll(&doors, p);
        doors_serve(&doors);
        doors_take_new(&doors, p);
    }
    VEC_EACH(&doors.list, d) {
        door_shut(*d);
    }
    vec_release(&doors.list);
    vec_release(&doors.polls);
}

/* ---- opening ---- */

/* Counts it in, and starts the thread with the first one. */
static int proxy_admit(struct proxy *p, struct err *err)
{
    int rc = 0;

    gate_take(&p->gate);
    if (p->doors >= PROXY_MAX_DOORS)
        rc = err_set(err, ERR_TOO_BIG, "more than %d commands use the network", PROXY_MAX_DOORS);
    else if (cancel_fd(p->stop) < 0 || mailbox_fd(p->new_doors) < 0)
        rc = err_set(err, ERR_IO, "there are too many open files");
    else if (!p->thread)
        p->thread = thread_start("proxy", proxy_thread, p, err);
    if (!p->thread)
        rc = -1;
    if (rc == 0)
        p->doors++;
    gate_give(&p->gate);
    return rc;
}

struct proxy_door *proxy_open(struct proxy *p, int *ret_fd, struct err *err)
{
    struct proxy_door *d;
    struct door_mail *m;
    int ends[2];

    if (proxy_admit(p, err) < 0)
        return NULL;
    d = mem_zalloc(sizeof(*d));
    atomic_init(&d->refs, 1);
    atomic_fetch_add_explicit(&p->refs, 1, memory_order_relaxed);
    d->proxy = p;
    d->fd = -1;
    lock_init(&d->lock);
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0) {
        err_sys(err, ERR_IO, "the way to the proxy cannot be made");
        proxy_door_unref(d);
        return NULL;
    }
    d->fd = ends[0];
    m = mem_zalloc(sizeof(*m));
    m->mail.kind = &door_mail_kind;
    m->door = proxy_door_ref(d);
    mailbox_send(p->new_doors, &m->mail);
    *ret_fd = ends[1];
    return d;
}
