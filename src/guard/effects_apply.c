/*
 * effects_apply: first compares everything with its earlier state, then applies folders, files by
 * rename, modes and times, and finally deletions. A file on another disk than its layer is first
 * copied next to its destination. The journal names each change with its file in the layer: if that
 * file is gone, or is the same as at the destination, the change was made.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/disk.h"
#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/pinned.h"
#include "base/strv.h"
#include "guard/effects.h"

#define APPLY_PIECE ((size_t)64 << 10)
#define APPLY_MAX_JOURNAL ((size_t)64 << 20)
#define APPLY_TOLD 20 /* changes listed after a kill */

struct apply {
    struct effects *effects;
    const char *id;
    size_t done;
};

/* ---- is it unchanged? ---- */

static bool is_same_file(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_mode == b->st_mode &&
           (S_ISDIR(a->st_mode) ||
            (a->st_size == b->st_size && a->st_mtim.tv_sec == b->st_mtim.tv_sec &&
             a->st_mtim.tv_nsec == b->st_mtim.tv_nsec && a->st_ctim.tv_sec == b->st_ctim.tv_sec &&
             a->st_ctim.tv_nsec == b->st_ctim.tv_nsec));
}

static bool holds_the_same(const struct effect *e)
{
    struct effect_inside now;

    if (!S_ISDIR(e->was.st_mode) || (e->upper && S_ISDIR(e->now.st_mode)))
        return true;
    effects_look_inside(e->path, &now);
    return now.files == e->inside.files && now.sum == e->inside.sum;
}

static bool is_after(const struct timespec *a, const struct timespec *b)
{
    return a->tv_sec > b->tv_sec || (a->tv_sec == b->tv_sec && a->tv_nsec > b->tv_nsec);
}

static int check_one(const struct effects *all, const struct effect *e, struct err *err)
{
    CLEANUP(fd_closep) int folder = pinned_folder(e->path, /*makes=*/false);
    struct stat now;
    bool is_there;

    if (folder < 0 && (errno == ENOENT || errno == ENOTDIR) && !e->was.st_mode)
        return 0; /* a folder that is created with it */
    if (folder < 0)
        return err_set(err, ERR_BUSY, "the folder of '%s' has changed", e->path);
    is_there = fstatat(folder, path_base(e->path), &now, AT_SYMLINK_NOFOLLOW) == 0;
    if (!e->was.st_mode && is_there)
        return err_set(err, ERR_BUSY, "'%s' has been created since", e->path);
    if (e->was.st_mode && (e->change == EFFECT_DELETED || !S_ISDIR(e->was.st_mode)) &&
        is_after(&e->was.st_ctim, &all->since))
        return err_set(err, ERR_BUSY, "'%s' was changed while the command ran", e->path);
    if (e->was.st_mode && (!is_there || !is_same_file(&e->was, &now) || !holds_the_same(e)))
        return err_set(err, ERR_BUSY, "'%s' has been changed since", e->path);
    return 0;
}

/* ---- steps ---- */

/* overlayfs's attributes of a file mean nothing outside of its layer. */
static void drop_marks(int fd)
{
    static const char *const marks[] = {"user.overlay.origin", "user.overlay.opaque",
                                        "user.overlay.impure", "user.overlay.nlink",
                                        "user.overlay.upper",  "user.overlay.protattr"};

    for (size_t i = 0; i < ARRAY_LEN(marks); i++)
        (void)fremovexattr(fd, marks[i]);
}

static void drop_marks_of(const struct effect *e)
{
    int fd = open(e->upper, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);

    if (fd < 0 && errno == EACCES) { /* whatever mode the job has set */
        (void)chmod(e->upper, 0600);
        fd = open(e->upper, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
        (void)chmod(e->upper, e->now.st_mode & 07777);
    }
    if (fd < 0)
        return;
    drop_marks(fd);
    close(fd);
}

static void stage_name(const struct apply *a, const char *path, struct buf *ret)
{
    buf_addf(ret, ".%.180s.%s", path_base(path), a->id);
}

/* From where both files stand, up to the given end of the first. */
static int copy_bytes(int from, int to, off_t left, struct err *err)
{
    CLEANUP(mem_freep) char *piece = mem_alloc(APPLY_PIECE);

    while (left > 0) {
        ssize_t n = read(from, piece, left < (off_t)APPLY_PIECE ? (size_t)left : APPLY_PIECE);

        if (n == 0)
            return 0;
        if (n < 0)
            return err_sys(err, ERR_IO, "cannot read the new contents");
        if (fd_write_all(to, str_make(piece, (size_t)n), err) < 0)
            return -1;
        left -= n;
    }
    return 0;
}

/* Holes stay holes: an image of a disk may be larger than the disk it lies on. */
static int copy_file(int from, int to, off_t size, struct err *err)
{
    off_t end = 0;

    while (end < size) {
        off_t start = lseek(from, end, SEEK_DATA);

        if (start < 0 && errno == ENXIO) /* nothing but a hole is left */
            break;
        if (start < 0)
            start = end;
        end = lseek(from, start, SEEK_HOLE);
        if (end <= start)
            end = size;
        if (lseek(from, start, SEEK_SET) < 0 || lseek(to, start, SEEK_SET) < 0)
            return err_sys(err, ERR_IO, "cannot read the new contents");
        if (copy_bytes(from, to, end - start, err) < 0)
            return -1;
    }
    return ftruncate(to, size) < 0 ? err_sys(err, ERR_IO, "cannot write the new contents") : 0;
}

/* Copies the file next to its destination, under a temporary name. */
static int stage(const struct effect *e, int folder, const char *name, struct err *err)
{
    const struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, e->now.st_mtim};
    char target[4096];
    ssize_t n;

    unlinkat(folder, name, 0);
    if (S_ISLNK(e->now.st_mode)) {
        n = readlink(e->upper, target, sizeof(target) - 1);
        if (n < 0)
            return err_sys(err, ERR_IO, "cannot read the link '%s'", e->upper);
        target[n] = '\0';
        if (symlinkat(target, folder, name) < 0)
            return err_sys(err, ERR_IO, "cannot make the link '%s'", e->path);
    } else if (S_ISREG(e->now.st_mode)) {
        CLEANUP(fd_closep)
        int from = open(e->upper, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
        CLEANUP(fd_closep)
        int to = openat(folder, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);

        if (from < 0 || to < 0)
            return err_sys(err, ERR_IO, "cannot copy to '%s'", e->path);
        if (copy_file(from, to, e->now.st_size, err) < 0)
            return -1;
        (void)!fchown(to, e->now.st_uid, e->now.st_gid);
        if (fchmod(to, e->now.st_mode & 07777) < 0 || disk_sync(to) < 0)
            return err_sys(err, ERR_IO, "cannot copy to '%s'", e->path);
        (void)futimens(to, times);
    } else if (mknodat(folder, name, e->now.st_mode, 0) < 0) {
        return err_sys(err, ERR_IO, "cannot make '%s'", e->path);
    }
    return 0;
}

static int remove_tree(int folder, const char *name, int depth);

static int empty_folder(int fd, int depth)
{
    DIR *list = fdopendir(fd);
    int rc = 0;

    if (!list) {
        close(fd);
        return -1;
    }
    while (rc == 0) {
        const struct dirent *e = readdir(list);

        if (!e)
            break;
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
            rc = remove_tree(dirfd(list), e->d_name, depth + 1);
    }
    closedir(list);
    return rc;
}

/* Does not follow links. */
static int remove_tree(int folder, const char *name, int depth)
{
    int fd;

    if (unlinkat(folder, name, 0) == 0)
        return 0;
    if ((errno != EISDIR && errno != EPERM) || depth > EFFECTS_MAX_DEPTH)
        return -1;
    fd = openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 || empty_folder(fd, depth) < 0)
        return -1;
    return unlinkat(folder, name, AT_REMOVEDIR);
}

/* Exchanges two names, whatever they are; the old file then has the name of the new one. */
static int put(const struct effect *e, int from, const char *name, int folder, struct err *err)
{
    const char *base = path_base(e->path);
    unsigned flags = !e->was.st_mode                                          ? RENAME_NOREPLACE
                     : (e->was.st_mode & S_IFMT) != (e->now.st_mode & S_IFMT) ? RENAME_EXCHANGE
                                                                              : 0;
    int rc = disk_rename(from, name, folder, base, flags);

    /* Some file systems do not support flags. */
    if (rc < 0 && errno == EINVAL && flags == RENAME_NOREPLACE)
        rc = disk_rename(from, name, folder, base, 0);
    if (rc < 0 && errno == EEXIST)
        return err_set(err, ERR_BUSY, "'%s' has been created since", e->path);
    if (rc < 0 && errno == EXDEV)
        return 1;
    if (rc < 0)
        return err_sys(err, ERR_IO, "cannot write '%s'", e->path);
    if (flags == RENAME_EXCHANGE && remove_tree(from, name, 0) < 0)
        return err_sys(err, ERR_IO, "cannot remove the old '%s'", e->path);
    return 0;
}

static int apply_file(struct apply *a, const struct effect *e, struct err *err)
{
    CLEANUP(fd_closep) int folder = pinned_folder(e->path, /*makes=*/false);
    CLEANUP(buf_release) struct buf name = BUF_INIT(256);
    int rc;

    if (folder < 0)
        return err_sys(err, ERR_IO, "cannot write '%s'", e->path);
    if (S_ISREG(e->now.st_mode))
        drop_marks_of(e);
    rc = put(e, AT_FDCWD, e->upper, folder, err);
    if (rc <= 0)
        return rc;
    stage_name(a, e->path, &name);
    rc = stage(e, folder, buf_cstr(&name), err);
    if (rc == 0)
        rc = put(e, folder, buf_cstr(&name), folder, err);
    if (rc != 0)
        unlinkat(folder, buf_cstr(&name), 0);
    if (rc == 0)
        unlink(e->upper);
    return rc;
}

/* Creates a new folder under another name if a file must be removed first. */
static int apply_folder(struct apply *a, const struct effect *e, struct err *err)
{
    CLEANUP(fd_closep) int folder = pinned_folder(e->path, /*makes=*/false);
    CLEANUP(buf_release) struct buf name = BUF_INIT(256);

    if (folder < 0)
        return err_sys(err, ERR_IO, "cannot make '%s'", e->path);
    stage_name(a, e->path, &name);
    remove_tree(folder, buf_cstr(&name), 0);
    if (mkdirat(folder, buf_cstr(&name), 0700) < 0)
        return err_sys(err, ERR_IO, "cannot make '%s'", e->path);
    (void)!fchownat(folder, buf_cstr(&name), e->now.st_uid, e->now.st_gid, AT_SYMLINK_NOFOLLOW);
    return put(e, folder, buf_cstr(&name), folder, err);
}

/* Modes of folders are set after their contents, since we may not be able to enter them afterwards.
 */
static int apply_mode(const struct effect *e, struct err *err)
{
    CLEANUP(fd_closep) int fd = pinned_open(e->path, O_RDONLY | O_NONBLOCK);
    const struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, e->now.st_mtim};
    CLEANUP(fd_closep) int folder = -1;

    if (e->change == EFFECT_TOUCHED) {
        folder = pinned_folder(e->path, /*makes=*/false);
        return folder < 0 || utimensat(folder, path_base(e->path), times, AT_SYMLINK_NOFOLLOW) < 0
                   ? err_sys(err, ERR_IO, "cannot touch '%s'", e->path)
                   : 0;
    }
    if (fd < 0) { /* not readable: use its name */
        folder = pinned_folder(e->path, /*makes=*/false);
        if (folder < 0 || fchmodat(folder, path_base(e->path), e->now.st_mode & 07777, 0) < 0)
            return err_sys(err, ERR_IO, "cannot change the mode of '%s'", e->path);
        return 0;
    }
    if ((e->was.st_uid != e->now.st_uid || e->was.st_gid != e->now.st_gid) &&
        fchown(fd, e->now.st_uid, e->now.st_gid) < 0)
        return err_sys(err, ERR_IO, "cannot change the owner of '%s'", e->path);
    if (fchmod(fd, e->now.st_mode & 07777) < 0)
        return err_sys(err, ERR_IO, "cannot change the mode of '%s'", e->path);
    return 0;
}

static int apply_deletion(const struct effect *e, struct err *err)
{
    CLEANUP(fd_closep) int folder = pinned_folder(e->path, /*makes=*/false);

    if (folder < 0 || disk_step() < 0 || remove_tree(folder, path_base(e->path), 0) < 0)
        return err_sys(err, ERR_IO, "cannot delete '%s'", e->path);
    return 0;
}

enum apply_phase {
    APPLY_CHECK,
    APPLY_FOLDERS,
    APPLY_FILES,
    APPLY_MODES, /* from here on in reverse order */
    APPLY_DELETIONS,
};

static int apply_one(struct apply *a, enum apply_phase phase, const struct effect *e,
                     struct err *err)
{
    bool is_folder = S_ISDIR(e->now.st_mode);
    bool is_new = e->change == EFFECT_CREATED;
    int rc = 0;

    if (phase == APPLY_CHECK)
        return check_one(a->effects, e, err);
    if (phase == APPLY_FOLDERS && is_new && is_folder)
        rc = apply_folder(a, e, err);
    else if (phase == APPLY_FILES && !is_folder && (is_new || e->change == EFFECT_MODIFIED))
        rc = apply_file(a, e, err);
    else if (phase == APPLY_MODES && is_new && is_folder)
        return apply_mode(e, err); /* part of its creation */
    else if (phase == APPLY_MODES && (e->change == EFFECT_MODE || e->change == EFFECT_TOUCHED))
        rc = disk_step() < 0 ? err_sys(err, ERR_IO, "cannot write") : apply_mode(e, err);
    else if (phase == APPLY_DELETIONS && e->change == EFFECT_DELETED)
        rc = apply_deletion(e, err);
    else
        return 0;
    a->done += rc == 0;
    return rc;
}

/* ---- the journal ---- */

/* Three NUL-terminated strings for each change: a letter and the mode, the path, the file in the
 * layer. The first string is the id. */
static int write_journal(const struct apply *a, const char *path, struct err *err)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(APPLY_MAX_JOURNAL);

    buf_addf(&text, "%s%c", a->id, '\0');
    VEC_EACH(&a->effects->list, e) {
        buf_addf(&text, "%c%o %lld.%ld%c%s%c%s%c", "cmptd"[e->change], (unsigned)e -> now.st_mode,
                 (long long)e->now.st_mtim.tv_sec, e->now.st_mtim.tv_nsec, '\0', e->path, '\0',
                 e->upper ? e->upper : "", '\0');
    }
    if (buf_check(&text, err) < 0)
        return -1;
    return file_replace(path, buf_str(&text), 0600, err);
}

int effects_apply(struct effects *e, const char *journal, const char *id, struct err *err)
{
    struct apply a = {.effects = e, .id = id};
    struct err why = {0};

    for (int phase = APPLY_CHECK; phase <= APPLY_DELETIONS; phase++) {
        if (phase == APPLY_FOLDERS && write_journal(&a, journal, err) < 0)
            return -1;
        for (size_t i = 0; i < e->list.len; i++) {
            size_t at = phase >= APPLY_MODES ? e->list.len - 1 - i : i;

            if (apply_one(&a, (enum apply_phase)phase, &e->list.ptr[at], &why) == 0)
                continue;
            if (phase > APPLY_CHECK)
                unlink(journal);
            return err_set(err, why.code, "%s; %zu of %zu changes were made", why.text, a.done,
                           e->list.len);
        }
    }
    unlink(journal);
    return 0;
}

/* ---- after a kill ---- */

struct entry {
    char what;
    unsigned mode;
    struct timespec time;
    struct str path, upper;
};

static bool next_entry(struct str *rest, struct entry *ret)
{
    struct str head;
    long long sec = 0;
    long nsec = 0;

    if (!rest->len || !str_cut(rest, '\0', &head) || !str_cut(rest, '\0', &ret->path) ||
        !str_cut(rest, '\0', &ret->upper) || !head.len || !ret->path.len)
        return false;
    ret->what = head.ptr[0];
    if (sscanf(head.ptr + 1, "%o %lld.%ld", &ret->mode, &sec, &nsec) != 3)
        return false;
    ret->time = (struct timespec){.tv_sec = (time_t)sec, .tv_nsec = nsec};
    return true;
}

static bool was_made(const struct entry *e)
{
    struct stat layer;
    struct stat now;
    bool is_there = lstat(e->path.ptr, &now) == 0;

    switch (e->what) {
    case 'd':
        return !is_there;
    case 'p':
        return is_there && now.st_mode == e->mode;
    case 't':
        return is_there && now.st_mtim.tv_sec == e->time.tv_sec &&
               now.st_mtim.tv_nsec == e->time.tv_nsec;
    default:
        if (!is_there || (now.st_mode & S_IFMT) != (e->mode & S_IFMT))
            return false;
        if (S_ISDIR(now.st_mode) || lstat(e->upper.ptr, &layer) < 0)
            return true;
        return effects_is_same_file(e->upper.ptr, e->path.ptr, &layer, &now);
    }
}

static void tell(struct buf *to, size_t n, struct str path)
{
    if (n <= APPLY_TOLD)
        buf_addf(to, "%s%.*s", n > 1 ? ", " : " ", STR_ARG(path));
    else if (n == APPLY_TOLD + 1)
        buf_adds(to, " and others");
}

void effects_settle(const char *journal, struct strv *ret)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(APPLY_MAX_JOURNAL);
    CLEANUP(buf_release) struct buf made = BUF_INIT(BUF_NO_LIMIT);
    CLEANUP(buf_release) struct buf left = BUF_INIT(BUF_NO_LIMIT);
    size_t made_count = 0;
    size_t left_count = 0;
    struct entry e = {0};
    struct str rest;
    struct str id;

    if (file_slurp(journal, APPLY_MAX_JOURNAL, &text, /*err=*/NULL) < 0)
        return;
    rest = buf_str(&text);
    str_cut(&rest, '\0', &id);
    while (next_entry(&rest, &e)) {
        CLEANUP(fd_closep) int at = pinned_folder(e.path.ptr, /*makes=*/false);
        CLEANUP(buf_release) struct buf name = BUF_INIT(256);

        stage_name(&(struct apply){.id = id.ptr}, e.path.ptr, &name);
        if (at >= 0)
            remove_tree(at, buf_cstr(&name), 0);
        if (was_made(&e))
            tell(&made, ++made_count, e.path);
        else
            tell(&left, ++left_count, e.path);
    }
    strv_addf(
        ret, "tenax was ended while it applied the approved changes of a command. Applied (%zu):%s",
        made_count, made.len ? buf_cstr(&made) : " none");
    strv_addf(ret, "Not applied (%zu):%s", left_count, left.len ? buf_cstr(&left) : " none");
    unlink(journal);
}
