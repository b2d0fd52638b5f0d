/*
 * effects: one walk over each upper layer, compared with the lower ones. A whiteout (a character
 * device 0:0) means deleted; an opaque folder means that everything missing in it is deleted. A
 * file that was only copied up, because a program opened it for writing or wrote its old content,
 * is not an effect.
 */
#include "guard/effects.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/file.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/strv.h"
#include "guard/git_index.h"
#include "guard/protected.h"
#include "sync/cancel.h"

#define EFFECTS_PIECE ((size_t)64 << 10)
#define EFFECTS_MAX_COMPARED ((int64_t)256 << 20) /* bytes read to detect renames */
#define EFFECTS_CANDIDATES 4
#define EFFECTS_MAX_INDEX ((size_t)64 << 20)

struct effects_finder {
    struct effects *to;
    struct cancel *cancel;
    int depth;
    int64_t compared;
};

void effects_release(struct effects *e)
{
    VEC_EACH(&e->list, one) {
        mem_freep(&one->path);
        mem_freep(&one->upper);
        mem_freep(&one->from);
    }
    vec_release(&e->list);
    VEC_EACH(&e->layers, layer) {
        mem_freep(&layer->at);
        mem_freep(&layer->upper);
    }
    vec_release(&e->layers);
}

/* ---- optional writes ---- */

/* Caches that programs write implicitly and do not depend on. Their creation and modification is
 * discarded; a deletion was intended. */
static bool is_optional(struct str path)
{
    static const char *const folders[] = {
        "__pycache__",  ".pytest_cache",   ".mypy_cache",           ".ruff_cache", ".hypothesis",
        ".eslintcache", ".stylelintcache", ".phpunit.result.cache", ".zig-cache",  ".ccache",
    };
    struct str name;
    struct str before = STR("");

    while (str_cut(&path, '/', &name)) {
        for (size_t i = 0; i < ARRAY_LEN(folders); i++) {
            if (str_is(name, folders[i]))
                return true;
        }
        if (str_is(before, "node_modules") && str_is(name, ".cache"))
            return true;
        before = name;
    }
    return false;
}

/* ---- comparing ---- */

static bool is_whiteout(const struct stat *st)
{
    return S_ISCHR(st->st_mode) && st->st_rdev == 0;
}

static bool is_opaque(const char *upper)
{
    char mark[2];

    return lgetxattr(upper, "user.overlay.opaque", mark, sizeof(mark)) == 1 &&
           (mark[0] == 'y' || mark[0] == 'x');
}

/* Attributes that only a mount with other options writes: a folder or file that has its data
 * elsewhere. */
static bool is_elsewhere(const char *upper)
{
    return lgetxattr(upper, "user.overlay.redirect", NULL, 0) >= 0 ||
           lgetxattr(upper, "user.overlay.metacopy", NULL, 0) >= 0;
}

static int open_to_read(const char *path)
{
    return open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
}

static bool has_same_content(const char *one, const char *other)
{
    CLEANUP(fd_closep) int a = open_to_read(one);
    CLEANUP(fd_closep) int b = open_to_read(other);
    CLEANUP(mem_freep) char *pieces = mem_alloc(2 * EFFECTS_PIECE);

    while (a >= 0 && b >= 0) {
        ssize_t n = read(a, pieces, EFFECTS_PIECE);
        ssize_t at = 0;

        if (n <= 0)
            return n == 0;
        while (at < n) {
            ssize_t m = read(b, pieces + EFFECTS_PIECE, (size_t)(n - at));

            if (m <= 0 || memcmp(pieces + at, pieces + EFFECTS_PIECE, (size_t)m) != 0)
                return false;
            at += m;
        }
    }
    return false;
}

static bool has_same_target(const char *one, const char *other)
{
    char a[4096];
    char b[4096];
    ssize_t n = readlink(one, a, sizeof(a));

    return n >= 0 && readlink(other, b, sizeof(b)) == n && memcmp(a, b, (size_t)n) == 0;
}

static bool is_same_time(const struct stat *a, const struct stat *b)
{
    return a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

static bool is_same_owner(const struct stat *a, const struct stat *b)
{
    return (a->st_mode & 07777) == (b->st_mode & 07777) && a->st_uid == b->st_uid &&
           a->st_gid == b->st_gid;
}

bool effects_is_same_file(const char *one, const char *other, const struct stat *a,
                          const struct stat *b)
{
    if ((a->st_mode & S_IFMT) != (b->st_mode & S_IFMT))
        return false;
    if (S_ISREG(a->st_mode))
        return a->st_size == b->st_size && has_same_content(one, other);
    return !S_ISLNK(a->st_mode) || has_same_target(one, other);
}

/* git has refreshed its information about files on disk. */
static bool is_refresh(const char *path, const char *upper, const struct stat *was,
                       const struct stat *now)
{
    CLEANUP(buf_release) struct buf old = BUF_INIT(EFFECTS_MAX_INDEX);
    CLEANUP(buf_release) struct buf new = BUF_INIT(EFFECTS_MAX_INDEX);
    struct str rest = str_of(path);

    return str_ends(rest, STR("/index")) && str_has(rest, STR("/.git/")) && S_ISREG(was->st_mode) &&
           S_ISREG(now->st_mode) && was->st_size == now->st_size && is_same_owner(was, now) &&
           file_slurp(path, EFFECTS_MAX_INDEX, &old, NULL) == 0 &&
           file_slurp(upper, EFFECTS_MAX_INDEX, &new, NULL) == 0 &&
           git_index_is_same(buf_str(&old), buf_str(&new));
}

/* ---- contents of a folder ---- */

static uint64_t sum_one(const char *name, uint64_t folder, const struct stat *st)
{
    const int64_t facts[] = {(int64_t)folder, S_ISDIR(st->st_mode) ? 0 : st->st_size, st->st_mode,
                             S_ISDIR(st->st_mode) ? 0 : st->st_mtim.tv_sec,
                             S_ISDIR(st->st_mode) ? 0 : st->st_mtim.tv_nsec};

    return str_hash(str_of(name)) ^
           str_hash(str_make((const char *)facts, sizeof(facts))) * 0x9e3779b97f4a7c15U;
}

/* Independent of the order of the listing. Whiteouts are ignored: in a new folder they hide
 * nothing. */
static void add_inside(int dir, uint64_t folder, int depth, struct effect_inside *ret)
{
    int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *list = fd >= 0 ? fdopendir(fd) : NULL;

    if (!list && fd >= 0)
        close(fd);
    while (list && depth < EFFECTS_MAX_DEPTH) {
        const struct dirent *e = readdir(list);
        struct stat st;
        uint64_t sum;
        int below;

        if (!e)
            break;
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0 ||
            fstatat(dirfd(list), e->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0 || is_whiteout(&st))
            continue;
        sum = sum_one(e->d_name, folder, &st);
        ret->sum += sum;
        if (!S_ISDIR(st.st_mode)) {
            ret->files++;
            continue;
        }
        below = openat(dirfd(list), e->d_name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (below >= 0) {
            add_inside(below, sum, depth + 1, ret);
            close(below);
        }
    }
    if (list)
        closedir(list);
}

void effects_look_inside(const char *path, struct effect_inside *ret)
{
    CLEANUP(fd_closep) int fd = open(path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

    *ret = (struct effect_inside){0};
    if (fd >= 0)
        add_inside(fd, /*folder=*/0, /*depth=*/0, ret);
}

static bool each_below(const char *dir, int depth, effects_gone_fn fn, void *arg)
{
    DIR *list = depth < EFFECTS_MAX_DEPTH ? opendir(dir) : NULL;
    bool goes_on = true;

    for (const struct dirent *e = list ? readdir(list) : NULL; e && goes_on; e = readdir(list)) {
        CLEANUP(mem_freep) char *path = NULL;

        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
            continue;
        path = path_join(dir, e->d_name);
        goes_on = fn(arg, path) &&
                  (!(e->d_type == DT_DIR || (e->d_type == DT_UNKNOWN && file_is_dir(path))) ||
                   each_below(path, depth + 1, fn, arg));
    }
    if (list)
        closedir(list);
    return goes_on;
}

void effects_each_gone(const struct effect *e, effects_gone_fn fn, void *arg)
{
    if (S_ISDIR(e->was.st_mode) && !S_ISDIR(e->now.st_mode))
        (void)each_below(e->path, /*depth=*/0, fn, arg);
}

static bool is_plain(const struct stat *st)
{
    return !st->st_mode || S_ISREG(st->st_mode) || S_ISDIR(st->st_mode);
}

static bool determines_programs(const struct effect *e)
{
    bool is_same_kind = !e->was.st_mode || !e->now.st_mode ||
                        (e->was.st_mode & S_IFMT) == (e->now.st_mode & S_IFMT);

    return protected_path(str_of(e->path)) &&
           !(is_plain(&e->was) && is_plain(&e->now) && is_same_kind &&
             protected_is_git_data(str_of(e->path), e->change == EFFECT_DELETED));
}

/* An effects_gone_fn. */
static bool see_protected(void *arg, const char *path)
{
    struct effect *e = arg;

    e->is_protected =
        protected_path(str_of(path)) && !protected_is_git_data(str_of(path), /*goes=*/true);
    return !e->is_protected;
}

/* ---- the walk ---- */

static int add_effect(struct effects_finder *f, enum effect_change change, const char *path,
                      const char *upper, const struct stat *was, const struct stat *now,
                      struct err *err)
{
    struct effect *e;

    if (change != EFFECT_DELETED && is_optional(str_of(path))) {
        f->to->optional++;
        return 0;
    }
    if (f->to->list.len >= EFFECTS_MAX)
        return err_set(err, ERR_TOO_BIG, "it changes more than %zu files", EFFECTS_MAX);
    if (now && (S_ISBLK(now->st_mode) || S_ISCHR(now->st_mode)))
        return err_set(err, ERR_UNSUPPORTED, "it makes the device '%s'", path);
    e = vec_add(&f->to->list);
    *e = (struct effect){.change = change,
                         .path = mem_dup(path, strlen(path)),
                         .upper = upper ? mem_dup(upper, strlen(upper)) : NULL};
    if (was)
        e->was = *was;
    if (now)
        e->now = *now;
    e->is_protected = determines_programs(e);
    if (was && S_ISDIR(was->st_mode) && (!now || !S_ISDIR(now->st_mode)))
        effects_look_inside(path, &e->inside);
    if (!e->is_protected)
        effects_each_gone(e, see_protected, e);
    return 0;
}

/* A file that is not a folder, and the previous one, or NULL. */
static int find_file(struct effects_finder *f, const char *path, const char *upper,
                     const struct stat *was, const struct stat *now, struct err *err)
{
    if (!was || (was->st_mode & S_IFMT) != (now->st_mode & S_IFMT))
        return add_effect(f, EFFECT_CREATED, path, upper, was, now, err);
    if (is_refresh(path, upper, was, now)) {
        f->to->optional++;
        return 0;
    }
    if (!effects_is_same_file(upper, path, now, was))
        return add_effect(f, EFFECT_MODIFIED, path, upper, was, now, err);
    if (!is_same_owner(was, now))
        return add_effect(f, EFFECT_MODE, path, upper, was, now, err);
    if (S_ISREG(now->st_mode) && !is_same_time(was, now))
        return add_effect(f, EFFECT_TOUCHED, path, upper, was, now, err);
    return 0;
}

static int find_in_folder(struct effects_finder *f, const char *path, const char *upper,
                          bool is_new, struct err *err);

static int find_folder(struct effects_finder *f, const char *path, const char *upper,
                       const struct stat *was, const struct stat *now, struct err *err)
{
    bool is_new = !was || !S_ISDIR(was->st_mode);

    if (is_elsewhere(upper))
        return err_set(err, ERR_UNSUPPORTED, "the changes of '%s' cannot be determined", path);
    if (is_new && add_effect(f, EFFECT_CREATED, path, upper, was, now, err) < 0)
        return -1;
    if (!is_new && !is_same_owner(was, now) &&
        add_effect(f, EFFECT_MODE, path, upper, was, now, err) < 0)
        return -1;
    return find_in_folder(f, path, upper, is_new, err);
}

static int find_one(struct effects_finder *f, const char *path, const char *upper, bool is_new,
                    struct err *err)
{
    struct stat was_there;
    struct stat now;
    const struct stat *was = !is_new && lstat(path, &was_there) == 0 ? &was_there : NULL;

    if (lstat(upper, &now) < 0)
        return err_sys(err, ERR_IO, "cannot look at '%s'", upper);
    if (is_whiteout(&now))
        return was ? add_effect(f, EFFECT_DELETED, path, NULL, was, NULL, err) : 0;
    if (S_ISDIR(now.st_mode))
        return find_folder(f, path, upper, was, &now, err);
    return find_file(f, path, upper, was, &now, err);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static int list_folder(const char *path, struct strv *ret, struct err *err)
{
    DIR *list = opendir(path);

    if (!list && errno == EACCES &&
        chmod(path, 0700) == 0) /* it is ours, whatever mode the job has set */
        list = opendir(path);
    if (!list)
        return err_sys(err, ERR_IO, "cannot list '%s'", path);
    for (const struct dirent *e = readdir(list); e; e = readdir(list)) {
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
            strv_adds(ret, e->d_name);
    }
    closedir(list);
    if (ret->len)
        qsort(ret->ptr, ret->len, sizeof(*ret->ptr), by_name);
    return 0;
}

/* A folder that was removed and created again: files missing in the new one are deleted. */
static int find_hidden(struct effects_finder *f, const char *path, const char *upper,
                       struct err *err)
{
    CLEANUP(strv_release) struct strv names = STRV_INIT;

    if (list_folder(path, &names, err) < 0)
        return -1;
    for (size_t i = 0; i < names.len; i++) {
        CLEANUP(mem_freep) char *inner = path_join(path, names.ptr[i]);
        CLEANUP(mem_freep) char *new = path_join(upper, names.ptr[i]);
        struct stat was;
        struct stat now;

        if (lstat(new, &now) < 0 && lstat(inner, &was) == 0 &&
            add_effect(f, EFFECT_DELETED, inner, NULL, &was, NULL, err) < 0)
            return -1;
    }
    return 0;
}

static int find_in_folder(struct effects_finder *f, const char *path, const char *upper,
                          bool is_new, struct err *err)
{
    CLEANUP(strv_release) struct strv names = STRV_INIT;
    bool hides = is_opaque(upper);
    int rc = 0;

    if (f->depth >= EFFECTS_MAX_DEPTH)
        return err_set(err, ERR_TOO_BIG, "'%s' is too deep", path);
    if (cancel_check(f->cancel, err) < 0 || list_folder(upper, &names, err) < 0)
        return -1;
    f->depth++;
    if (hides && !is_new)
        rc = find_hidden(f, path, upper, err);
    for (size_t i = 0; rc == 0 && i < names.len; i++) {
        CLEANUP(mem_freep) char *inner = path_join(path, names.ptr[i]);
        CLEANUP(mem_freep) char *inner_upper = path_join(upper, names.ptr[i]);

        rc = find_one(f, inner, inner_upper, is_new, err);
    }
    f->depth--;
    return rc;
}

/* ---- renames ---- */

static bool is_moved_file(struct effects_finder *f, const struct effect *new,
                          const struct effect *old)
{
    if (old->was.st_size != new->now.st_size || f->compared > EFFECTS_MAX_COMPARED)
        return false;
    f->compared += new->now.st_size;
    return has_same_content(new->upper, old->path);
}

static bool is_moved_folder(const struct effect *new, const struct effect *old)
{
    struct effect_inside inside;

    if (!old->inside.files)
        return false;
    effects_look_inside(new->upper, &inside);
    return inside.files == old->inside.files && inside.sum == old->inside.sum;
}

static bool is_moved(struct effects_finder *f, const struct effect *new, const struct effect *old)
{
    if ((new->now.st_mode &S_IFMT) != (old->was.st_mode & S_IFMT) || old->is_told_elsewhere)
        return false;
    if (S_ISREG(new->now.st_mode))
        return new->now.st_size > 0 && is_moved_file(f, new, old);
    if (S_ISDIR(new->now.st_mode))
        return is_moved_folder(new, old);
    return S_ISLNK(new->now.st_mode) && has_same_target(new->upper, old->path);
}

static bool is_below(const char *path, const char *dir)
{
    size_t len = strlen(dir);

    return strncmp(path, dir, len) == 0 && path[len] == '/';
}

/* A file deleted here and created there is reported as one rename. Compares sizes first. */
static void find_renames(struct effects_finder *f)
{
    struct effects *all = f->to;
    CLEANUP(map_release) struct map sizes = MAP_INIT; /* size → the first deleted file with it */
    CLEANUP(mem_freep) size_t *next = mem_zalloc((all->list.len + 1) * sizeof(*next));

    for (size_t i = all->list.len; i-- > 0;) {
        const struct effect *e = &all->list.ptr[i];
        int64_t key[2] = {S_ISDIR(e->was.st_mode) ? (int64_t)e->inside.sum : e->was.st_size,
                          e->was.st_mode & S_IFMT};
        size_t *before;

        if (e->change != EFFECT_DELETED)
            continue;
        before = map_set(&sizes, str_make((const char *)key, sizeof(key)), &next[i]);
        next[i] = before ? (size_t)(before - next) + 1 : 0;
    }
    for (size_t i = 0; sizes.len && i < all->list.len; i++) {
        struct effect *e = &all->list.ptr[i];
        struct effect_inside inside = {0};
        int64_t key[2] = {e->now.st_size, e->now.st_mode & S_IFMT};
        size_t *at;
        int tries = 0;

        if (e->change != EFFECT_CREATED || e->was.st_mode || e->is_told_elsewhere)
            continue;
        if (S_ISDIR(e->now.st_mode)) {
            effects_look_inside(e->upper, &inside);
            key[0] = (int64_t)inside.sum;
        }
        at = map_get(&sizes, str_make((const char *)key, sizeof(key)));
        for (; at && tries < EFFECTS_CANDIDATES; at = *at ? &next[*at - 1] : NULL, tries++) {
            struct effect *old = &all->list.ptr[at - next];

            if (!is_moved(f, e, old))
                continue;
            e->from = mem_dup(old->path, strlen(old->path));
            old->is_told_elsewhere = true;
            for (size_t k = i + 1; S_ISDIR(e->now.st_mode) && k < all->list.len &&
                                   is_below(all->list.ptr[k].path, e->path);
                 k++)
                all->list.ptr[k].is_told_elsewhere = true;
            break;
        }
    }
}

/* ---- all of it ---- */

int effects_find(const struct effects_layer *layers, size_t count, struct cancel *cancel,
                 struct effects *ret, struct err *err)
{
    struct effects_finder f = {.to = ret, .cancel = cancel};

    for (size_t i = 0; i < count; i++) {
        struct stat was;
        struct stat now;

        vec_push(&ret->layers, ((struct effects_layer){
                                   .at = mem_dup(layers[i].at, strlen(layers[i].at)),
                                   .upper = mem_dup(layers[i].upper, strlen(layers[i].upper))}));
        if (lstat(layers[i].at, &was) < 0 || lstat(layers[i].upper, &now) < 0)
            return err_sys(err, ERR_IO, "cannot look at '%s'", layers[i].at);
        if (find_folder(&f, layers[i].at, layers[i].upper, &was, &now, err) < 0)
            return -1;
    }
    find_renames(&f);
    return 0;
}
