/*
 * socket: the file that others connect to, and its thread.
 */
#include "host/socket/socket.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/err.h"
#include "base/file.h"
#include "host/socket/server.h"
#include "sync/cancel.h"
#include "sync/thread.h"

struct socket {
    char *home, *dir, *path;
    bool made_home, made_dir;
    int fd;
    struct cancel *stop;
    struct server *server;
    struct thread *thread;
};

/* Removes sockets of killed processes, which do not answer. */
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

static void socket_run(void *arg)
{
    struct socket *s = arg;

    socket_sweep(s);
    server_run(s->server);
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

/* The socket is renamed to its final name only when it can answer: otherwise another process could
 * mistake it for one of a dead process and remove it. */
static int socket_name(struct socket *s, const struct sockaddr_un *at, struct err *err)
{
    const char *fresh = at->sun_path;

    (void)unlink(fresh); /* of an earlier process with our pid */
    /* The folder's mode protects the socket while it still has the umask's mode. */
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
    server_free(s->server);
    mem_freep(&s->home);
    mem_freep(&s->dir);
    mem_freep(&s->path);
    mem_freep(&s);
}

int socket_start(const char *home, const struct speaker *speaker, void *arg, struct socket **ret,
                 struct err *err)
{
    struct socket *s = mem_zalloc(sizeof(*s));
    struct server_spec spec = {
        .speaker = speaker,
        .arg = arg,
        .max_line = SOCKET_MAX_LINE,
        .max_queue = SOCKET_MAX_QUEUE,
    };
    CLEANUP(buf_release) struct buf name = BUF_INIT(64);

    buf_addf(&name, "%d.sock", (int)getpid());
    s->home = mem_dup(home, strlen(home));
    s->dir = path_join(home, "run");
    s->path = path_join(s->dir, buf_cstr(&name));
    s->fd = -1;
    s->stop = cancel_new(/*parent=*/NULL);
    spec.stop = s->stop;
    s->server = server_new(&spec);
    if (socket_bind(s, err) == 0) {
        server_listen(s->server, s->fd);
        s->thread = thread_start("control", socket_run, s, err);
    }
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

struct server *socket_server(struct socket *s)
{
    return s->server;
}
