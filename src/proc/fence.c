/*
 * fence: opened files are looked up as the job sees them, connections by the copied address. There
 * is no fake name server: the query sent to it names the host. Runs in the warden.
 */
#include "proc/fence.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

#include "proc/broker.h"
#include "proc/confine.h"
#include "proc/confine_image.h"
#include "proc/observe.h"

#define FENCE_DNS_PORT 53
#define FENCE_DNS_HEAD 12
#define FENCE_DNS_BYTES 512
#define FENCE_MAX_NAME 255
#define FENCE_HEAD_BYTES 4096

/* What a question is answered with. */
enum fence_verdict {
    FENCE_CONTINUE, /* the call goes on by itself */
    FENCE_RETURN,   /* it returns what `rc` says: 0, or an errno */
    FENCE_STOP,     /* never: the job is ended */
};

struct fence {
    struct confine_image *image;
    const struct seccomp_notif *asked;
    int rc;
};

static void fence_note(const struct fence *f, char kind, const char *text, size_t len)
{
    pid_t pid = f->asked->pid ? broker_process_of((pid_t)f->asked->pid) : 0;

    observe_note(f->image, kind, pid, text, len);
}

/* ---- files ---- */

/* Outside of all lists, for every job: its own /proc, and devices, which Landlock decides about. */
static const char *const fence_own[] = {"/proc", "/dev"};

static bool fence_is_in(const char *path, const char *dir)
{
    size_t len = strlen(dir);

    while (len && dir[len - 1] == '/')
        len--;
    return strncmp(path, dir, len) == 0 && (path[len] == '/' || !path[len]);
}

static bool fence_lists(const struct confine_image *image, size_t at, size_t count,
                        const char *path)
{
    const char *dir = (const char *)image + at;

    for (size_t i = 0; i < count; i++, dir += strlen(dir) + 1) {
        if (fence_is_in(path, dir))
            return true;
    }
    return false;
}

static bool fence_is_inside(const struct confine_image *image, const char *path)
{
    for (size_t i = 0; i < sizeof(fence_own) / sizeof(fence_own[0]); i++) {
        if (fence_is_in(path, fence_own[i]))
            return true;
    }
    return fence_lists(image, image->readable, image->readable_count, path);
}

/* The file that a path leads to, as the kernel names it; its length, 0 when there is none. */
static size_t fence_real(const char *path, int no_follow, char *ret, size_t size)
{
    static const char gone[] = " (deleted)";
    char link[64];
    int fd = open(path, O_PATH | O_CLOEXEC | no_follow);
    ssize_t len;
    char name[24] = "/fd/";
    char digits[12];
    size_t count = 0, at = 4;
    int n = fd;

    if (fd < 0)
        return 0;
    do {
        digits[count++] = (char)('0' + n % 10);
        n /= 10;
    } while (n);
    while (count)
        name[at++] = digits[--count];
    name[at] = '\0';
    broker_proc_path(getpid(), name, link);
    len = readlink(link, ret, size - 1);
    close(fd);
    if (len <= 0 || ret[0] != '/')
        return 0;
    /* What hides a folder has no name. */
    if ((size_t)len > sizeof(gone) - 1 &&
        memcmp(ret + len - (sizeof(gone) - 1), gone, sizeof(gone) - 1) == 0)
        len -= (ssize_t)(sizeof(gone) - 1);
    ret[len] = '\0';
    return (size_t)len;
}

static int fence_flags(const struct seccomp_data *d)
{
    if (d->nr == SYS_openat)
        return (int)d->args[2];
#ifdef SYS_open
    if (d->nr == SYS_open)
        return (int)d->args[1];
    if (d->nr == SYS_creat)
        return O_WRONLY;
#endif
    return 0;
}

static enum fence_verdict fence_file(struct fence *f, const char *path, bool executes)
{
    struct open_how plain = {.flags = O_PATH | O_CLOEXEC | O_NOFOLLOW,
                             .resolve = RESOLVE_NO_SYMLINKS};
    int flags = fence_flags(&f->asked->data);
    char real[PATH_MAX];
    struct stat st;
    size_t len;
    int fd;

    if (f->image->observed_count && !(flags & O_PATH)) {
        len = fence_real(path, flags & O_NOFOLLOW, real, sizeof(real));
        if (len && fence_lists(f->image, f->image->observed, f->image->observed_count, real)) {
            fence_note(f, 'O', real, len);
            return FENCE_STOP;
        }
    }
    /* Opening only to write is refused by the mounts, and a path alone gives nothing to read. */
    if (flags & O_PATH || (flags & O_ACCMODE) == O_WRONLY)
        return FENCE_CONTINUE;
    if (fence_is_inside(f->image, path)) {
        fd = (int)syscall(SYS_openat2, AT_FDCWD, path, &plain, sizeof(plain));
        if (fd < 0 && errno != ELOOP)
            return FENCE_CONTINUE; /* it is missing, and the program learns so */
        if (fd >= 0) {
            bool is_link = fstat(fd, &st) == 0 && S_ISLNK(st.st_mode);

            close(fd);
            if (!is_link || flags & O_NOFOLLOW)
                return FENCE_CONTINUE;
        }
    }
    len = fence_real(path, flags & O_NOFOLLOW, real, sizeof(real));
    if (!len || fence_is_inside(f->image, real))
        return FENCE_CONTINUE;
    /* df and lsof open the root to ask about its disk, and do without; who lists it says so. */
    if (len == 1 && !(flags & O_DIRECTORY))
        return FENCE_CONTINUE;
    /* Tried along PATH, as is done for every name. */
    if (executes && (stat(real, &st) < 0 || !S_ISREG(st.st_mode) || !(st.st_mode & 0111)))
        return FENCE_CONTINUE;
    fence_note(f, executes ? 'E' : 'O', real, len);
    return FENCE_STOP;
}

/* ---- the network ---- */

static bool fence_is_loopback(const struct sockaddr_storage *at)
{
    if (at->ss_family == AF_INET)
        return ntohl(((const struct sockaddr_in *)at)->sin_addr.s_addr) >> 24 == 127;
    return IN6_IS_ADDR_LOOPBACK(&((const struct sockaddr_in6 *)at)->sin6_addr);
}

static unsigned fence_port(const struct sockaddr_storage *at)
{
    return ntohs(at->ss_family == AF_INET ? ((const struct sockaddr_in *)at)->sin_port
                                          : ((const struct sockaddr_in6 *)at)->sin6_port);
}

/* "192.0.2.1:22", "[2001:db8::1]:22". inet_ntop() is no system call, but keeps to its arguments. */
static void fence_note_address(const struct fence *f, const struct sockaddr_storage *at)
{
    char text[INET6_ADDRSTRLEN + 16] = "";
    size_t len = 0;
    unsigned port = fence_port(at);
    unsigned power = 10000;
    bool is_four = at->ss_family == AF_INET;

    if (!is_four)
        text[len++] = '[';
    inet_ntop(at->ss_family,
              is_four ? (const void *)&((const struct sockaddr_in *)at)->sin_addr
                      : (const void *)&((const struct sockaddr_in6 *)at)->sin6_addr,
              text + len, (socklen_t)(sizeof(text) - len));
    len = strlen(text);
    if (!is_four)
        text[len++] = ']';
    text[len++] = ':';
    while (power > 1 && port < power)
        power /= 10;
    for (; power; power /= 10)
        text[len++] = (char)('0' + port / power % 10);
    fence_note(f, 'N', text, len);
}

/* The name in a question to a name server: labels, each with its length before it. */
static size_t fence_dns_name(const unsigned char *query, size_t len, char ret[FENCE_MAX_NAME + 1])
{
    size_t at = FENCE_DNS_HEAD;
    size_t n = 0;

    while (at < len && query[at]) {
        size_t label = query[at++];

        if (label > 63 || at + label > len || n + label + 1 > FENCE_MAX_NAME)
            return 0;
        if (n)
            ret[n++] = '.';
        memcpy(ret + n, query + at, label);
        n += label;
        at += label;
    }
    return at < len ? n : 0;
}

static bool fence_read(pid_t pid, uint64_t from, void *ret, size_t len)
{
    struct iovec here = {ret, len};
    struct iovec there = {(void *)(uintptr_t)from, len};

    return process_vm_readv(pid, &here, 1, &there, 1, 0) == (ssize_t)len;
}

static bool fence_note_query(const struct fence *f, uint64_t from, size_t len)
{
    unsigned char query[FENCE_DNS_BYTES];
    char name[FENCE_MAX_NAME + 1];
    size_t n;

    if (len > sizeof(query))
        len = sizeof(query);
    if (len <= FENCE_DNS_HEAD || !fence_read((pid_t)f->asked->pid, from, query, len))
        return false;
    n = fence_dns_name(query, len, name);
    if (!n)
        return false;
    fence_note(f, 'D', name, n);
    return true;
}

static bool fence_is_inet(const struct sockaddr_storage *at, socklen_t len)
{
    return (at->ss_family == AF_INET && len >= sizeof(struct sockaddr_in)) ||
           (at->ss_family == AF_INET6 && len >= sizeof(struct sockaddr_in6));
}

/* The data and its destination; sends on a connected socket have no address. Nothing leaves the job
 * either way. */
struct fence_send {
    uint64_t bytes, len;
    struct sockaddr_storage to;
    socklen_t to_len; /* 0: none */
};

static bool fence_read_send(const struct fence *f, struct fence_send *ret)
{
    const struct seccomp_data *d = &f->asked->data;
    pid_t pid = (pid_t)f->asked->pid;
    uint64_t name = d->args[4];
    struct msghdr head;
    struct iovec piece;

    *ret = (struct fence_send){.bytes = d->args[1], .len = d->args[2]};
    ret->to_len = (socklen_t)d->args[5];
    if (d->nr != SYS_sendto) { /* of several messages the first tells */
        if (!fence_read(pid, d->args[1], &head, sizeof(head)) || !head.msg_iovlen ||
            !fence_read(pid, (uint64_t)(uintptr_t)head.msg_iov, &piece, sizeof(piece)))
            return false;
        ret->bytes = (uint64_t)(uintptr_t)piece.iov_base;
        ret->len = piece.iov_len;
        name = (uint64_t)(uintptr_t)head.msg_name;
        ret->to_len = head.msg_namelen;
    }
    if (!name)
        ret->to_len = 0;
    return ret->to_len <= sizeof(ret->to) &&
           (!ret->to_len || fence_read(pid, name, &ret->to, ret->to_len));
}

static enum fence_verdict fence_send(struct fence *f)
{
    struct fence_send s;
    int socket;

    if (!fence_read_send(f, &s))
        return FENCE_CONTINUE;
    if (!s.to_len) {
        socklen_t len = sizeof(s.to);

        socket = broker_take_file((pid_t)f->asked->pid, (int)f->asked->data.args[0]);
        if (socket < 0)
            return FENCE_CONTINUE;
        if (getpeername(socket, (struct sockaddr *)&s.to, &len) == 0)
            s.to_len = len;
        close(socket);
    }
    if (!fence_is_inet(&s.to, s.to_len))
        return FENCE_CONTINUE;
    if (fence_port(&s.to) == FENCE_DNS_PORT && fence_note_query(f, s.bytes, s.len))
        return FENCE_STOP;
    if (fence_is_loopback(&s.to))
        return FENCE_CONTINUE;
    fence_note_address(f, &s.to);
    return FENCE_STOP;
}

/* A silent name server: queries show in the data sent to it. */
static int fence_connect_silent(int socket, int family)
{
    struct sockaddr_in four = {.sin_family = AF_INET,
                               .sin_port = htons(FENCE_DNS_PORT),
                               .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct sockaddr_in6 six = {.sin6_family = AF_INET6,
                               .sin6_port = htons(FENCE_DNS_PORT),
                               .sin6_addr = IN6ADDR_LOOPBACK_INIT};

    return family == AF_INET ? broker_connect(socket, &four, sizeof(four))
                             : broker_connect(socket, &six, sizeof(six));
}

/* Where libraries look for services that may help, and go on without. */
static const char *const fence_optional[] = {
    "/run/nscd/",
    "/var/run/nscd/",
    "/run/systemd/userdb/",
    "/run/systemd/resolve/",
    "/run/dbus/",
    "/var/run/dbus/",
    "/dev/log",
    "/run/systemd/journal/",
};

static enum fence_verdict fence_connect_unix(struct fence *f, const struct broker_question *q)
{
    char path[PATH_MAX];
    struct stat st;
    const char *said = ((const struct sockaddr_un *)&q->at)->sun_path;
    int fd;

    /* An abstract name: that of another program of the job, or unused. Never a path, which would be
     * looked up as we see it. */
    if (q->len <= offsetof(struct sockaddr_un, sun_path) || !said[0]) {
        f->rc = broker_connect(q->socket, &q->at, q->len);
        return FENCE_RETURN;
    }
    f->rc = broker_path(q, path);
    if (f->rc)
        return FENCE_RETURN;
    fd = broker_open(q->root, path, 0);
    f->rc = fd < 0 ? errno : fstat(fd, &st) < 0 || !S_ISSOCK(st.st_mode) ? ECONNREFUSED : 0;
    if (fd >= 0)
        close(fd);
    if (f->rc)
        return FENCE_RETURN;
    for (size_t i = 0; i < sizeof(fence_optional) / sizeof(fence_optional[0]); i++) {
        if (strncmp(path, fence_optional[i], strlen(fence_optional[i])) == 0) {
            f->rc = EACCES;
            return FENCE_RETURN;
        }
    }
    fence_note(f, 'U', path, strlen(path));
    return FENCE_STOP;
}

static enum fence_verdict fence_connect_inet(struct fence *f, const struct broker_question *q)
{
    socklen_t len = sizeof(int);
    int kind = 0;

    getsockopt(q->socket, SOL_SOCKET, SO_TYPE, &kind, &len);
    if (fence_is_loopback(&q->at)) {
        f->rc = broker_connect(q->socket, &q->at, q->len);
        /* Outside there may be a listener. */
        if (f->rc != ECONNREFUSED || kind != SOCK_STREAM || f->image->listens)
            return FENCE_RETURN;
    } else if (kind == SOCK_DGRAM) { /* nothing is sent yet */
        f->rc = fence_port(&q->at) == FENCE_DNS_PORT
                    ? fence_connect_silent(q->socket, q->at.ss_family)
                    : ENETUNREACH;
        return FENCE_RETURN;
    }
    fence_note_address(f, &q->at);
    return FENCE_STOP;
}

static enum fence_verdict fence_connect(struct fence *f)
{
    struct broker_question q = {.socket = -1, .root = -1};
    enum fence_verdict verdict = FENCE_RETURN;

    if (!f->image
             ->is_sealed) { /* without listed sockets the filter gives none that could be unix's */
        if (!f->image->socket_count)
            return FENCE_CONTINUE;
        f->rc = broker_answer_connect(f->image, f->asked);
        return FENCE_RETURN;
    }
    f->rc = broker_read(&q, f->asked);
    /* Its number may belong to another process now. */
    if (f->rc == 0 && ioctl(f->image->asks, SECCOMP_IOCTL_NOTIF_ID_VALID, &f->asked->id) == 0) {
        if (q.len >= sizeof(sa_family_t) && q.at.ss_family == AF_UNIX)
            verdict = fence_connect_unix(f, &q);
        else if (fence_is_inet(&q.at, q.len))
            verdict = fence_connect_inet(f, &q);
        else
            f->rc = broker_connect(q.socket, &q.at, q.len);
    }
    broker_question_release(&q);
    return verdict;
}

/* ---- requests to a proxy ---- */

/* "CONNECT host:port HTTP/1.1", "GET http://host/ HTTP/1.1": what stands between, as "host:port".
 * Its length, 0 when it is no such request. */
static size_t fence_request_host(const char *head, size_t len, char ret[FENCE_MAX_NAME + 8])
{
    const char *end = memchr(head, '\n', len);
    const char *at = memchr(head, ' ', len);
    bool connects = len > 8 && memcmp(head, "CONNECT ", 8) == 0;
    bool has_port = false;
    size_t n = 0;

    if (!end || !at || at > end)
        return 0;
    at++;
    if (!connects) {
        if (end - at < 8 || memcmp(at, "http://", 7) != 0)
            return 0;
        at += 7;
    }
    for (; at<end && * at> ' ' && *at != '/' && *at != 0x7f; at++) {
        if (*at == '@') {
            n = 0; /* a name and a password */
            has_port = false;
            continue;
        }
        if (n >= FENCE_MAX_NAME)
            return 0;
        has_port = *at == ':' || (has_port && *at != ']');
        ret[n++] = *at;
    }
    if (n && !has_port) {
        memcpy(ret + n, ":80", 3);
        n += 3;
    }
    return n;
}

/* The connecting process may be stopped in its next call, which waits for us: so do not wait. */
int fence_take_connection(struct confine_image *image)
{
    int connection = accept4(image->listener, NULL, NULL, SOCK_CLOEXEC);

    if (connection >= 0) {
        if (image->request >= 0)
            close(image->request);
        image->request = connection;
    }
    return image->request;
}

void fence_take_request(struct confine_image *image)
{
    const struct seccomp_notif nobody = {0};
    const struct fence f = {.image = image, .asked = &nobody};
    char name[FENCE_MAX_NAME + 8];
    char head[FENCE_HEAD_BYTES];
    ssize_t len = recv(image->request, head, sizeof(head), MSG_DONTWAIT);
    size_t n = len > 0 ? fence_request_host(head, (size_t)len, name) : 0;

    if (!n || image->is_stopped) {
        close(image->request);
        image->request = -1;
        return;
    }
    /* It stays open until the job is dead, or the program would report that its proxy hung up. */
    fence_note(&f, 'N', name, n);
    image->is_stopped = true;
}

/* ---- all of it ---- */

static enum fence_verdict fence_judge(struct fence *f)
{
    bool executes;
    const char *path;

    switch (f->asked->data.nr) {
    case SYS_connect:
        return fence_connect(f);
    case SYS_listen:
        f->image->listens = true;
        return FENCE_CONTINUE;
    case SYS_sendto:
    case SYS_sendmmsg:
        return f->image->is_sealed ? fence_send(f) : FENCE_CONTINUE;
    default:
        path = observe_find(f->image, f->asked, &executes);
        return path ? fence_file(f, path, executes) : FENCE_CONTINUE;
    }
}

bool fence_answer(struct confine_image *image, const struct seccomp_notif *asked)
{
    struct fence f = {.image = image, .asked = asked};
    struct seccomp_notif_resp answer = {.id = asked->id};
    enum fence_verdict verdict;

    /* The leader only executes. The program that it becomes may ask before the end of the pipe
     * shows that it has started, and a connection to a unix socket is held by nothing but us. */
    if (asked->data.nr != SYS_execve && asked->data.nr != SYS_execveat)
        observe_started(image);
    verdict = fence_judge(&f);
    /* The leader's own exec fails by itself: there is nothing to end yet. */
    if (verdict == FENCE_STOP && !observe_has_started(image))
        verdict = FENCE_CONTINUE;
    if (verdict == FENCE_STOP) {
        image->is_stopped = true;
        return true;
    }
    if (verdict == FENCE_CONTINUE)
        answer.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
    else
        answer.error = -f.rc;
    ioctl(image->asks, SECCOMP_IOCTL_NOTIF_SEND,
          &answer); /* fails when the process no longer waits */
    return true;
}
