/*
 * pinned: one openat() for each part of a path, or openat2() for all of them, which Linux has since
 * 5.6. Any thread.
 */
#include "base/pinned.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"

#define PINNED_STEP (O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)

/* Says ELOOP of a link, and not that it is no folder. */
static int pinned_why(int at, const char *name)
{
    int sys = errno;
    struct stat st;

    if (sys == ENOTDIR && fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(st.st_mode))
        sys = ELOOP;
    errno = sys;
    return -1;
}

static int pinned_step(int at, const char *name, bool makes)
{
    int fd = openat(at, name, PINNED_STEP);

    if (fd < 0 && errno == ENOENT && makes) {
        if (mkdirat(at, name, 0777) < 0 && errno != EEXIST)
            return -1;
        fd = openat(at, name, PINNED_STEP);
    }
    return fd < 0 ? pinned_why(at, name) : fd;
}

int pinned_folder(const char *path, bool makes)
{
    CLEANUP(mem_freep) char *dir = path_dirname(path);
    int at = open("/", PINNED_STEP);
    char *save = NULL;

    for (char *name = strtok_r(dir, "/", &save); at >= 0 && name;
         name = strtok_r(NULL, "/", &save)) {
        int next = pinned_step(at, name, makes);
        int sys = errno;

        close(at);
        at = next;
        errno = sys;
    }
    return at;
}

int pinned_open(const char *path, int flags)
{
    CLEANUP(fd_closep) int at = pinned_folder(path, /*makes=*/false);
    const char *name = path_base(path);

    if (at < 0)
        return -1;
    return openat(at, *name ? name : ".", flags | O_NOFOLLOW | O_CLOEXEC);
}

int pinned_open_at(int folder, const char *path, int flags)
{
    struct open_how how = {
        .flags = (unsigned)flags | O_NOFOLLOW | O_CLOEXEC,
        .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS,
    };
    int fd = (int)syscall(SYS_openat2, folder, path, &how, sizeof(how));

    if (fd < 0 && (errno == ENOSYS || errno == EPERM)) /* old, or kept from us by a container */
        fd = openat(folder, path, flags | O_NOFOLLOW | O_CLOEXEC);
    return fd;
}
