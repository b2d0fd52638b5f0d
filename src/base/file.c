/*
 * file: reading whole files, replacing them safely, and paths. Any thread.
 */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/disk.h"
#include "base/err.h"
#include "base/id.h"

#define PATH_MAX_REAL ((size_t)64 << 10)
#define PATH_MAX_LINKS 40 /* followed, one after the other */

int file_slurp(const char *path, size_t max_bytes, struct buf *ret_text, struct err *err)
{
    /* Non-blocking, so that a FIFO in place of the file cannot hang us. */
    CLEANUP(fd_closep) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

    if (fd < 0)
        return err_sys(err, errno == ENOENT || errno == ENOTDIR ? ERR_NOT_FOUND : ERR_IO,
                       "cannot open '%s'", path);
    return file_slurp_fd(fd, path, max_bytes, ret_text, err);
}

int file_slurp_fd(int fd, const char *path, size_t max_bytes, struct buf *ret_text, struct err *err)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(max_bytes);
    struct stat st;

    if (fstat(fd, &st) < 0)
        return err_sys(err, ERR_IO, "cannot look at '%s'", path);
    if (!S_ISREG(st.st_mode))
        return err_set(err, ERR_IO, "'%s' is %s, not a file", path,
                       S_ISDIR(st.st_mode) ? "a directory" : "a device or pipe");
    if ((size_t)st.st_size > max_bytes)
        return err_set(err, ERR_TOO_BIG, "'%s' has %lld bytes; the limit is %zu", path,
                       (long long)st.st_size, max_bytes);
    if (st.st_size > 0 && !buf_room(&text, (size_t)st.st_size))
        BUG("a size below the limit did not fit");
    if (buf_add_fd(&text, fd, err) < 0)
        return err_prefix(err, "'%s'", path);

    buf_move(ret_text, &text);
    return 0;
}

int fd_write_all(int fd, struct str bytes, struct err *err)
{
    while (bytes.len) {
        ssize_t n = write(fd, bytes.ptr, bytes.len);

        if (n < 0 && errno == EAGAIN) {
            /* The descriptor was made non-blocking by its creator, as event loops do. */
            (void)poll(&(struct pollfd){.fd = fd, .events = POLLOUT}, 1, -1);
            continue;
        }
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return err_sys(err, ERR_IO, "cannot write");
        bytes = str_from(bytes, (size_t)n);
    }
    return 0;
}

/* The same for a regular file, whose bytes must not be lost. */
static int file_write_all(int fd, struct str bytes, struct err *err)
{
    while (bytes.len) {
        ssize_t n = disk_write(fd, bytes.ptr, bytes.len);

        if (n < 0)
            return err_sys(err, ERR_IO, "cannot write");
        bytes = str_from(bytes, (size_t)n);
    }
    return 0;
}

/* What a file is to be made like; nothing known: as the umask has it. */
struct file_state {
    bool has_mode;
    mode_t mode;
    bool has_owner;
    uid_t uid;
    gid_t gid;
    bool skips_sync;
};

/* Writes and syncs the temporary file; the caller removes it when this fails. */
static int file_fill(int fd, struct str text, const struct file_state *look, struct err *err)
{
    /* Before the mode: a change of owner takes set-user-ID away. Only root may give files away;
     * keeping the group is worth a separate try. */
    if (look->has_owner && (look->uid != geteuid() || look->gid != getegid()) &&
        fchown(fd, look->uid, look->gid) < 0)
        (void)!fchown(fd, (uid_t)-1, look->gid);
    if (look->has_mode && fchmod(fd, look->mode) < 0)
        return err_sys(err, ERR_IO, "cannot set the mode");
    if (file_write_all(fd, text, err) < 0)
        return -1;
    if (!look->skips_sync && fsync(fd) < 0)
        return err_sys(err, ERR_IO, "cannot sync");
    return 0;
}

/* `at`: as for openat(2). */
static int file_put(int at, const char *path, struct str text, const struct file_state *look,
                    struct err *err)
{
    CLEANUP(mem_freep) char *dir = path_dirname(path);
    CLEANUP(buf_release) struct buf temp = BUF_INIT(BUF_NO_LIMIT);
    CLEANUP(fd_closep) int fd = -1;
    CLEANUP(fd_closep) int dir_fd = -1;
    char tag[9] = "";

    id_fill(tag, 8);
    /* Names end at 255 bytes, and one that long still has to be replaced. */
    buf_addf(&temp, "%s/.%.200s.%s", dir, path_base(path), tag);
    fd = openat(at, buf_cstr(&temp), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW,
                look->has_mode ? 0600 : 0666);
    if (fd < 0)
        return err_sys(err, ERR_IO, "cannot write '%s'", path);
    if (file_fill(fd, text, look, err) < 0) {
        unlinkat(at, buf_cstr(&temp), 0);
        return err_prefix(err, "'%s'", path);
    }
    if (renameat(at, buf_cstr(&temp), at, path) < 0) {
        err_sys(err, ERR_IO, "cannot replace '%s'", path);
        unlinkat(at, buf_cstr(&temp), 0);
        return -1;
    }
    /* The rename itself must survive a power cut; a file system that cannot sync a
     * folder is fine. */
    if (look->skips_sync)
        return 0;
    dir_fd = openat(at, dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (dir_fd >= 0)
        (void)fsync(dir_fd);
    return 0;
}

int file_replace(const char *path, struct str text, mode_t mode, struct err *err)
{
    return file_put(AT_FDCWD, path, text, &(struct file_state){.has_mode = true, .mode = mode},
                    err);
}

int file_renew(const char *path, struct str text, mode_t mode, struct err *err)
{
    struct file_state look = {.has_mode = true, .mode = mode, .skips_sync = true};

    return file_put(AT_FDCWD, path, text, &look, err);
}

int file_replace_like(const char *path, struct str text, const struct stat *like, struct err *err)
{
    return file_replace_at(AT_FDCWD, path, text, like, err);
}

int file_replace_at(int at, const char *path, struct str text, const struct stat *like,
                    struct err *err)
{
    struct file_state look = {0};

    if (like) {
        look.has_mode = look.has_owner = true;
        look.mode = like->st_mode & 07777;
        look.uid = like->st_uid;
        look.gid = like->st_gid;
    }
    return file_put(at, path, text, &look, err);
}

int file_overwrite(const char *path, struct str text, mode_t mode, struct err *err)
{
    CLEANUP(fd_closep)
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_NOCTTY | O_CLOEXEC, mode);

    if (fd < 0)
        return err_sys(err, ERR_IO, "cannot open '%s'", path);
    return fd_write_all(fd, text, err);
}

int file_mkdirs(const char *path, mode_t mode, struct err *err)
{
    CLEANUP(mem_freep) char *part = mem_dup(path, strlen(path));

    for (char *at = part + 1; *part; at++) {
        char was = *at;

        if (was != '/' && was != '\0')
            continue;
        *at = '\0';
        if (mkdir(part, mode) < 0 && errno != EEXIST)
            return err_sys(err, ERR_IO, "cannot make the folder '%s'", part);
        if (was == '\0')
            break;
        *at = was;
    }
    if (!file_is_dir(path))
        return err_set(err, ERR_IO, "'%s' is not a directory", path);
    return 0;
}

bool file_exists(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0;
}

bool file_is_dir(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

char *path_join(const char *dir, const char *name)
{
    struct buf path = BUF_INIT(BUF_NO_LIMIT);

    if (name[0] != '/' && dir[0]) {
        buf_adds(&path, dir);
        if (dir[strlen(dir) - 1] != '/')
            buf_addc(&path, '/');
    }
    buf_adds(&path, name);
    return buf_take(&path);
}

/* An absolute path in which there is nothing to take out, nor a name with a dot in front. */
static bool path_is_plain(struct str path)
{
    for (size_t i = 0; i < path.len; i++) {
        if (path.ptr[i] == '/' &&
            (i + 1 == path.len || path.ptr[i + 1] == '/' || path.ptr[i + 1] == '.'))
            return false;
    }
    return path.len && path.ptr[0] == '/';
}

void path_walk(struct buf *to, struct str path)
{
    struct str part;

    if (to->len <= to->max && path.len <= to->max - to->len && path_is_plain(path)) {
        buf_add(to, path); /* the usual case */
        return;
    }
    while (str_cut(&path, '/', &part)) {
        if (!part.len || str_is(part, "."))
            continue;
        if (str_is(part, "..")) {
            while (to->len && to->ptr[to->len - 1] != '/')
                buf_cut(to, to->len - 1, 1);
            if (to->len)
                buf_cut(to, to->len - 1, 1);
            continue;
        }
        buf_addc(to, '/');
        buf_add(to, part);
    }
}

/* The rest of the path to walk, once a link has been met. */
static void path_go_by_link(struct buf *rest, struct str target, struct str left)
{
    CLEANUP(buf_release) struct buf next = BUF_INIT(PATH_MAX_REAL);

    buf_addf(&next, "%.*s/%.*s", STR_ARG(target), STR_ARG(left));
    buf_move(rest, &next);
}

/* As the kernel walks, one look at each part. Missing parts are added by name. */
char *path_real(const char *path)
{
    struct buf at = BUF_INIT(PATH_MAX_REAL);
    CLEANUP(buf_release) struct buf rest = BUF_INIT(PATH_MAX_REAL);
    char target[PATH_MAX];
    unsigned links = 0;
    bool is_there = true;
    struct str left;
    struct str name;

    if (path[0] && path[0] != '/' && realpath(".", target))
        path_walk(&at, str_of(target));
    buf_adds(&rest, path);
    left = buf_str(&rest);
    while (str_cut(&left, '/', &name)) {
        size_t before = at.len;
        ssize_t n = -1;

        path_walk(&at, name);
        if (at.len <= before) { /* back to something that may be there */
            is_there = true;
            continue;
        }
        if (is_there && links < PATH_MAX_LINKS)
            n = readlink(buf_cstr(&at), target, sizeof(target));
        if (n <= 0 || n == sizeof(target)) {
            is_there = is_there && errno == EINVAL;
            continue;
        }
        links++;
        buf_cut(&at, before, at.len - before);
        if (target[0] == '/')
            buf_clear(&at);
        path_go_by_link(&rest, str_make(target, (size_t)n), left);
        left = buf_str(&rest);
    }
    if (!at.len)
        buf_addc(&at, '/');
    return buf_take(&at);
}

char *path_dirname(const char *path)
{
    const char *slash = strrchr(path, '/');

    if (!slash)
        return mem_dup(".", 1);
    return mem_dup(path, slash == path ? 1 : (size_t)(slash - path));
}

const char *path_base(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

const char *path_home(void)
{
    const char *home = getenv("HOME");
    static _Thread_local char kept[512];
    struct passwd pw;
    struct passwd *found = NULL;
    char space[2048];

    if (home && home[0] == '/')
        return home;
    if (getpwuid_r(getuid(), &pw, space, sizeof(space), &found) == 0 && found && found->pw_dir)
        snprintf(kept, sizeof(kept), "%s", found->pw_dir);
    else
        snprintf(kept, sizeof(kept), "/");
    return kept;
}

char *path_expand_home(const char *path)
{
    if (path[0] != '~' || (path[1] != '/' && path[1] != '\0'))
        return mem_dup(path, strlen(path));
    return path_join(path_home(), path[1] ? path + 2 : "");
}
