/*
 * confine_rules: what a ruleset says about files. It says again what the mounts say about writing,
 * and adds what they cannot: devices, which can be written on read-only mounts, and signals. Runs
 * in the warden, before it enters a mount namespace.
 */
#include "proc/confine_rules.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "proc/confine_image.h"
#include "proc/landlock.h"

#define RULES_WRITE                                                                                \
    (LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_REMOVE_DIR |                               \
     LANDLOCK_ACCESS_FS_REMOVE_FILE | LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_MAKE_REG |  \
     LANDLOCK_ACCESS_FS_MAKE_SOCK | LANDLOCK_ACCESS_FS_MAKE_FIFO | LANDLOCK_ACCESS_FS_MAKE_SYM |   \
     LANDLOCK_ACCESS_FS_REFER | LANDLOCK_ACCESS_FS_TRUNCATE)
/* Never given: new devices. Given for all but /dev: reading. */
#define RULES_HANDLED                                                                              \
    (RULES_WRITE | LANDLOCK_ACCESS_FS_MAKE_CHAR | LANDLOCK_ACCESS_FS_MAKE_BLOCK |                  \
     LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_IOCTL_DEV)
#define RULES_DEVICE                                                                               \
    (LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_TRUNCATE |  \
     LANDLOCK_ACCESS_FS_IOCTL_DEV)
#define RULES_TERMINAL                                                                             \
    (LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_IOCTL_DEV)
#define RULES_SHM                                                                                  \
    (LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_TRUNCATE |  \
     LANDLOCK_ACCESS_FS_REMOVE_FILE | LANDLOCK_ACCESS_FS_REMOVE_DIR |                              \
     LANDLOCK_ACCESS_FS_MAKE_REG | LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_MAKE_FIFO |    \
     LANDLOCK_ACCESS_FS_MAKE_SYM | LANDLOCK_ACCESS_FS_REFER)
#define RULES_SCOPES (LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET | LANDLOCK_SCOPE_SIGNAL)

#define RULES_LIST_BYTES 4096
#define RULES_FIRST_FD 3 /* below are the job's, which come later */

/* Private terminals and shared memory are added when they exist. */
static const char *const rules_devices[] = {
    "null", "zero", "full", "random", "urandom", "tty", "ptmx",
};

/* As the kernel lists a folder. */
struct rules_entry {
    uint64_t inode;
    int64_t next;
    unsigned short bytes;
    unsigned char type;
    char name[];
};

static int rules_out_of_the_way(int fd)
{
    int moved = fd >= 0 ? fcntl(fd, F_DUPFD_CLOEXEC, RULES_FIRST_FD) : -1;
    int sys = errno;

    if (fd >= 0)
        close(fd);
    errno = sys;
    return moved;
}

static bool rules_allow(int ruleset, int dir, const char *name, uint64_t rights)
{
    int fd = openat(dir, name, O_PATH | O_CLOEXEC);
    bool allowed;
    int sys;

    if (fd < 0)
        return true; /* a missing file need not be reached */
    allowed = landlock_allow(ruleset, fd, rights) == 0;
    sys = errno;
    close(fd);
    errno = sys;
    return allowed;
}

/* What links lead to is below another of these, or in /dev. */
static bool rules_allow_listed(int ruleset, int dir, const char *list, size_t len)
{
    for (size_t at = 0; at < len;) {
        const struct rules_entry *entry = (const struct rules_entry *)(const void *)(list + at);

        at += entry->bytes;
        if (entry->name[0] == '.' || entry->type == DT_LNK || strcmp(entry->name, "dev") == 0)
            continue;
        if (!rules_allow(ruleset, dir, entry->name, LANDLOCK_ACCESS_FS_READ_FILE))
            return false;
    }
    return true;
}

static bool rules_allow_reading(int ruleset)
{
    _Alignas(struct rules_entry) char list[RULES_LIST_BYTES];
    int root = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    long len = -1;
    bool allowed = root >= 0;
    int sys;

    while (allowed) {
        len = syscall(SYS_getdents64, root, list, sizeof(list));
        if (len <= 0)
            break;
        allowed = rules_allow_listed(ruleset, root, list, (size_t)len);
    }
    sys = errno;
    if (root >= 0)
        close(root);
    errno = sys;
    return allowed && len == 0;
}

static bool rules_allow_devices(int ruleset)
{
    int dev = open("/dev", O_PATH | O_DIRECTORY | O_CLOEXEC);
    bool allowed = true;
    int sys;

    if (dev < 0)
        return true;
    for (size_t i = 0; i < sizeof(rules_devices) / sizeof(rules_devices[0]) && allowed; i++)
        allowed = rules_allow(ruleset, dev, rules_devices[i], RULES_DEVICE);
    sys = errno;
    close(dev);
    errno = sys;
    return allowed;
}

static void rules_look(struct stat *ret_top, struct stat *ret_dev)
{
    memset(ret_top, 0, sizeof(*ret_top));
    memset(ret_dev, 0, sizeof(*ret_dev));
    (void)stat("/", ret_top); /* one that is not there stays so */
    (void)stat("/dev", ret_dev);
}

static bool rules_is_same(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino &&
           a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

bool confine_rules_make(struct confine_rules *r)
{
    confine_rules_release(r);
    /* Before all else: what changes from here on shows. */
    r->mounts = rules_out_of_the_way(open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC));
    rules_look(&r->top, &r->dev);
    r->fd = rules_out_of_the_way(landlock_new(RULES_HANDLED, RULES_SCOPES));
    return r->fd >= 0 && rules_allow_reading(r->fd) && rules_allow_devices(r->fd);
}

bool confine_rules_make_trial(struct confine_rules *r, const struct confine_image *image)
{
    const char *path = (const char *)image + image->readable;
    bool allowed;

    confine_rules_release(r);
    r->is_trial = true;
    r->fd = rules_out_of_the_way(
        landlock_new(RULES_HANDLED | LANDLOCK_ACCESS_FS_READ_DIR, RULES_SCOPES));
    allowed = r->fd >= 0 && rules_allow_devices(r->fd) &&
              rules_allow(r->fd, AT_FDCWD, "/dev", LANDLOCK_ACCESS_FS_READ_DIR);
    for (size_t i = 0; i < image->readable_count && allowed; i++, path += strlen(path) + 1) {
        int at = open(path, O_PATH | O_CLOEXEC);
        struct stat st;

        if (at < 0)
            continue; /* a missing file need not be reached */
        allowed = fstat(at, &st) == 0 &&
                  confine_rules_add(r, at, S_ISDIR(st.st_mode), /*is_writable=*/false);
        close(at);
    }
    return allowed;
}

bool confine_rules_make_scopes(struct confine_rules *r)
{
    confine_rules_release(r);
    r->fd = rules_out_of_the_way(landlock_new(0, RULES_SCOPES));
    return r->fd >= 0;
}

bool confine_rules_hold(const struct confine_rules *r)
{
    struct pollfd mounts = {.fd = r->mounts, .events = POLLPRI};
    struct stat top;
    struct stat dev;

    if (r->fd < 0 || r->mounts < 0 || poll(&mounts, 1, 0) != 0)
        return false;
    rules_look(&top, &dev);
    return rules_is_same(&top, &r->top) && rules_is_same(&dev, &r->dev);
}

bool confine_rules_add(const struct confine_rules *r, int at, bool is_dir, bool is_writable)
{
    uint64_t rights = LANDLOCK_ACCESS_FS_READ_FILE | (is_writable ? RULES_WRITE : 0) |
                      (r->is_trial ? LANDLOCK_ACCESS_FS_READ_DIR : 0);

    return landlock_allow(r->fd, at, is_dir ? rights : rights & LANDLOCK_FILE_RIGHTS) == 0;
}

bool confine_rules_add_shm(const struct confine_rules *r, int at)
{
    return landlock_allow(r->fd, at, RULES_SHM | (r->is_trial ? LANDLOCK_ACCESS_FS_READ_DIR : 0)) ==
           0;
}

bool confine_rules_add_terminal(const struct confine_rules *r, int at)
{
    return landlock_allow(r->fd, at, RULES_TERMINAL) == 0;
}

void confine_rules_close_watch(struct confine_rules *r)
{
    if (r->mounts >= 0)
        close(r->mounts);
    r->mounts = -1;
}

void confine_rules_release(struct confine_rules *r)
{
    confine_rules_close_watch(r);
    if (r->fd >= 0)
        close(r->fd);
    r->fd = -1;
}
