/*
 * confine_image: everything of a confinement that takes more than system calls, done in tenax:
 * paths looked at, the Landlock ruleset, the seccomp program. Runs on the thread that calls
 * proc_start().
 *
 * The ruleset is about files themselves, wherever they are mounted, so that it can be made outside
 * of the job's mount namespace. It says again what the mounts say about writing, and adds what they
 * cannot: devices, which can be written on read-only mounts, and signals.
 */
#include "proc/confine_image.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"
#include "proc/bubblewrap.h"
#include "proc/confine.h"
#include "proc/landlock.h"
#include "proc/proc.h"
#include "proc/syscall_filter.h"

#define IMAGE_WRITE                                                                                \
    (LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_REMOVE_DIR |                               \
     LANDLOCK_ACCESS_FS_REMOVE_FILE | LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_MAKE_REG |  \
     LANDLOCK_ACCESS_FS_MAKE_SOCK | LANDLOCK_ACCESS_FS_MAKE_FIFO | LANDLOCK_ACCESS_FS_MAKE_SYM |   \
     LANDLOCK_ACCESS_FS_REFER | LANDLOCK_ACCESS_FS_TRUNCATE)
/* Never given: new devices. Given for all but /dev: reading. */
#define IMAGE_HANDLED                                                                              \
    (IMAGE_WRITE | LANDLOCK_ACCESS_FS_MAKE_CHAR | LANDLOCK_ACCESS_FS_MAKE_BLOCK |                  \
     LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_IOCTL_DEV)
#define IMAGE_DEVICE                                                                               \
    (LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_TRUNCATE |  \
     LANDLOCK_ACCESS_FS_IOCTL_DEV)

/* Terminals and shared memory of its own are added when they exist (confine_enter.c). */
static const char *const image_devices[] = {
    "/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty", "/dev/ptmx",
};

/* As root: files of all owners can be handled, as builds and package managers do. Mounts and
 * Landlock hold all the same. */
#define IMAGE_ROOT_KEEPS                                                                           \
    (1ULL << CAP_CHOWN | 1ULL << CAP_DAC_OVERRIDE | 1ULL << CAP_FOWNER | 1ULL << CAP_FSETID)

bool confine_is_privileged(void)
{
    struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[2] = {0};

    return syscall(SYS_capget, &head, data) == 0 && (data[0].effective & 1U << CAP_SYS_ADMIN);
}

static int image_allow(int ruleset, const char *path, uint64_t rights, struct err *err)
{
    CLEANUP(fd_closep) int fd = open(path, O_PATH | O_CLOEXEC);
    struct stat st;

    if (fd < 0)
        return 0; /* what is not there need not be reached */
    if ((rights & ~LANDLOCK_FILE_RIGHTS) && (fstat(fd, &st) < 0 || !S_ISDIR(st.st_mode)))
        rights &= LANDLOCK_FILE_RIGHTS;
    if (landlock_allow(ruleset, fd, rights) < 0)
        return err_sys(err, ERR_IO, "cannot let a command use '%s'", path);
    return 0;
}

/* What links lead to is below another of these, or in /dev. */
static int image_allow_reading(int ruleset, struct err *err)
{
    DIR *root = opendir("/");
    const struct dirent *entry;
    char path[NAME_MAX + 2];
    int rc = 0;

    if (!root)
        return err_sys(err, ERR_IO, "cannot list /");
    while (rc == 0 && (entry = readdir(root))) {
        snprintf(path, sizeof(path), "/%s", entry->d_name);
        if (entry->d_name[0] != '.' && entry->d_type != DT_LNK && strcmp(entry->d_name, "dev") != 0)
            rc = image_allow(ruleset, path, LANDLOCK_ACCESS_FS_READ_FILE, err);
    }
    closedir(root);
    return rc;
}

static int image_fill_ruleset(int ruleset, const struct confine_map *m, struct err *err)
{
    if (image_allow_reading(ruleset, err) < 0)
        return -1;
    for (size_t i = 0; i < ARRAY_LEN(image_devices); i++) {
        if (image_allow(ruleset, image_devices[i], IMAGE_DEVICE, err) < 0)
            return -1;
    }
    VEC_EACH(&m->steps, step) {
        int rc = 0;

        if (step->what == STEP_WRITE)
            rc = image_allow(ruleset, step->path, IMAGE_WRITE | LANDLOCK_ACCESS_FS_READ_FILE, err);
        else if (step->what == STEP_SHOW)
            rc = image_allow(ruleset, step->path, LANDLOCK_ACCESS_FS_READ_FILE, err);
        if (rc < 0)
            return -1;
    }
    return 0;
}

/* Without rules yet; about files as well, or scopes only. */
static int kit_make_ruleset(struct confine_kit *kit, bool has_files, struct err *err)
{
    kit->fds[CONFINE_RULESET] = landlock_new(
        has_files ? IMAGE_HANDLED : 0, LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET | LANDLOCK_SCOPE_SIGNAL);
    if (kit->fds[CONFINE_RULESET] < 0)
        return err_sys(err, ERR_IO, "cannot make a Landlock ruleset");
    return 0;
}

static void image_add_steps(struct buf *image, const struct confine_map *m)
{
    struct confine_image *head = (struct confine_image *)image->ptr;
    size_t at = image->len;

    head->steps = at;
    head->step_count = m->steps.len;
    VEC_EACH(&m->steps, step) {
        const struct confine_image_step packed = {
            .what = step->what,
            .is_dir = step->is_dir,
            .has_inner = step->has_inner,
            .tree = -1,
        };

        buf_add(image, str_make((const char *)&packed, sizeof(packed)));
    }
    VEC_EACH(&m->steps, named) {
        struct confine_image_step *packed = (struct confine_image_step *)(image->ptr + at);

        packed->path = image->len;
        buf_add(image, str_make(named->path, strlen(named->path) + 1));
        at += sizeof(*packed);
    }
}

static void image_add_sockets(struct buf *image, const struct strv *list)
{
    struct confine_image *head = (struct confine_image *)image->ptr;

    head->sockets = image->len;
    head->socket_count = list->len;
    for (size_t i = 0; i < list->len; i++)
        buf_add(image, str_make(list->ptr[i], strlen(list->ptr[i]) + 1));
}

static void image_align(struct buf *image)
{
    while (image->len % _Alignof(max_align_t))
        buf_addc(image, '\0');
}

static void image_set_namespaces(struct confine_image *head, const struct confinement *c)
{
    bool privileged = confine_is_privileged();

    if (head->mounts)
        head->namespaces |= CLONE_NEWNS | CLONE_NEWIPC;
    if (c->net != CONFINE_NET_OPEN)
        head->namespaces |= CLONE_NEWNET;
    head->loopback = c->net == CONFINE_NET_PROXY;
    if (!privileged && head->namespaces)
        head->namespaces |= CLONE_NEWUSER;
}

static int kit_add_proxy(struct confine_kit *kit, const struct confinement *c, struct err *err)
{
    if (c->net != CONFINE_NET_PROXY)
        return 0;
    kit->fds[CONFINE_PROXY] = fcntl(c->proxy, F_DUPFD_CLOEXEC, 3);
    if (kit->fds[CONFINE_PROXY] < 0)
        return err_sys(err, ERR_IO, "cannot copy the proxy's socket");
    return 0;
}

/* All by ourselves. */
static int kit_by_landlock(struct confine_kit *kit, const struct confine_map *m, struct str filter,
                           struct err *err)
{
    struct confine_image *head = (struct confine_image *)kit->image.ptr;

    head->mounts = true;
    head->all_writable = m->all_writable;
    head->capabilities = geteuid() == 0 ? IMAGE_ROOT_KEEPS : 0;
    head->filter_len = (unsigned short)(filter.len / sizeof(struct sock_filter));
    return kit_make_ruleset(kit, !m->all_writable, err);
}

/* Files, capabilities and the filter are its business; network and signals stay ours. */
static int kit_by_bubblewrap(struct confine_kit *kit, const struct confine_map *m,
                             struct str filter, const struct proc_spec *spec, struct err *err)
{
    struct confine_image *head = (struct confine_image *)kit->image.ptr;
    bool has_scopes = landlock_abi() >= LANDLOCK_ABI_SCOPES;

    head->keeps_rights = true;
    if (has_scopes && kit_make_ruleset(kit, /*has_files=*/false, err) < 0)
        return -1;
    kit->fds[CONFINE_FILTER] = memfd_create("tenax-filter", MFD_CLOEXEC);
    if (kit->fds[CONFINE_FILTER] < 0)
        return err_sys(err, ERR_IO, "cannot make a file in memory");
    if (fd_write_all(kit->fds[CONFINE_FILTER], filter, err) < 0)
        return -1;
    if (lseek(kit->fds[CONFINE_FILTER], 0, SEEK_SET) < 0)
        return err_sys(err, ERR_IO, "cannot rewind a file in memory");
    return bubblewrap_argv(m, spec, /*own_pids=*/!has_scopes, &kit->argv, err);
}

static bool kit_is_by_bubblewrap(const struct confinement *c)
{
    const struct confine_backend *by = c->by ? c->by : confine_backend();

    return strcmp(by->name, "bubblewrap") == 0;
}

static int kit_fill(struct confine_kit *kit, const struct confinement *c,
                    const struct proc_spec *spec, const struct confine_map *m, struct str filter,
                    struct err *err)
{
    const struct confine_image empty = {
        .fds = {-1, -1, -1}, .listener = -1, .hand = {-1, -1}, .asks = -1};
    struct confine_image *head;
    int rc;

    if (kit_add_proxy(kit, c, err) < 0)
        return -1;
    buf_add(&kit->image, str_make((const char *)&empty, sizeof(empty)));
    if (kit_is_by_bubblewrap(c))
        rc = kit_by_bubblewrap(kit, m, filter, spec, err);
    else
        rc = kit_by_landlock(kit, m, filter, err);
    if (rc < 0)
        return -1;

    head = (struct confine_image *)kit->image.ptr;
    image_set_namespaces(head, c);
    head->terminal = spec->pty;
    for (int i = 0; i < CONFINE_FDS; i++)
        head->has_fd[i] = kit->fds[i] >= 0;
    if (head->filter_len) {
        image_align(&kit->image);
        head = (struct confine_image *)kit->image.ptr;
        head->filter = kit->image.len;
        buf_add(&kit->image, filter);
    }
    image_align(&kit->image);
    if (((struct confine_image *)kit->image.ptr)->mounts)
        image_add_steps(&kit->image, m);
    image_add_sockets(&kit->image, &kit->sockets);
    return 0;
}

static void kit_take_sockets(struct confine_kit *kit, const struct confinement *c,
                             struct confine_map *m)
{
    for (const char *const *path = c->sockets; !c->unix_sockets && path && *path; path++) {
        CLEANUP(mem_freep) char *real = confine_map_socket(m, *path);

        if (real)
            strv_adds(&kit->sockets, real);
    }
}

/* By the very list that has somebody answer (confine_enter.c): where nobody does, ASKED would let
 * every connect(2) through. */
static enum filter_unix kit_unix(const struct confine_kit *kit, const struct confinement *c)
{
    if (c->unix_sockets)
        return FILTER_UNIX_OPEN;
    return kit->sockets.len ? FILTER_UNIX_ASKED : FILTER_UNIX_CLOSED;
}

int confine_kit_init(struct confine_kit *kit, const struct confinement *c,
                     const struct proc_spec *spec, struct err *err)
{
    struct confine_map map;
    struct str filter;
    int rc;

    confine_map_init(&map, c);
    kit_take_sockets(kit, c, &map);
    rc = syscall_filter_get(c->net, kit_unix(kit, c), &filter, err);
    if (rc == 0)
        rc = kit_fill(kit, c, spec, &map, filter, err);
    if (rc == 0 && !map.all_writable && !kit_is_by_bubblewrap(c))
        rc = image_fill_ruleset(kit->fds[CONFINE_RULESET], &map, err);
    confine_map_release(&map);
    return rc;
}

int confine_kit_init_try(struct confine_kit *kit, struct err *err)
{
    const struct sock_filter all[] = {BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    const struct confinement c = {.net = CONFINE_NET_NONE, .by = confine_backend_named("landlock")};
    const struct proc_spec spec = {0};
    const struct confine_map map = {0};

    return kit_fill(kit, &c, &spec, &map, str_make((const char *)all, sizeof(all)), err);
}

void confine_kit_close(struct confine_kit *kit)
{
    for (int i = 0; i < CONFINE_FDS; i++) {
        fd_closep(&kit->fds[i]);
        kit->fds[i] = -1;
    }
}

void confine_kit_release(struct confine_kit *kit)
{
    confine_kit_close(kit);
    buf_release(&kit->image);
    strv_release(&kit->argv);
    strv_release(&kit->sockets);
}
