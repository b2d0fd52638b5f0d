/*
 * backups: a folder of files named by their contents. The time of a file is when it was last
 * stored, which alone decides which one is removed first. One thread at a time.
 */
#include "store/files/backups.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/file.h"
#include "base/vec.h"

struct kept {
    char name[SHA256_HEX + 1];
    uint64_t size;
    struct timespec used;
};

/* A VEC with a name. */
struct kept_list {
    struct kept *ptr;
    size_t len, cap;
};

void backups_init(struct backups *b, const char *dir, uint64_t max_bytes)
{
    *b = (struct backups){.dir = mem_dup(dir, strlen(dir)), .max_bytes = max_bytes};
}

void backups_release(struct backups *b)
{
    mem_freep(&b->dir);
}

static bool is_name(struct str name)
{
    if (name.len != SHA256_HEX)
        return false;
    for (size_t i = 0; i < name.len; i++) {
        if (!strchr("0123456789abcdef", name.ptr[i]))
            return false;
    }
    return true;
}

/* The files in the folder; none when there is no folder. */
static void backups_list(const char *dir, struct kept_list *ret)
{
    DIR *d = opendir(dir);

    for (struct dirent *e = d ? readdir(d) : NULL; e; e = readdir(d)) {
        struct stat st;
        struct kept *k;

        if (!is_name(str_of(e->d_name)) || fstatat(dirfd(d), e->d_name, &st, 0) < 0)
            continue;
        k = vec_add(ret);
        memcpy(k->name, e->d_name, sizeof(k->name));
        k->size = (uint64_t)st.st_size;
        k->used = st.st_mtim;
    }
    if (d)
        closedir(d);
}

static int by_use(const void *a, const void *b)
{
    const struct timespec *x = &((const struct kept *)a)->used;
    const struct timespec *y = &((const struct kept *)b)->used;

    if (x->tv_sec != y->tv_sec)
        return x->tv_sec < y->tv_sec ? -1 : 1;
    return (x->tv_nsec > y->tv_nsec) - (x->tv_nsec < y->tv_nsec);
}

static void backups_count(struct backups *b)
{
    struct kept_list all = VEC_INIT;

    if (b->is_counted)
        return;
    b->is_counted = true;
    backups_list(b->dir, &all);
    VEC_EACH(&all, k) {
        b->total += k->size;
    }
    vec_release(&all);
}

/* Until so much more fits. */
static void backups_make_room(struct backups *b, uint64_t bytes, size_t *ret_dropped)
{
    struct kept_list all = VEC_INIT;

    if (b->total + bytes <= b->max_bytes)
        return;
    backups_list(b->dir, &all);
    if (all.len)
        qsort(all.ptr, all.len, sizeof(*all.ptr), by_use);
    b->total = 0;
    VEC_EACH(&all, k) {
        b->total += k->size;
    }
    VEC_EACH(&all, k) {
        CLEANUP(mem_freep) char *path = NULL;

        if (b->total + bytes <= b->max_bytes)
            break;
        path = path_join(b->dir, k->name);
        if (unlink(path) < 0)
            continue;
        b->total -= k->size;
        ++*ret_dropped;
    }
    vec_release(&all);
}

int backups_put(struct backups *b, struct str bytes, const char *name, size_t *ret_dropped,
                struct err *err)
{
    CLEANUP(mem_freep) char *path = path_join(b->dir, name);
    struct stat st;

    *ret_dropped = 0;
    /* A damaged file with the same name and size is detected when it is read. */
    if (stat(path, &st) == 0 && (uint64_t)st.st_size == bytes.len) {
        (void)utimensat(AT_FDCWD, path, NULL, 0);
        return 0;
    }
    if (file_mkdirs(b->dir, 0700, err) < 0)
        return -1;
    backups_count(b);
    backups_make_room(b, bytes.len, ret_dropped);
    if (file_replace(path, bytes, 0600, err) < 0)
        return -1;
    b->total += bytes.len;
    return 0;
}

int backups_get(const char *dir, struct str name, size_t max_bytes, struct buf *ret,
                struct err *err)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(max_bytes);
    CLEANUP(mem_freep) char *path = NULL;
    char digest[SHA256_HEX + 1];

    /* Names come from a file that any program may have written. */
    if (!is_name(name))
        return err_set(err, ERR_NOT_FOUND, "it was not kept");
    memcpy(digest, name.ptr, SHA256_HEX);
    digest[SHA256_HEX] = '\0';
    path = path_join(dir, digest);
    if (file_slurp(path, max_bytes, &text, err) < 0)
        return -1;
    sha256_hex(buf_str(&text), digest);
    if (!str_is(name, digest))
        return err_set(err, ERR_IO, "'%s' is damaged", path);
    buf_move(ret, &text);
    return 0;
}

static int backups_copy_one(const char *from, const char *to, struct err *err)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(BUF_NO_LIMIT);

    if (link(from, to) == 0 || errno == EEXIST)
        return 0;
    if (file_slurp(from, BUF_NO_LIMIT, &text, err) < 0)
        return -1;
    return file_replace(to, buf_str(&text), 0600, err);
}

int backups_copy(const char *from, const char *to, struct err *err)
{
    struct kept_list all = VEC_INIT;
    int r = 0;

    backups_list(from, &all);
    if (all.len)
        r = file_mkdirs(to, 0700, err);
    for (size_t i = 0; r == 0 && i < all.len; i++) {
        CLEANUP(mem_freep) char *old = path_join(from, all.ptr[i].name);
        CLEANUP(mem_freep) char *new = path_join(to, all.ptr[i].name);

        r = backups_copy_one(old, new, err);
    }
    vec_release(&all);
    return r;
}
