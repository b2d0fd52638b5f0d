/*
 * observe: paths out of another process's memory, made absolute, and each of them recorded once.
 *
 * Unreadable requests are not recorded: the program then fails by itself, or is gone. Nothing here
 * waits, except for the file system that holds an observed path. Runs in the warden.
 */
#include "proc/observe.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "proc/broker.h"
#include "proc/confine.h"
#include "proc/confine_image.h"

#if defined(__x86_64__)
#define OBSERVE_MACHINE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define OBSERVE_MACHINE AUDIT_ARCH_AARCH64
#else
#define OBSERVE_MACHINE 0
#endif

#define OBSERVE_KNOWN ((size_t)1 << 18) /* records that are remembered */
#define OBSERVE_TRIES 16                /* places for one of them */
#define OBSERVE_ARGS 8
#define OBSERVE_ARG_BYTES 512
#define OBSERVE_PAGE 4096
#define OBSERVE_RECORD_BYTES (PATH_MAX + OBSERVE_ARGS * (OBSERVE_ARG_BYTES + 1) + 32)
#define OBSERVE_BUFFER ((size_t)64 << 10)

struct observer {
    uint64_t known[OBSERVE_KNOWN]; /* hashes; 0: free */
    char buffer[OBSERVE_BUFFER];   /* not yet written */
    size_t len;
    size_t total; /* bytes recorded */
    bool is_full; /* no more is */
    bool is_twin; /* the leader has not exec'ed: its memory is a copy of ours */

    char record[OBSERVE_RECORD_BYTES]; /* the one that is being made */
    size_t record_len;                 /* 0: there is nothing to record */
    char given[PATH_MAX];              /* a path as it is in memory */
    char path[PATH_MAX * 2];           /* absolute */
};

bool observe_init(struct confine_image *image)
{
    void *room = mmap(NULL, sizeof(struct observer), PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, /*fd=*/-1, 0);

    if (room == MAP_FAILED)
        return false;
    image->observer = room;
    image->observer->is_twin = true;
    return true;
}

void observe_started(struct confine_image *image)
{
    if (image->observer)
        image->observer->is_twin = false;
}

bool observe_has_started(const struct confine_image *image)
{
    return !image->observer->is_twin;
}

/* ---- out of a program's memory ---- */

/* Tenax may keep others from looking into its memory, and its copies are then closed to us, too. */
static bool observe_read(const struct observer *o, pid_t pid, uint64_t from, void *ret, size_t len)
{
    struct iovec here = {ret, len};
    struct iovec there = {(void *)(uintptr_t)from, len};
    ssize_t got = process_vm_readv(pid, &here, 1, &there, 1, 0);

    if (got < 0 && errno == EPERM && o->is_twin)
        got = process_vm_readv(getpid(), &here, 1, &there, 1, 0);
    return got == (ssize_t)len;
}

/* A string of up to size - 1 bytes; page by page, because what comes after it may not be there.
 * Returns its length, -1 when it cannot be read; a longer one is cut, with size as the length. */
static ssize_t observe_read_text(const struct observer *o, pid_t pid, uint64_t from, char *ret,
                                 size_t size)
{
    size_t at = 0;

    while (at < size) {
        size_t chunk = OBSERVE_PAGE - (size_t)((from + at) % OBSERVE_PAGE);
        const char *end;

        if (chunk > size - at)
            chunk = size - at;
        if (!observe_read(o, pid, from + at, ret + at, chunk))
            return -1;
        end = memchr(ret + at, '\0', chunk);
        if (end)
            return end - ret;
        at += chunk;
    }
    ret[size - 1] = '\0';
    return (ssize_t)size;
}

/* ---- paths ---- */

/* Appends the parts of a path, without "." and "..". Returns the new length of `at`. */
static size_t observe_walk(char *at, size_t len, size_t size, const char *rest)
{
    while (*rest) {
        size_t part = strcspn(rest, "/");

        if (part == 2 && rest[0] == '.' && rest[1] == '.') {
            while (len && at[len - 1] != '/')
                len--;
            len -= len > 0;
        } else if (part && !(part == 1 && rest[0] == '.') && len + part + 2 < size) {
            at[len++] = '/';
            memcpy(at + len, rest, part);
            len += part;
        }
        rest += part;
        rest += strspn(rest, "/");
    }
    at[len] = '\0';
    return len;
}

/* "/fd/" and the number. */
static void observe_fd_name(int fd, char ret[static 24])
{
    char digits[12];
    size_t len = 0;
    size_t at = sizeof("/fd/") - 1;

    memcpy(ret, "/fd/", sizeof("/fd/"));
    do {
        digits[len++] = (char)('0' + fd % 10);
        fd /= 10;
    } while (fd);
    while (len)
        ret[at++] = digits[--len];
    ret[at] = '\0';
}

/* The folder that a relative path is looked for in, or the file of a descriptor. Its length without
 * a slash at its end, so 0 for the root; -1 when it is not known. */
static ssize_t observe_base(pid_t pid, int dir, char *ret, size_t size)
{
    char name[24] = "/cwd";
    char link[64];
    ssize_t len;

    if (dir != AT_FDCWD && dir < 0)
        return -1;
    if (dir != AT_FDCWD)
        observe_fd_name(dir, name);
    broker_proc_path(pid, name, link);
    len = readlink(link, ret, size - 1);
    if (len <= 0 || ret[0] != '/') /* a pipe, say, or nothing */
        return -1;
    return len == 1 ? 0 : len;
}

/* Makes o->path of what lies in memory. Returns its length, 0 when it cannot. */
static size_t observe_path(struct observer *o, pid_t pid, int dir, uint64_t from, bool may_be_empty)
{
    ssize_t given = observe_read_text(o, pid, from, o->given, sizeof(o->given));
    ssize_t base = 0;
    size_t len;

    if (given < 0 || given == sizeof(o->given) || (given == 0 && !may_be_empty))
        return 0;
    if (o->given[0] != '/')
        base = observe_base(pid, dir, o->path, PATH_MAX);
    if (base < 0)
        return 0;
    len = observe_walk(o->path, (size_t)base, sizeof(o->path), o->given);
    if (!len)
        o->path[len++] = '/'; /* the root itself */
    o->path[len] = '\0';
    return len < PATH_MAX ? len : 0;
}

static bool observe_is_observed(const struct confine_image *image, const char *path)
{
    const char *dir = (const char *)image + image->observed;

    for (size_t i = 0; i < image->observed_count; i++, dir += strlen(dir) + 1) {
        size_t len = strlen(dir);

        while (len && dir[len - 1] == '/')
            len--;
        if (strncmp(path, dir, len) == 0 && (path[len] == '/' || !path[len]))
            return true;
    }
    return false;
}

/* ---- records ---- */

static void observe_add(struct observer *o, const char *text, size_t len)
{
    memcpy(o->record + o->record_len, text, len);
    o->record_len += len;
}

static void observe_begin(struct observer *o, char kind, pid_t pid)
{
    char digits[12];
    size_t len = 0;

    o->record[0] = kind;
    o->record[1] = ' ';
    o->record_len = 2;
    do {
        digits[len++] = (char)('0' + pid % 10);
        pid /= 10;
    } while (pid);
    while (len)
        o->record[o->record_len++] = digits[--len];
    o->record[o->record_len++] = ' ';
}

/* FNV-1a. */
static uint64_t observe_hash(const char *bytes, size_t len)
{
    uint64_t hash = 0xcbf29ce484222325u;

    for (size_t i = 0; i < len; i++)
        hash = (hash ^ (unsigned char)bytes[i]) * 0x100000001b3u;
    return hash ? hash : 1;
}

/* Whether it is new, and known from now on. When all its places are taken, it takes one of them. */
static bool observe_is_new(struct observer *o, uint64_t hash)
{
    uint64_t *first = &o->known[hash % (OBSERVE_KNOWN - OBSERVE_TRIES)];

    for (size_t i = 0; i < OBSERVE_TRIES; i++) {
        if (first[i] == hash)
            return false;
        if (!first[i]) {
            first[i] = hash;
            return true;
        }
    }
    first[(hash >> 32) % OBSERVE_TRIES] = hash;
    return true;
}

static void observe_write(const struct confine_image *image, struct observer *o)
{
    size_t at = 0;

    while (at < o->len) {
        ssize_t len = write(image->fds[CONFINE_RECORDS], o->buffer + at, o->len - at);

        if (len < 0 && errno == EINTR)
            continue;
        if (len <= 0) { /* the disk is full, say: what follows would lack its beginning */
            o->is_full = true;
            break;
        }
        at += (size_t)len;
    }
    o->len = 0;
}

void observe_flush(const struct confine_image *image)
{
    if (image->observer && image->observer->len)
        observe_write(image, image->observer);
}

void observe_keep(const struct confine_image *image)
{
    struct observer *o = image->observer;

    if (!o->record_len || o->is_full || !observe_is_new(o, observe_hash(o->record, o->record_len)))
        return;
    o->record[o->record_len++] = '\0';
    if (o->total + o->record_len > CONFINE_MAX_RECORDS) {
        o->is_full = true;
        o->record_len = 0;
        observe_add(o, "T", 2);
    }
    o->total += o->record_len;
    if (o->len + o->record_len > sizeof(o->buffer))
        observe_write(image, o);
    memcpy(o->buffer + o->len, o->record, o->record_len);
    o->len += o->record_len;
}

/* ---- calls ---- */

/* Where a call has what. */
struct observe_call {
    int dir;
    uint64_t path;
    uint64_t argv; /* 0: it opens */
    bool may_be_empty;
};

static bool observe_call(const struct seccomp_data *d, struct observe_call *ret)
{
    *ret = (struct observe_call){.dir = AT_FDCWD};
    switch (d->nr) {
#ifdef SYS_open
    case SYS_open:
    case SYS_creat:
        ret->path = d->args[0];
        return true;
#endif
    case SYS_openat:
    case SYS_openat2:
        ret->dir = (int)d->args[0];
        ret->path = d->args[1];
        return true;
    case SYS_execve:
        ret->path = d->args[0];
        ret->argv = d->args[1];
        return true;
    case SYS_execveat:
        ret->dir = (int)d->args[0];
        ret->path = d->args[1];
        ret->argv = d->args[2];
        ret->may_be_empty = d->args[4] & AT_EMPTY_PATH;
        return true;
    default:
        return false;
    }
}

static void observe_add_args(struct observer *o, pid_t pid, uint64_t argv)
{
    char text[OBSERVE_ARG_BYTES + 1];
    uint64_t arg;

    for (size_t i = 0; i <= OBSERVE_ARGS; i++) {
        ssize_t len;

        if (!observe_read(o, pid, argv + i * sizeof(arg), &arg, sizeof(arg)) || !arg)
            return;
        if (i == 0)
            continue;
        len = observe_read_text(o, pid, arg, text, sizeof(text));
        if (len < 0)
            return;
        if (len == sizeof(text))
            len--; /* it was cut */
        for (ssize_t k = 0; k < len; k++)
            text[k] = text[k] == '\x1f' ? '?' : text[k];
        observe_add(o, "\x1f", 1);
        observe_add(o, text, (size_t)len);
    }
}

static bool observe_is_program(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && S_ISREG(st.st_mode) && (st.st_mode & 0111);
}

void observe_look(const struct confine_image *image, const struct seccomp_notif *asked)
{
    struct observer *o = image->observer;
    pid_t thread = (pid_t)asked->pid;
    struct observe_call call;
    struct stat st;
    size_t len;

    o->record_len = 0;
    if (o->is_full || asked->data.arch != OBSERVE_MACHINE || !observe_call(&asked->data, &call))
        return;
    len = observe_path(o, thread, call.dir, call.path, call.may_be_empty);
    if (!len)
        return;
    if (call.argv) {
        if (!observe_is_program(o->path))
            return; /* tried, as is done along PATH */
        observe_begin(o, 'X', broker_process_of(thread));
        observe_add(o, o->path, len);
        observe_add_args(o, thread, call.argv);
    } else if (observe_is_observed(image, o->path)) {
        observe_begin(o, stat(o->path, &st) == 0 ? 'R' : 'M', broker_process_of(thread));
        observe_add(o, o->path, len);
    }
}

const char *observe_find(const struct confine_image *image, const struct seccomp_notif *asked,
                         bool *ret_executes)
{
    struct observer *o = image->observer;
    struct observe_call call;

    if (asked->data.arch != OBSERVE_MACHINE || !observe_call(&asked->data, &call))
        return NULL;
    *ret_executes = call.argv != 0;
    if (!observe_path(o, (pid_t)asked->pid, call.dir, call.path, call.may_be_empty))
        return NULL;
    return o->path;
}

void observe_note(const struct confine_image *image, char kind, pid_t pid, const char *text,
                  size_t len)
{
    struct observer *o = image->observer;

    o->record_len = 0;
    observe_begin(o, kind, pid);
    observe_add(o, text, len < PATH_MAX ? len : PATH_MAX);
    observe_keep(image);
    observe_flush(image);
}
