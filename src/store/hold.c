/*
 * The lock file of a session.
 *
 * It is removed when the hold is given back, while the lock is still held; so a process that gets a
 * lock checks whether the path still names the locked file, and starts again when it does not.
 * Children never have the descriptor: it is closed on exec, and the zygote (proc) closes everything
 * at once. Any thread.
 */
#include "store/hold.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "base/strv.h"
#include "json/json.h"
#include "json/jw.h"

#define HOLD_SUFFIX ".lock"
#define HOLD_MAX_TEXT 8192 /* of a lock file */
#define HOLD_MAX_NAME 200
#define HOLD_TRIES 100 /* how often the file may vanish between open and lock */
#define HOLD_LOOKS 20  /* how often to look at a file without a name in it */
#define HOLD_LOOK_MS 1

struct hold {
    char *path;
    int fd;
};

void holder_release(struct holder *h)
{
    buf_release(&h->host);
    buf_release(&h->socket);
    *h = (struct holder){0};
}

static int hold_path(const char *home, const char *session, char **ret, struct err *err)
{
    CLEANUP(buf_release) struct buf path = BUF_INIT(PATH_MAX);
    struct str name = str_of(session);

    if (!name.len || name.len > HOLD_MAX_NAME || name.ptr[0] == '.' ||
        str_chr(name, '/') < name.len)
        return err_set(err, ERR_BAD_INPUT, "'%.*s' is no session id", STR_ARG(str_clip(name, 60)));
    buf_addf(&path, "%s/run/%s" HOLD_SUFFIX, home, session);
    if (buf_check(&path, err) < 0)
        return -1;
    *ret = buf_take(&path);
    return 0;
}

/* fcntl()'s answer for the whole file. */
static int hold_lock(int fd, int command, struct flock *ret)
{
    *ret = (struct flock){.l_type = F_WRLCK, .l_whence = SEEK_SET};
    return fcntl(fd, command, ret);
}

static bool hold_is_at(int fd, const char *path)
{
    struct stat ours;
    struct stat there;

    return fstat(fd, &ours) == 0 && stat(path, &there) == 0 && ours.st_dev == there.st_dev &&
           ours.st_ino == there.st_ino;
}

/* What the holder wrote. False while that is not a whole line. */
static bool hold_read(int fd, struct holder *ret)
{
    char text[HOLD_MAX_TEXT];
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    const struct json *who;
    ssize_t len = pread(fd, text, sizeof(text), 0);

    if (len <= 0 || text[len - 1] != '\n' ||
        json_parse(&arena, str_make(text, (size_t)len), &who, /*ret_info=*/NULL, NULL) < 0)
        return false;
    *ret = (struct holder){
        .pid = json_get_i64(who, "pid", 0),
        .host = BUF_INIT(HOLD_MAX_TEXT),
        .socket = BUF_INIT(HOLD_MAX_TEXT),
        .since_ms = json_get_i64(who, "since", 0),
    };
    buf_add(&ret->host, json_get_str(who, "host"));
    buf_add(&ret->socket, json_get_str(who, "socket"));
    return true;
}

/* The holder writes its name a moment after it got the lock, so wait for it. */
static void hold_read_patiently(int fd, struct holder *ret)
{
    for (int look = 0; look < HOLD_LOOKS; look++) {
        if (hold_read(fd, ret))
            return;
        (void)poll(NULL, 0, HOLD_LOOK_MS);
    }
    *ret = (struct holder){0};
}

static int hold_write(int fd, const char *socket, struct err *err)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(HOLD_MAX_TEXT);
    char host[HOST_NAME_MAX + 1] = "";
    struct jw w;

    (void)gethostname(host, sizeof(host) - 1);
    jw_init(&w, &text, 0);
    jw_object(&w);
    jw_ki64(&w, "pid", getpid());
    jw_kcstr(&w, "host", host);
    jw_kcstr(&w, "socket", socket);
    jw_ki64(&w, "since", clock_wall_ms());
    jw_object_end(&w);
    buf_addc(&text, '\n');
    if (buf_check(&text, err) < 0)
        return -1;
    /* Emptied first: what a killed process wrote must not be taken for ours. */
    if (ftruncate(fd, 0) < 0 || pwrite(fd, text.ptr, text.len, 0) != (ssize_t)text.len)
        return err_sys(err, ERR_IO, "cannot write who holds the session");
    return 0;
}

static int hold_busy(int fd, const char *session, struct err *err)
{
    CLEANUP(holder_release) struct holder who = {0};
    char since[32] = "";
    time_t seconds;
    struct tm tm;

    hold_read_patiently(fd, &who);
    if (!who.pid)
        return err_set(err, ERR_BUSY,
                       "session %s is open in another process; end that one, or continue in a copy "
                       "with --fork-session",
                       session);
    seconds = (time_t)(who.since_ms / 1000);
    if (localtime_r(&seconds, &tm))
        strftime(since, sizeof(since), "%Y-%m-%d %H:%M", &tm);
    return err_set(err, ERR_BUSY,
                   "session %s is open in another process (pid %lld on %s, since %s); end that "
                   "one, or continue in a copy with --fork-session",
                   session, (long long)who.pid, buf_cstr(&who.host), since);
}

/* 1: ours. 0: removed under us, to be tried again. */
static int hold_try(struct hold *h, const char *session, struct err *err)
{
    struct flock lock;

    fd_closep(&h->fd);
    h->fd = open(h->path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (h->fd < 0)
        return err_sys(err, ERR_IO, "cannot open '%s'", h->path);
    if (hold_lock(h->fd, F_OFD_SETLK, &lock) < 0) {
        if (errno == EAGAIN || errno == EACCES)
            return hold_busy(h->fd, session, err);
        return err_sys(err, errno == EIO ? ERR_IO : ERR_UNSUPPORTED, "cannot lock '%s'", h->path);
    }
    return hold_is_at(h->fd, h->path);
}

static void hold_free(struct hold *h)
{
    if (!h)
        return;
    fd_closep(&h->fd);
    free(h->path);
    free(h);
}

static void hold_freep(struct hold **h)
{
    hold_free(*h);
}

static int hold_take_named(struct hold *h, const char *home, const char *session,
                           const char *socket, struct err *err)
{
    CLEANUP(mem_freep) char *run = path_join(home, "run");
    int got = 0;

    if (hold_path(home, session, &h->path, err) < 0 || file_mkdirs(run, 0700, err) < 0)
        return -1;
    for (int i = 0; i < HOLD_TRIES && got == 0; i++)
        got = hold_try(h, session, err);
    if (got < 0)
        return -1;
    if (got == 0)
        return err_set(err, ERR_IO, "cannot lock '%s': it is removed again and again", h->path);
    if (hold_write(h->fd, socket, err) < 0)
        return err_prefix(err, "'%s'", h->path);
    return 0;
}

int hold_take(const char *home, const char *session, const char *socket, struct hold **ret,
              struct err *err)
{
    CLEANUP(hold_freep) struct hold *h = mem_zalloc(sizeof(*h));
    struct err why = {0};

    h->fd = -1;
    if (hold_take_named(h, home, session, socket, &why) < 0) {
        /* It is the first file to be written, and its name would mean nothing to the user. */
        if (why.sys == ENOSPC || why.sys == EDQUOT) {
            errno = why.sys;
            return err_sys(err, ERR_IO, "the disk of tenax's home folder '%s' is full", home);
        }
        return err_set(err, why.code, "%s", why.text);
    }
    *ret = TAKE_PTR(h);
    return 0;
}

void hold_give(struct hold *h)
{
    struct flock none = {.l_type = F_UNLCK, .l_whence = SEEK_SET};

    if (!h)
        return;
    if (hold_is_at(h->fd, h->path))
        unlink(h->path); /* before the lock goes: afterwards another process may hold it */
    fcntl(h->fd, F_OFD_SETLK, &none); /* also when a fork in the making has a copy */
    hold_free(h);
}

int hold_look(const char *home, const char *session, struct holder *ret, struct err *err)
{
    CLEANUP(mem_freep) char *path = NULL;
    CLEANUP(fd_closep) int fd = -1;
    struct flock lock;

    if (hold_path(home, session, &path, err) < 0)
        return -1;
    fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0 && (errno == ENOENT || errno == ENOTDIR))
        return 0;
    if (fd < 0)
        return err_sys(err, ERR_IO, "cannot open '%s'", path);
    if (hold_lock(fd, F_OFD_GETLK, &lock) < 0)
        return err_sys(err, ERR_UNSUPPORTED, "cannot ask who holds '%s'", path);
    if (lock.l_type == F_UNLCK)
        return 0;
    if (ret)
        hold_read_patiently(fd, ret);
    return 1;
}

/* ---- By the kernel ---- */

/* Whether this descriptor is the lock file, there or removed, and has a lock. */
static bool fd_holds(const char *process, const char *number, const char *path)
{
    CLEANUP(buf_release) struct buf name = BUF_INIT(300);
    CLEANUP(buf_release) struct buf info = BUF_INIT(16 << 10);
    char target[PATH_MAX + 16];
    struct str there;
    ssize_t len;

    buf_addf(&name, "/proc/%s/fd/%s", process, number);
    len = readlink(buf_cstr(&name), target, sizeof(target));
    if (len <= 0)
        return false;
    there = str_make(target, (size_t)len);
    if (str_ends(there, STR(" (deleted)")))
        there.len -= strlen(" (deleted)");
    if (!str_is(there, path))
        return false;
    buf_clear(&name);
    buf_addf(&name, "/proc/%s/fdinfo/%s", process, number);
    return file_slurp(buf_cstr(&name), 16 << 10, &info, /*err=*/NULL) == 0 &&
           str_find(buf_str(&info), STR("lock:")) < info.len;
}

static bool process_holds(const char *process, const char *path)
{
    CLEANUP(buf_release) struct buf name = BUF_INIT(300);
    bool found = false;
    DIR *d;

    buf_addf(&name, "/proc/%s/fd", process);
    d = opendir(buf_cstr(&name));
    for (struct dirent *e = d ? readdir(d) : NULL; e && !found; e = readdir(d))
        found = e->d_name[0] != '.' && fd_holds(process, e->d_name, path);
    if (d)
        closedir(d);
    return found;
}

static void add_socket(const char *home, pid_t pid, struct buf *ret)
{
    buf_addf(ret, "%s/run/%d.sock", home, (int)pid);
}

/* 0: no other process that can be seen. Of several (a child in the making has its parent's
 * descriptors) the one that listens. */
static pid_t find_process(const char *home, const char *path)
{
    DIR *d = opendir("/proc");
    pid_t found = 0;
    bool listens = false;

    for (struct dirent *e = d ? readdir(d) : NULL; e && !listens; e = readdir(d)) {
        CLEANUP(buf_release) struct buf socket = BUF_INIT(BUF_NO_LIMIT);
        int64_t pid;

        if (str_to_i64(str_of(e->d_name), &pid, /*err=*/NULL) < 0 || pid == getpid() ||
            !process_holds(e->d_name, path))
            continue;
        add_socket(home, (pid_t)pid, &socket);
        listens = file_exists(buf_cstr(&socket));
        if (!found || listens)
            found = (pid_t)pid;
    }
    if (d)
        closedir(d);
    return found;
}

int hold_seek(const char *home, const char *session, struct holder *ret, struct err *err)
{
    char real[PATH_MAX];
    CLEANUP(mem_freep) char *path = NULL;
    pid_t pid = 0;

    if (hold_path(realpath(home, real) ? real : home, session, &path, err) < 0)
        return -1;
    pid = find_process(home, path);
    if (!pid)
        return hold_look(home, session, ret, err);
    *ret = (struct holder){
        .pid = pid,
        .host = BUF_INIT(HOLD_MAX_TEXT),
        .socket = BUF_INIT(HOLD_MAX_TEXT),
    };
    add_socket(home, pid, &ret->socket);
    return 1;
}

void hold_list(const char *home, struct strv *ret)
{
    CLEANUP(mem_freep) char *run = path_join(home, "run");
    DIR *d = opendir(run);

    for (struct dirent *e = d ? readdir(d) : NULL; e; e = readdir(d)) {
        struct str name = str_of(e->d_name);
        CLEANUP(mem_freep) char *session = NULL;

        if (!str_ends(name, STR(HOLD_SUFFIX)))
            continue;
        session = mem_dup(name.ptr, name.len - strlen(HOLD_SUFFIX));
        if (hold_look(home, session, /*ret=*/NULL, /*err=*/NULL) > 0)
            strv_adds(ret, session);
    }
    if (d)
        closedir(d);
}
