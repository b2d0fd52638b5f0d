/*
 * socket: listening, connections, and the thread that polls them.
 */
#include "host/socket.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/err.h"
#include "base/file.h"
#include "base/log.h"
#include "base/vec.h"
#include "host/conn.h"
#include "proc/kin.h"
#include "sync/cancel.h"
#include "sync/inquiry.h"
#include "sync/mailbox.h"
#include "sync/thread.h"

#define SOCKET_SHORT_MS 100 /* until there may be descriptors again */

struct socket_conn {
    struct conn lines;
    int fd;
    struct mailbox *mailbox;
    void *peer;
    bool busy; /* had too much unsent, and the speaker waits for `ready` */
    bool over;
    bool ended; /* it sends no more; what it is owed is still written */
    bool is_own;
};

struct socket {
    char *home, *dir, *path;
    bool made_home, made_dir;
    int fd;
    bool is_short; /* of descriptors: who wants to connect waits */
    const struct socket_speaker *speaker;
    void *arg;
    struct cancel *stop;
    struct mailbox *orders;
    struct thread *thread;
    VEC(struct socket_conn *) conns;
};

/* To be done on the thread. */
struct order {
    struct inquiry inquiry;
    void (*fn)(void *arg);
    void *arg;
};

void socket_do(struct socket *s, void (*fn)(void *arg), void *arg)
{
    struct order o = {.fn = fn, .arg = arg};

    inquiry_send(&o.inquiry, s->orders);
    (void)inquiry_wait(&o.inquiry, /*cancel=*/NULL, /*err=*/NULL);
}

void socket_each(struct socket *s, void (*fn)(void *peer, void *arg), void *arg)
{
    VEC_EACH(&s->conns, c) {
        fn((*c)->peer, arg);
    }
}

static void socket_obey(struct socket *s)
{
    struct mail *m = mailbox_try(s->orders);

    for (; m; m = mailbox_try(s->orders)) {
        struct order *o = (struct order *)inquiry_take(m);

        o->fn(o->arg);
        inquiry_answer(&o->inquiry, 0);
    }
}

void socket_conn_send(struct socket_conn *c, struct str text)
{
    struct err err = {0};

    if (c->over)
        return;
    if (conn_send(&c->lines, text, &err) < 0) {
        log_debug("socket", "connection closed: %s", err.text);
        c->over = true;
        return;
    }
    /* Most of the time all of it goes out here, without another round of poll(). */
    if (conn_unsent(&c->lines) == text.len && conn_flush(&c->lines, &err) < 0)
        c->over = true;
}

bool socket_conn_is_own(const struct socket_conn *c)
{
    return c->is_own;
}

size_t socket_conn_unsent(const struct socket_conn *c)
{
    return conn_unsent(&c->lines);
}

struct mailbox *socket_conn_mailbox(struct socket_conn *c)
{
    return c->mailbox;
}

static void conn_free(struct socket *s, struct socket_conn *c)
{
    s->speaker->close(c->peer);
    mailbox_close(c->mailbox);
    mailbox_unref(c->mailbox);
    conn_release(&c->lines);
    fd_closep(&c->fd);
    mem_freep(&c);
}

/* Who has connected; false: it is another user. */
static bool socket_who(int fd, pid_t *ret)
{
    struct ucred who;
    socklen_t len = sizeof(who);

    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &len) < 0 || who.uid != geteuid())
        return false;
    *ret = who.pid;
    return true;
}

static void socket_accept(struct socket *s)
{
    int fd = accept4(s->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    struct socket_conn *c;
    pid_t pid;

    if (fd < 0) {
        s->is_short = errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM;
        return;
    }
    if (s->conns.len == SOCKET_MAX_CONNS || !socket_who(fd, &pid)) {
        log_debug("socket", "connection refused");
        fd_closep(&fd);
        return;
    }
    c = mem_zalloc(sizeof(*c));
    c->fd = fd;
    c->is_own = kin_is_agents(pid);
    c->mailbox = mailbox_new();
    conn_init(&c->lines, fd, fd, SOCKET_MAX_LINE, SOCKET_MAX_QUEUE);
    c->lines.is_socket = true;
    vec_push(&s->conns, c);
    c->peer = s->speaker->open(c, s->arg);
}

struct line_to {
    struct socket *socket;
    struct socket_conn *conn;
};

static void socket_line(struct str line, void *arg)
{
    const struct line_to *to = arg;

    to->socket->speaker->line(to->conn->peer, line);
}

static void socket_serve(struct socket *s, struct socket_conn *c, short events)
{
    struct line_to to = {s, c};
    struct err err = {0};

    if ((events & POLLOUT) && conn_flush(&c->lines, &err) < 0)
        c->over = true;
    if (!c->over && !c->ended && (events & (POLLIN | POLLHUP | POLLERR))) {
        int r = conn_read(&c->lines, socket_line, &to, &err);

        c->ended = r == 0;
        c->over = c->over || r < 0;
    }
    if ((events & POLLERR) || ((events & POLLHUP) && c->ended))
        c->over = true;
}

static void socket_mail(struct socket *s, struct socket_conn *c)
{
    struct mail *m = mailbox_try(c->mailbox);

    for (; m; m = mailbox_try(c->mailbox))
        s->speaker->mail(c->peer, m);
    if (c->busy && conn_unsent(&c->lines) < SOCKET_BUSY / 2) {
        c->busy = false;
        s->speaker->ready(c->peer);
    }
    /* Also when what was just said filled it up again. */
    if (conn_unsent(&c->lines) >= SOCKET_BUSY)
        c->busy = true;
}

/* A process that was killed leaves its socket; nobody answers there. */
static void socket_sweep(struct socket *s)
{
    DIR *dir = opendir(s->dir);

    if (!dir)
        return;
    for (struct dirent *e = readdir(dir); e; e = readdir(dir)) {
        struct sockaddr_un at = {.sun_family = AF_UNIX};
        CLEANUP(mem_freep) char *path = path_join(s->dir, e->d_name);
        CLEANUP(fd_closep) int fd = -1;

        if (!str_ends(str_of(e->d_name), STR(".sock")) || strlen(path) >= sizeof(at.sun_path) ||
            strcmp(path, s->path) == 0)
            continue;
        memcpy(at.sun_path, path, strlen(path));
        fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (fd >= 0 && connect(fd, (struct sockaddr *)&at, sizeof(at)) < 0 && errno == ECONNREFUSED)
            (void)unlink(path);
    }
    closedir(dir);
}

static void socket_round(struct socket *s)
{
    struct pollfd fds[3 + 2 * SOCKET_MAX_CONNS];
    size_t count = s->conns.len;
    bool is_short = s->is_short;

    s->is_short = false;
    fds[0] = (struct pollfd){.fd = cancel_fd(s->stop), .events = POLLIN};
    /* One that cannot be taken would be told of again at once. */
    fds[1] = (struct pollfd){.fd = is_short ? -1 : s->fd, .events = POLLIN};
    fds[2] = (struct pollfd){.fd = mailbox_fd(s->orders), .events = POLLIN};
    for (size_t i = 0; i < count; i++) {
        struct socket_conn *c = s->conns.ptr[i];
        short events = c->ended ? 0 : POLLIN;

        if (conn_unsent(&c->lines))
            events |= POLLOUT;
        fds[3 + 2 * i] = (struct pollfd){.fd = c->fd, .events = events};
        fds[4 + 2 * i] = (struct pollfd){.fd = mailbox_fd(c->mailbox), .events = POLLIN};
    }
    if (poll(fds, 3 + 2 * count, is_short ? SOCKET_SHORT_MS : -1) < 0)
        return; /* EINTR */
    socket_obey(s);
    for (size_t i = 0; i < count; i++) {
        if (fds[3 + 2 * i].revents)
            socket_serve(s, s->conns.ptr[i], fds[3 + 2 * i].revents);
        socket_mail(s, s->conns.ptr[i]);
    }
    for (size_t i = count; i > 0; i--) {
        struct socket_conn *c = s->conns.ptr[i - 1];

        if (!c->over && !(c->ended && !conn_unsent(&c->lines)))
            continue;
        conn_free(s, c);
        s->conns.ptr[i - 1] = s->conns.ptr[--s->conns.len];
    }
    if (fds[1].revents)
        socket_accept(s);
}

static void socket_run(void *arg)
{
    struct socket *s = arg;

    socket_sweep(s);
    while (!cancel_is_set(s->stop))
        socket_round(s);
    VEC_EACH(&s->conns, it) {
        struct err err = {0};

        (void)conn_flush(&(*it)->lines, &err); /* what is ready and goes at once */
        conn_free(s, *it);
    }
    vec_release(&s->conns);
}

static int socket_folders(struct socket *s, struct err *err)
{
    s->made_home = !file_exists(s->home);
    s->made_dir = !file_exists(s->dir);
    if (file_mkdirs(s->dir, 0700, err) < 0)
        return -1;
    if (!s->made_dir && chmod(s->dir, 0700) < 0)
        return err_sys(err, ERR_IO, "cannot close '%s' to others", s->dir);
    return 0;
}

/* It has its name from the moment on that somebody answers there: before, one that looks in would
 * take it for a dead process's, and remove it. */
static int socket_name(struct socket *s, const struct sockaddr_un *at, struct err *err)
{
    const char *fresh = at->sun_path;

    (void)unlink(fresh); /* of an earlier process with our number */
    /* The folder keeps others out while the socket still has the umask's mode. */
    if (bind(s->fd, (const struct sockaddr *)at, sizeof(*at)) < 0)
        return err_sys(err, ERR_IO, "cannot make '%s'", fresh);
    if (chmod(fresh, 0600) < 0 || listen(s->fd, 8) < 0 || rename(fresh, s->path) < 0) {
        err_sys(err, ERR_IO, "cannot listen on '%s'", s->path);
        (void)unlink(fresh);
        return -1;
    }
    return 0;
}

static int socket_bind(struct socket *s, struct err *err)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};

    if (strlen(s->path) >= sizeof(at.sun_path))
        return err_set(err, ERR_UNSUPPORTED, "'%s' is too long for a socket", s->path);
    snprintf(at.sun_path, sizeof(at.sun_path), "%s/%d.new", s->dir, (int)getpid());
    if (socket_folders(s, err) < 0)
        return -1;
    s->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (s->fd < 0)
        return err_sys(err, ERR_IO, "no socket");
    return socket_name(s, &at, err);
}

static void socket_free(struct socket *s)
{
    if (s->fd >= 0)
        (void)unlink(s->path);
    fd_closep(&s->fd);
    if (s->made_dir && rmdir(s->dir) == 0 && s->made_home)
        (void)rmdir(s->home);
    cancel_unref(s->stop);
    mailbox_close(s->orders);
    mailbox_unref(s->orders);
    mem_freep(&s->home);
    mem_freep(&s->dir);
    mem_freep(&s->path);
    mem_freep(&s);
}

int socket_start(const char *home, const struct socket_speaker *speaker, void *arg,
                 struct socket **ret, struct err *err)
{
    struct socket *s = mem_zalloc(sizeof(*s));
    CLEANUP(buf_release) struct buf name = BUF_INIT(64);

    buf_addf(&name, "%d.sock", (int)getpid());
    s->home = mem_dup(home, strlen(home));
    s->dir = path_join(home, "run");
    s->path = path_join(s->dir, buf_cstr(&name));
    s->fd = -1;
    s->speaker = speaker;
    s->arg = arg;
    s->stop = cancel_new(/*parent=*/NULL);
    s->orders = mailbox_new();
    if (socket_bind(s, err) == 0)
        s->thread = thread_start("control", socket_run, s, err);
    if (!s->thread) {
        socket_free(s);
        return -1;
    }
    *ret = s;
    return 0;
}

void socket_stop(struct socket *s)
{
    if (!s)
        return;
    cancel_set(s->stop);
    thread_join(s->thread);
    socket_free(s);
}
