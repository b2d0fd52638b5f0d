/*
 * confine_enter: namespaces, mounts, rights, system calls.
 *
 * What is to stay writable is copied first, all of the rest is made read-only in one call, what is
 * to be read-only or shown is copied then; after that the copies are mounted over where they came
 * from, folders before what is in them, and hidden places get something empty over them. Paths have
 * no symbolic links any more, and none is followed: a job that runs beside this one could have put
 * one there.
 *
 * Runs in the warden and in its leader; plain system calls only.
 */
#include "proc/confine_enter.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/openat2.h>
#include <linux/seccomp.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "proc/broker.h"
#include "proc/confine.h"
#include "proc/confine_image.h"
#include "proc/landlock.h"
#include "proc/packet.h"

#ifndef AT_RECURSIVE
#define AT_RECURSIVE 0x8000
#endif

#define ENTER_SHM "/dev/shm"
#define ENTER_EMPTY_DIR ENTER_SHM "/.d"
#define ENTER_EMPTY_FILE ENTER_SHM "/.f"
#define ENTER_LAST_CAPABILITY 63
#define ENTER_FORWARD 16
#define ENTER_TERMINAL                                                                             \
    (LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_IOCTL_DEV)

static struct confine_image_step *enter_step(struct confine_image *image, size_t i)
{
    return (struct confine_image_step *)((char *)image + image->steps) + i;
}

static const char *enter_path(const struct confine_image *image,
                              const struct confine_image_step *step)
{
    return (const char *)image + step->path;
}

static bool enter_write_file(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    size_t len = strlen(text);
    bool written = fd >= 0 && write(fd, text, len) == (ssize_t)len;
    int sys = errno;

    if (fd >= 0)
        close(fd);
    errno = sys;
    return written;
}

/* Everybody is who they were, and nobody else. */
static bool enter_write_map(const char *path, unsigned id)
{
    char text[32];
    char digits[12];
    size_t len = 0;
    size_t at = 0;

    do {
        digits[len++] = (char)('0' + id % 10);
        id /= 10;
    } while (id);
    for (int twice = 0; twice < 2; twice++) {
        for (size_t i = len; i > 0; i--)
            text[at++] = digits[i - 1];
        text[at++] = ' ';
    }
    memcpy(text + at, "1\n", 3);
    return enter_write_file(path, text);
}

bool confine_enter_namespaces(int flags)
{
    unsigned uid = geteuid();
    unsigned gid = getegid();

    if (flags && unshare(flags) < 0)
        return false;
    if (!(flags & CLONE_NEWUSER))
        return true;
    /* After a change of user, or from a file that cannot be read, our own files in /proc would be
     * root's. Who may look into us is Landlock's business. */
    prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
    return enter_write_file("/proc/self/setgroups", "deny") &&
           enter_write_map("/proc/self/uid_map", uid) && enter_write_map("/proc/self/gid_map", gid);
}

/* ---- network ---- */

static bool enter_raise_loopback(void)
{
    struct ifreq request = {.ifr_name = "lo", .ifr_flags = IFF_UP};
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    bool up = fd >= 0 && ioctl(fd, SIOCSIFFLAGS, &request) == 0;
    int sys = errno;

    if (fd >= 0)
        close(fd);
    errno = sys;
    return up;
}

static bool enter_listen(struct confine_image *image)
{
    struct sockaddr_in at = {
        .sin_family = AF_INET,
        .sin_port = htons(CONFINE_PROXY_PORT),
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
    };

    image->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    return image->listener >= 0 &&
           bind(image->listener, (const struct sockaddr *)&at, sizeof(at)) == 0 &&
           listen(image->listener, SOMAXCONN) == 0;
}

/* A few at a time: a job that never stops connecting must not keep its warden from ending it. */
void confine_forward(const struct confine_image *image)
{
    for (int i = 0; i < ENTER_FORWARD; i++) {
        int connection = accept4(image->listener, NULL, NULL, SOCK_CLOEXEC);

        if (connection < 0)
            return;
        packet_send(image->fds[CONFINE_PROXY], &connection, 1); /* or it ends here */
        close(connection);
    }
}

/* ---- mounts ---- */

static int enter_open(const char *path)
{
    struct open_how how = {
        .flags = O_PATH | O_CLOEXEC | O_NOFOLLOW, /* the last may be a link that is pinned */
        .resolve = RESOLVE_NO_SYMLINKS,
    };

    return (int)syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof(how));
}

/* What is at a path, with everything mounted below it, as a tree that is not mounted itself. */
static int enter_copy(const char *path)
{
    int at = enter_open(path);
    int tree = -1;
    int sys;

    if (at >= 0)
        tree = (int)syscall(SYS_open_tree, at, "",
                            OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_EMPTY_PATH | AT_RECURSIVE);
    sys = errno;
    if (at >= 0)
        close(at);
    errno = sys;
    return tree;
}

static bool enter_mount(int tree, const char *path)
{
    int at = enter_open(path);
    bool mounted = at >= 0 && syscall(SYS_move_mount, tree, "", at, "",
                                      MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) == 0;
    int sys = errno;

    if (at >= 0)
        close(at);
    close(tree);
    errno = sys;
    return mounted;
}

static bool enter_make_read_only(int dir, const char *path, unsigned flags)
{
    struct mount_attr attr = {.attr_set = MOUNT_ATTR_RDONLY};

    return syscall(SYS_mount_setattr, dir, path, flags, &attr, sizeof(attr)) == 0;
}

static bool enter_copy_steps(struct confine_image *image, bool writable)
{
    for (size_t i = 0; i < image->step_count; i++) {
        struct confine_image_step *step = enter_step(image, i);

        if (step->what == STEP_HIDE ||
            writable != (step->what == STEP_WRITE || step->what == STEP_PIN))
            continue;
        step->tree = enter_copy(enter_path(image, step));
        if (step->tree < 0)
            return false;
        if (!writable && image->all_writable &&
            !enter_make_read_only(step->tree, "", AT_EMPTY_PATH | AT_RECURSIVE))
            return false;
    }
    return true;
}

/* Shared memory and terminals that nobody else has. Two empty things in the first are what is put
 * over hidden places; nobody who is stopped by modes can even list them. */
static bool enter_mount_devices(const struct confine_image *image)
{
    int file;

    if (mount("tmpfs", ENTER_SHM, "tmpfs", MS_NOSUID | MS_NODEV, "mode=1777") < 0)
        return false;
    if (mount("devpts", "/dev/pts", "devpts", MS_NOSUID | MS_NOEXEC,
              "newinstance,ptmxmode=0666,mode=0600") < 0 &&
        errno != ENOENT)
        return false;
    if (!image->step_count)
        return true;
    file = open(ENTER_EMPTY_FILE, O_CREAT | O_EXCL | O_RDONLY | O_CLOEXEC, 0);
    if (file >= 0)
        close(file);
    return file >= 0 && mkdir(ENTER_EMPTY_DIR, 0) == 0;
}

static bool enter_hide(const char *path, const struct confine_image_step *step)
{
    int tree;

    if (step->has_inner)
        return mount("tmpfs", path, "tmpfs", MS_NOSUID | MS_NODEV, "mode=0755,size=1m") == 0;
    tree = enter_copy(step->is_dir ? ENTER_EMPTY_DIR : ENTER_EMPTY_FILE);
    return tree >= 0 && enter_make_read_only(tree, "", AT_EMPTY_PATH) && enter_mount(tree, path);
}

/* Below a hidden folder that has become an empty one: where to mount. */
static void enter_make_place(const struct confine_image *image, size_t i)
{
    const struct confine_image_step *step = enter_step((struct confine_image *)image, i);
    char path[PATH_MAX];
    size_t len = strlen(enter_path(image, step));
    int file;

    if (len >= sizeof(path))
        return; /* which shows when it is mounted */
    memcpy(path, enter_path(image, step), len + 1);
    for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(path, 0755); /* most are there */
        *slash = '/';
    }
    if (step->is_dir) {
        mkdir(path, 0755);
        return;
    }
    file = open(path, O_CREAT | O_EXCL | O_RDONLY | O_CLOEXEC, 0644);
    if (file >= 0)
        close(file);
}

static bool enter_take_steps(struct confine_image *image)
{
    bool has_opened = false; /* a hidden folder in which something can be found */

    for (size_t i = 0; i < image->step_count; i++) {
        struct confine_image_step *step = enter_step(image, i);
        const char *path = enter_path(image, step);

        if (step->what == STEP_HIDE) {
            if (!enter_hide(path, step))
                return false;
            has_opened = has_opened || step->has_inner;
            continue;
        }
        if (has_opened)
            enter_make_place(image, i);
        if (!enter_mount(step->tree, path))
            return false;
    }
    for (size_t i = 0; has_opened && i < image->step_count; i++) {
        const struct confine_image_step *step = enter_step(image, i);

        if (step->has_inner && !enter_make_read_only(AT_FDCWD, enter_path(image, step), 0))
            return false;
    }
    return true;
}

static bool enter_allow_devices(const struct confine_image *image)
{
    static const struct {
        const char *path;
        uint64_t rights;
    } own[] = {
        {ENTER_SHM, LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_WRITE_FILE |
                        LANDLOCK_ACCESS_FS_TRUNCATE | LANDLOCK_ACCESS_FS_REMOVE_FILE |
                        LANDLOCK_ACCESS_FS_REMOVE_DIR | LANDLOCK_ACCESS_FS_MAKE_REG |
                        LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_MAKE_FIFO |
                        LANDLOCK_ACCESS_FS_MAKE_SYM | LANDLOCK_ACCESS_FS_REFER},
        {"/dev/pts", ENTER_TERMINAL},
    };

    if (image->all_writable)
        return true; /* the ruleset is not about files */
    for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++) {
        int fd = enter_open(own[i].path);
        bool allowed =
            fd < 0 || landlock_allow(image->fds[CONFINE_RULESET], fd, own[i].rights) == 0;

        if (fd >= 0)
            close(fd);
        if (!allowed)
            return false;
    }
    /* It lies below the terminals that are covered now, but is to be opened as /dev/stderr, too. */
    return !image->terminal ||
           landlock_allow(image->fds[CONFINE_RULESET], STDIN_FILENO, ENTER_TERMINAL) == 0;
}

static bool enter_mounts(struct confine_image *image)
{
    /* Otherwise what is mounted here would show outside, wherever that is shared. */
    if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
        !enter_copy_steps(image, /*writable=*/true))
        return false;
    if (!image->all_writable && !enter_make_read_only(AT_FDCWD, "/", AT_RECURSIVE))
        return false;
    if (!enter_copy_steps(image, /*writable=*/false) || !enter_mount_devices(image) ||
        !enter_take_steps(image))
        return false;
    if (image->step_count) {
        rmdir(ENTER_EMPTY_DIR);
        unlink(ENTER_EMPTY_FILE);
    }
    return enter_allow_devices(image);
}

bool confine_enter(struct confine_image *image, int entered, enum child_stage *ret_stage)
{
    *ret_stage = CHILD_NAMESPACES;
    if (!confine_enter_namespaces(image->namespaces & ~entered))
        return false;
    *ret_stage = CHILD_NETWORK;
    if (image->loopback && !enter_raise_loopback())
        return false;
    if (image->has_fd[CONFINE_PROXY] && !enter_listen(image))
        return false;
    *ret_stage = CHILD_CALLS;
    if (image->socket_count &&
        socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, image->hand) < 0)
        return false;
    *ret_stage = CHILD_MOUNTS;
    return !image->mounts || enter_mounts(image);
}

void confine_take_asks(struct confine_image *image)
{
    if (image->hand[1] < 0)
        return;
    close(image->hand[1]); /* else a leader that has failed would be waited for */
    if (packet_receive(image->hand[0], &image->asks, 1) < 0)
        image->asks = -1;
    close(image->hand[0]);
}

/* ---- in the leader ---- */

/* Those that we have and that may stay. From the bounding set all others go as far as we may; where
 * not, no_new_privs keeps them from coming back. */
CHILD_FN static bool enter_drop_capabilities(uint64_t keep)
{
    struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[2];

    for (int i = 0; i <= ENTER_LAST_CAPABILITY; i++) {
        if (!(keep & 1ULL << i) && prctl(PR_CAPBSET_DROP, i, 0, 0, 0) < 0)
            break; /* past the last that there is */
    }
    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
    if (syscall(SYS_capget, &head, data) < 0)
        return false;
    for (int i = 0; i < 2; i++) {
        data[i].permitted &= (uint32_t)(keep >> 32 * i);
        data[i].effective = data[i].permitted;
        data[i].inheritable = 0;
    }
    return syscall(SYS_capset, &head, data) == 0;
}

CHILD_FN bool confine_drop_rights(const struct confine_image *image)
{
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
        return false;
    if (!image->keeps_rights && !enter_drop_capabilities(image->capabilities))
        return false;
    return !image->has_fd[CONFINE_RULESET] || landlock_enter(image->fds[CONFINE_RULESET]) == 0;
}

CHILD_FN bool confine_drop_calls(const struct confine_image *image)
{
    const struct sock_fprog program = {
        .len = image->filter_len,
        .filter = (struct sock_filter *)((char *)(uintptr_t)image + image->filter),
    };

    if (image->hand[1] >= 0 && !broker_install(image->hand[1]))
        return false;
    if (image->has_fd[CONFINE_FILTER])
        return dup2(image->fds[CONFINE_FILTER], CONFINE_FILTER_FD) >= 0;
    return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) == 0;
}
