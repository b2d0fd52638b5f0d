/*
 * confine_mounts: overlays come first. Then paths that stay writable are copied, everything else is
 * made read-only and free of devices in one call, and read-only or visible paths are copied; after
 * that the copies are mounted over their origins, folders before their contents, and hidden places
 * are covered by something empty. Paths have no symbolic links any more, and none is followed: a
 * job that runs beside this one could have put one there.
 *
 * Runs in the warden; plain system calls only.
 */
#include "proc/confine_mounts.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "proc/confine.h"
#include "proc/confine_image.h"
#include "proc/confine_rules.h"

#ifndef AT_RECURSIVE
#define AT_RECURSIVE 0x8000
#endif

#define MOUNTS_SHM "/dev/shm"
#define MOUNTS_TERMINALS "/dev/pts"
#define MOUNTS_MAKER "/dev/ptmx"
#define MOUNTS_EMPTY_DIR MOUNTS_SHM "/.d"
#define MOUNTS_EMPTY_FILE MOUNTS_SHM "/.f"

/* The harmless ones, which stay devices where all others no longer are. */
static const char *const mounts_devices[] = {
    "/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty",
};
#define MOUNTS_DEVICES (sizeof(mounts_devices) / sizeof(mounts_devices[0]))

/* The first that was put over something hidden, of each kind; -1: none was. */
struct mounts_empty {
    int dir;
    int file;
};

static struct confine_image_step *mounts_step(struct confine_image *image, size_t i)
{
    return (struct confine_image_step *)((char *)image + image->steps) + i;
}

static const char *mounts_path(const struct confine_image *image,
                               const struct confine_image_step *step)
{
    return (const char *)image + step->path;
}

static int mounts_open(const char *path)
{
    struct open_how how = {
        .flags = O_PATH | O_CLOEXEC | O_NOFOLLOW, /* the last may be a link that is pinned */
        .resolve = RESOLVE_NO_SYMLINKS,
    };

    return (int)syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof(how));
}

/* The existing files, with everything mounted below, as a tree that is not mounted itself. */
static int mounts_copy(int at)
{
    return (int)syscall(SYS_open_tree, at, "",
                        OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_EMPTY_PATH | AT_RECURSIVE);
}

/* The tree's descriptor stays open. */
static bool mounts_attach(int tree, const char *path)
{
    int at = mounts_open(path);
    bool mounted = at >= 0 && syscall(SYS_move_mount, tree, "", at, "",
                                      MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) == 0;
    int sys = errno;

    if (at >= 0)
        close(at);
    errno = sys;
    return mounted;
}

static bool mounts_set(int dir, const char *path, unsigned flags, uint64_t set)
{
    struct mount_attr attr = {.attr_set = set};

    return syscall(SYS_mount_setattr, dir, path, flags, &attr, sizeof(attr)) == 0;
}

/* ---- overlays ---- */

#define MOUNTS_LAYERS (CONFINE_MAX_LOWER + 2) /* upper and work, too */

static const struct confine_image_overlay *mounts_overlay(const struct confine_image *image,
                                                          size_t i)
{
    return (const struct confine_image_overlay *)(const void *)((const char *)image +
                                                                image->overlays) +
           i;
}

static int mounts_open_layer(const char *path)
{
    return open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

/* An overlay's layers, all opened before the first overlay is mounted: a lower folder in another
 * overlay is the one underneath. */
struct mounts_layers {
    int upper;
    int work;
    int lower[CONFINE_MAX_LOWER];
};

static bool mounts_open_layers(const struct confine_image *image, struct mounts_layers *ret)
{
    for (size_t i = 0; i < image->overlay_count; i++) {
        const struct confine_image_overlay *o = mounts_overlay(image, i);
        const char *path = (const char *)image + o->lower;

        ret[i].upper = mounts_open_layer((const char *)image + o->upper);
        ret[i].work = mounts_open_layer((const char *)image + o->work);
        if (ret[i].upper < 0 || ret[i].work < 0)
            return false;
        for (size_t k = 0; k < o->lower_count; k++, path += strlen(path) + 1) {
            ret[i].lower[k] = mounts_open_layer(path);
            if (ret[i].lower[k] < 0)
                return false;
        }
    }
    return true;
}

static size_t mounts_put(char *text, size_t at, const char *more)
{
    memcpy(text + at, more, strlen(more) + 1);
    return at + strlen(more);
}

/* A descriptor as a path: no character in it has a meaning for the parser of options. */
static size_t mounts_put_fd(char *text, size_t at, const char *before, int fd)
{
    char digits[12];
    size_t len = 0;

    at = mounts_put(text, mounts_put(text, at, before), "/proc/self/fd/");
    do {
        digits[len++] = (char)('0' + fd % 10);
        fd /= 10;
    } while (fd);
    while (len)
        text[at++] = digits[--len];
    text[at] = '\0';
    return at;
}

/* Opens the kernel's leftovers in the folder, so that its owner can remove it: a folder without any
 * mode, and a mark against a second mount of unsynced data. */
static void mounts_open_work(int work)
{
    int rc;

    unlinkat(work, "work/incompat/volatile/dirty", 0);
    unlinkat(work, "work/incompat/volatile", AT_REMOVEDIR);
    unlinkat(work, "work/incompat", AT_REMOVEDIR);
    rc = fchmodat(work, "work", 0700, 0);
    (void)rc; /* there is none yet */
}

/* Nothing is synced to the disk: the job's results are thrown away. Extended attributes are the
 * same for root and ordinary users. */
static bool mounts_add_overlay(const struct confine_image *image, size_t i,
                               const struct mounts_layers *layers)
{
    const struct confine_image_overlay *o = mounts_overlay(image, i);
    char options[(MOUNTS_LAYERS + 1) * 48];
    char target[48];
    int at = mounts_open((const char *)image + o->at);
    size_t len = mounts_put(options, 0, "userxattr,volatile,lowerdir=");
    bool mounted;
    int sys;

    if (at < 0)
        return false;
    for (size_t k = 0; k < o->lower_count; k++)
        len = mounts_put_fd(options, len, k ? ":" : "", layers->lower[k]);
    len = mounts_put_fd(options, len, ",upperdir=", layers->upper);
    mounts_put_fd(options, len, ",workdir=", layers->work);
    mounts_put_fd(target, 0, "", at);
    mounts_open_work(layers->work); /* of a job before this one */
    mounted = mount("overlay", target, "overlay", 0, options) == 0;
    sys = errno;
    mounts_open_work(layers->work); /* which a mount that failed may have begun, too */
    close(at);
    errno = sys;
    return mounted;
}

static void mounts_close_layers(const struct confine_image *image,
                                const struct mounts_layers *layers)
{
    for (size_t i = 0; i < image->overlay_count; i++) {
        close(layers[i].upper);
        close(layers[i].work);
        for (size_t k = 0; k < mounts_overlay(image, i)->lower_count; k++)
            close(layers[i].lower[k]);
    }
}

/* Files in an overlay can be read wherever it is mounted. */
static bool mounts_allow_overlay(const struct confine_image *image, size_t i,
                                 const struct confine_rules *rules)
{
    int at = mounts_open((const char *)image + mounts_overlay(image, i)->at);
    bool allowed = at >= 0 && confine_rules_add(rules, at, /*is_dir=*/true, /*is_writable=*/false);
    int sys = errno;

    if (at >= 0)
        close(at);
    errno = sys;
    return allowed;
}

bool confine_mounts_overlay(const struct confine_image *image, const struct confine_rules *rules)
{
    struct mounts_layers layers[CONFINE_MAX_OVERLAYS];

    if (!image->overlay_count)
        return true;
    /* Otherwise mounts made here would show outside, wherever that is shared. */
    if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 || !mounts_open_layers(image, layers))
        return false;
    for (size_t i = 0; i < image->overlay_count; i++) {
        if (!mounts_add_overlay(image, i, &layers[i]))
            return false;
        if (image->rules == CONFINE_RULES_FILES && !mounts_allow_overlay(image, i, rules))
            return false;
    }
    mounts_close_layers(image, layers);
    return true;
}

/* ---- steps ---- */

/* Below overlays a path may have gone since it was looked at. */
static bool mounts_is_missing(const struct confine_image *image)
{
    return image->overlay_count && (errno == ENOENT || errno == ENOTDIR);
}

/* By one and the same descriptor, so that the rule applies to the file that is written. */
static bool mounts_copy_step(const struct confine_image *image, const struct confine_rules *rules,
                             struct confine_image_step *step)
{
    bool is_opened = step->what == STEP_WRITE || step->what == STEP_SHOW;
    int at = mounts_open(mounts_path(image, step));
    int sys;

    if (at < 0)
        return mounts_is_missing(image);
    if (is_opened && image->rules == CONFINE_RULES_FILES &&
        !confine_rules_add(rules, at, step->is_dir, step->what == STEP_WRITE))
        step->tree = -1;
    else
        step->tree = mounts_copy(at);
    sys = errno;
    close(at);
    errno = sys;
    return step->tree >= 0;
}

/* Devices can be written on read-only mounts, too. */
static bool mounts_bars_devices(const struct confine_image *image)
{
    return !image->is_view && !image->all_writable;
}

static bool mounts_copy_steps(struct confine_image *image, const struct confine_rules *rules,
                              bool writable)
{
    for (size_t i = 0; i < image->step_count; i++) {
        struct confine_image_step *step = mounts_step(image, i);

        if (step->what == STEP_HIDE ||
            writable != (step->what == STEP_WRITE || step->what == STEP_PIN))
            continue;
        if (!mounts_copy_step(image, rules, step))
            return false;
        if (step->tree < 0)
            continue;
        if (!writable && image->all_writable &&
            !mounts_set(step->tree, "", AT_EMPTY_PATH | AT_RECURSIVE, MOUNT_ATTR_RDONLY))
            return false;
        if (writable && step->is_dir && mounts_bars_devices(image) &&
            !mounts_set(step->tree, "", AT_EMPTY_PATH | AT_RECURSIVE, MOUNT_ATTR_NODEV))
            return false;
    }
    return true;
}

static void mounts_copy_devices(int ret[static MOUNTS_DEVICES])
{
    for (size_t i = 0; i < MOUNTS_DEVICES; i++) {
        int at = mounts_open(mounts_devices[i]);

        ret[i] = at >= 0 ? mounts_copy(at) : -1;
        if (at >= 0)
            close(at);
    }
}

static bool mounts_attach_devices(const int trees[static MOUNTS_DEVICES])
{
    bool attached = true;

    for (size_t i = 0; i < MOUNTS_DEVICES; i++) {
        if (trees[i] < 0)
            continue; /* there is no such device */
        attached = attached && mounts_attach(trees[i], mounts_devices[i]);
        close(trees[i]);
    }
    return attached;
}

/* Its terminals belong to the folder beside it, which is another now. */
static bool mounts_add_terminal_maker(void)
{
    int at = mounts_open(MOUNTS_TERMINALS "/ptmx");
    int tree = at >= 0 ? mounts_copy(at) : -1;
    bool added = tree >= 0 && mounts_attach(tree, MOUNTS_MAKER);

    if (at >= 0)
        close(at);
    if (tree >= 0)
        close(tree);
    return added || errno == ELOOP || errno == ENOENT; /* it is a link to it, or missing */
}

/* Private shared memory and terminals. */
static bool mounts_add_devices(const struct confine_image *image)
{
    if (mount("tmpfs", MOUNTS_SHM, "tmpfs", MS_NOSUID | MS_NODEV, "mode=1777") < 0)
        return false;
    if (mount("devpts", MOUNTS_TERMINALS, "devpts", MS_NOSUID | MS_NOEXEC,
              "newinstance,ptmxmode=0666,mode=0600") < 0)
        return errno == ENOENT;
    return !mounts_bars_devices(image) || mounts_add_terminal_maker();
}

/* Something empty, which cannot even be listed by processes subject to modes. It lies in the job's
 * shared memory for a moment. */
static int mounts_make_empty(bool is_dir)
{
    const char *path = is_dir ? MOUNTS_EMPTY_DIR : MOUNTS_EMPTY_FILE;
    int at = -1;
    int tree = -1;
    int file;

    if (is_dir) {
        if (mkdir(path, 0) == 0)
            at = mounts_open(path);
    } else {
        file = open(path, O_CREAT | O_EXCL | O_RDONLY | O_CLOEXEC, 0);
        if (file >= 0) {
            close(file);
            at = mounts_open(path);
        }
    }
    if (at >= 0) {
        tree = mounts_copy(at);
        close(at);
    }
    return tree;
}

/* Only now: a removed file cannot be mounted any more. */
static void mounts_drop_empty(const struct mounts_empty *empty)
{
    if (empty->dir >= 0) {
        close(empty->dir);
        rmdir(MOUNTS_EMPTY_DIR);
    }
    if (empty->file >= 0) {
        close(empty->file);
        unlink(MOUNTS_EMPTY_FILE);
    }
}

/* The first of its kind is made, all others are copies of it, read-only as it is. */
static bool mounts_cover(struct mounts_empty *empty, const char *path, bool is_dir)
{
    int *first = is_dir ? &empty->dir : &empty->file;
    bool is_first = *first < 0;
    int tree = is_first ? mounts_make_empty(is_dir) : mounts_copy(*first);
    bool covers = tree >= 0 &&
                  (!is_first || mounts_set(tree, "", AT_EMPTY_PATH, MOUNT_ATTR_RDONLY)) &&
                  mounts_attach(tree, path);
    int sys = errno;

    if (is_first)
        *first = tree;
    else if (tree >= 0)
        close(tree);
    errno = sys;
    return covers;
}

/* Where shared memory is the machine's, nothing can be made in it. */
static bool mounts_cover_in_view(const char *path, bool is_dir)
{
    int null;
    int tree;
    bool covers;

    if (is_dir)
        return mount("tmpfs", path, "tmpfs", MS_NOSUID | MS_NODEV | MS_RDONLY, "mode=0000") == 0;
    null = mounts_open("/dev/null");
    tree = null >= 0 ? mounts_copy(null) : -1;
    covers = tree >= 0 && mounts_attach(tree, path);
    if (null >= 0)
        close(null);
    if (tree >= 0)
        close(tree);
    return covers;
}

static bool mounts_hide(const struct confine_image *image, struct mounts_empty *empty,
                        const char *path, const struct confine_image_step *step)
{
    if (step->has_inner)
        return mount("tmpfs", path, "tmpfs", MS_NOSUID | MS_NODEV, "mode=0755,size=1m") == 0;
    if (image->is_view)
        return mounts_cover_in_view(path, step->is_dir);
    return mounts_cover(empty, path, step->is_dir);
}

/* Below shared memory, which is another now. */
static bool mounts_is_in_shm(const char *path)
{
    return strncmp(path, MOUNTS_SHM "/", strlen(MOUNTS_SHM "/")) == 0;
}

/* Below a folder that has become an empty one: where to mount. */
static void mounts_make_place(const struct confine_image *image, size_t i)
{
    const struct confine_image_step *step = mounts_step((struct confine_image *)image, i);
    char path[PATH_MAX];
    size_t len = strlen(mounts_path(image, step));
    int file;

    if (len >= sizeof(path))
        return; /* which shows when it is mounted */
    memcpy(path, mounts_path(image, step), len + 1);
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

static bool mounts_take_steps(struct confine_image *image, struct mounts_empty *empty)
{
    bool has_opened = false; /* a hidden folder in which something can be found */

    for (size_t i = 0; i < image->step_count; i++) {
        struct confine_image_step *step = mounts_step(image, i);
        const char *path = mounts_path(image, step);

        if (step->what != STEP_HIDE && step->tree < 0)
            continue; /* it is missing */
        if ((!image->is_view && mounts_is_in_shm(path)) || (has_opened && step->what != STEP_HIDE))
            mounts_make_place(image, i);
        if (step->what == STEP_HIDE) {
            if (!mounts_hide(image, empty, path, step)) {
                if (!mounts_is_missing(image))
                    return false;
                continue;
            }
            has_opened = has_opened || step->has_inner;
            continue;
        }
        if (!mounts_attach(step->tree, path))
            return false;
        close(step->tree);
    }
    for (size_t i = 0; has_opened && i < image->step_count; i++) {
        const struct confine_image_step *step = mounts_step(image, i);

        if (step->has_inner &&
            !mounts_set(AT_FDCWD, mounts_path(image, step), 0, MOUNT_ATTR_RDONLY))
            return false;
    }
    return true;
}

static bool mounts_allow(const struct confine_rules *rules, const char *path,
                         bool (*add)(const struct confine_rules *r, int at))
{
    int fd = mounts_open(path);
    bool allowed = fd < 0 || add(rules, fd);
    int sys = errno;

    if (fd >= 0)
        close(fd);
    errno = sys;
    return allowed;
}

static bool mounts_allow_devices(const struct confine_image *image,
                                 const struct confine_rules *rules)
{
    if (image->rules != CONFINE_RULES_FILES)
        return true;
    if (!mounts_allow(rules, MOUNTS_SHM, confine_rules_add_shm) ||
        !mounts_allow(rules, MOUNTS_TERMINALS, confine_rules_add_terminal) ||
        !mounts_allow(rules, MOUNTS_MAKER, confine_rules_add_terminal))
        return false;
    /* It lies below the terminals that are covered now, but is to be opened as /dev/stderr, too. */
    return !image->terminal || confine_rules_add_terminal(rules, STDIN_FILENO);
}

bool confine_mounts_take(struct confine_image *image, const struct confine_rules *rules)
{
    struct mounts_empty empty = {-1, -1};
    uint64_t set = MOUNT_ATTR_RDONLY | (mounts_bars_devices(image) ? MOUNT_ATTR_NODEV : 0);
    int devices[MOUNTS_DEVICES];
    bool taken;
    int sys;

    /* Otherwise mounts made here would show outside, wherever that is shared. */
    if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
        !mounts_copy_steps(image, rules, /*writable=*/true))
        return false;
    if (mounts_bars_devices(image))
        mounts_copy_devices(devices);
    if (!image->all_writable && !mounts_set(AT_FDCWD, "/", AT_RECURSIVE, set))
        return false;
    if (mounts_bars_devices(image) && !mounts_attach_devices(devices))
        return false;
    if (!mounts_copy_steps(image, rules, /*writable=*/false) ||
        (!image->is_view && !mounts_add_devices(image)))
        return false;
    taken = mounts_take_steps(image, &empty);
    sys = errno;
    mounts_drop_empty(&empty);
    errno = sys;
    return taken && mounts_allow_devices(image, rules);
}
