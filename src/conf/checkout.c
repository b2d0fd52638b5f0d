/*
 * checkout: one lstat() per folder on the way up. Looking for .git/HEAD tells the three cases
 * apart: there (a checkout), not there (continue upwards), not a directory (.git is a file that
 * names the real place, as in worktrees and submodules). The index lists tracked files. Any thread.
 */
#include "conf/checkout.h"

#include <errno.h>
#include <sys/stat.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/file.h"
#include "base/mem.h"

#define CHECKOUT_MAX_LINK 8192 /* bytes of a .git file */
#define INDEX_MAX ((size_t)256 << 20)
#define INDEX_HEAD 12
#define INDEX_MODE 24 /* in an entry */
#define INDEX_HASH 40 /* the same */
#define INDEX_EXTENDED 0x4000

/* The first line of a small file, without the prefix; "" when it is not there or
 * looks different. */
static char *checkout_read_line(const char *dir, const char *name, struct str prefix)
{
    CLEANUP(mem_freep) char *path = path_join(dir, name);
    CLEANUP(buf_release) struct buf text = {0};
    struct str line;

    if (file_slurp(path, CHECKOUT_MAX_LINK, &text, NULL) < 0)
        return mem_dup("", 0);
    line = str_first(buf_str(&text), str_chr(buf_str(&text), '\n'));
    if (!str_starts(line, prefix) || str_chr(line, '\0') != line.len)
        return mem_dup("", 0);
    line = str_trim(str_from(line, prefix.len));
    return mem_dup(line.ptr, line.len);
}

static bool checkout_is_same(const char *path, const char *other)
{
    CLEANUP(mem_freep) char *a = realpath(path, NULL);
    CLEANUP(mem_freep) char *b = realpath(other, NULL);

    return a && b && strcmp(a, b) == 0;
}

/* A .git may name any repository; a legitimate one knows the worktree: the folder it keeps for it
 * names dir/.git. By the folder, because a link or another name of that file would do for the
 * file. */
static bool checkout_is_known(const char *dir, const char *linked, const char *common)
{
    CLEANUP(mem_freep) char *name = checkout_read_line(linked, "gitdir", STR(""));
    CLEANUP(mem_freep) char *git = path_join(linked, name);
    CLEANUP(mem_freep) char *named_dir = path_dirname(git);
    CLEANUP(mem_freep) char *trees = path_join(common, "worktrees");
    CLEANUP(mem_freep) char *kept = realpath(linked, NULL);
    CLEANUP(mem_freep) char *kept_in = kept ? path_dirname(kept) : NULL;

    return *name && strcmp(path_base(git), ".git") == 0 && checkout_is_same(named_dir, dir) &&
           kept_in && checkout_is_same(kept_in, trees);
}

/* A program that may write in dir may have made everything in it. */
static bool checkout_is_inside(const char *root, const char *dir)
{
    CLEANUP(mem_freep) char *real = realpath(dir, NULL);
    size_t len = real ? strlen(real) : 0;

    return !real || (strncmp(root, real, len) == 0 && root[len] == '/');
}

/* The main checkout of the worktree dir, whose .git names `linked`; NULL: there is none, or only
 * dir claims it. */
static char *checkout_main(const char *dir, const char *linked, const char *commondir)
{
    CLEANUP(mem_freep) char *path = path_join(linked, commondir);
    CLEANUP(mem_freep) char *common = realpath(path, NULL);
    CLEANUP(mem_freep) char *root = common ? path_dirname(common) : NULL;
    char *found = NULL;

    if (root && strcmp(path_base(common), ".git") == 0 && !checkout_is_inside(root, dir) &&
        checkout_is_known(dir, linked, common)) {
        found = root;
        root = NULL;
    }
    return found;
}

/* dir/.git is a file. A worktree's names a folder with a `commondir`; a submodule's has none. */
static const char *checkout_follow(struct arena *arena, const char *dir)
{
    CLEANUP(mem_freep) char *gitdir = checkout_read_line(dir, ".git", STR("gitdir:"));
    CLEANUP(mem_freep) char *linked = path_join(dir, gitdir);
    CLEANUP(mem_freep) char *commondir = checkout_read_line(linked, "commondir", STR(""));
    CLEANUP(mem_freep) char *root = NULL;

    if (!*gitdir)
        return NULL;
    if (*commondir)
        root = checkout_main(dir, linked, commondir);
    return arena_cstr(arena, str_of(root ? root : dir));
}

const char *checkout_root(struct arena *arena, const char *dir)
{
    CLEANUP(buf_release) struct buf path = BUF_INIT(BUF_NO_LIMIT);
    struct str at = str_of(dir);

    for (;;) {
        struct stat st;

        while (at.len > 1 && at.ptr[at.len - 1] == '/')
            at.len--;
        buf_clear(&path);
        buf_addf(&path, "%.*s/.git/HEAD", STR_ARG(at));
        if (lstat(buf_cstr(&path), &st) == 0)
            return arena_cstr(arena, at);
        if (errno == ENOTDIR) {
            const char *here = arena_cstr(arena, at);
            const char *root = checkout_follow(arena, here);

            if (root)
                return root;
        }
        if (at.len <= 1)
            return NULL;
        while (at.len > 1 && at.ptr[at.len - 1] != '/')
            at.len--;
    }
}

/* ---- what git tracks ---- */

static uint32_t big32(const unsigned char *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

/* The number of bytes to drop from the name before (version 4); false: it does not end. */
static bool read_strip(const unsigned char **at, const unsigned char *end, size_t *ret)
{
    size_t n = 0;

    while (*at < end) {
        unsigned char c = *(*at)++;

        n = n << 7 | (c & 127);
        if (!(c & 128)) {
            *ret = n;
            return true;
        }
        n++;
        if (n > INDEX_MAX)
            break;
    }
    return false;
}

/* Of a file, a link, a folder or a submodule: hashes of another length would show. */
static bool index_is_mode(uint32_t mode)
{
    return mode == 0100644 || mode == 0100755 || mode == 0120000 || mode == 0040000 ||
           mode == 0160000;
}

/* The file itself, or a link, a submodule or a folder of a sparse index that it lies in. */
static bool index_is_on_the_way(struct str name, struct str want)
{
    while (name.len && name.ptr[name.len - 1] == '/')
        name.len--;
    return name.len && str_starts(want, name) &&
           (want.len == name.len || want.ptr[name.len] == '/');
}

/* 1: the index has the name, 0: it has not, -1: it cannot be read. */
static int index_has(struct str index, size_t hash, struct str want)
{
    const unsigned char *at = (const unsigned char *)index.ptr;
    const unsigned char *end = at + index.len;
    CLEANUP(buf_release) struct buf name = BUF_INIT(BUF_NO_LIMIT);
    size_t fixed = INDEX_HASH + hash + 2; /* of an entry, up to its name */
    uint32_t version, count;

    if (index.len < INDEX_HEAD || memcmp(at, "DIRC", 4) != 0)
        return -1;
    version = big32(at + 4);
    count = big32(at + 8);
    if (version < 2 || version > 4)
        return -1;
    at += INDEX_HEAD;
    for (uint32_t i = 0; i < count; i++) {
        const unsigned char *entry = at;
        const unsigned char *nul;
        size_t strip = name.len;

        if ((size_t)(end - at) < fixed + 3 || !index_is_mode(big32(at + INDEX_MODE)))
            return -1;
        at += fixed;
        if ((entry[fixed - 2] << 8 | entry[fixed - 1]) & INDEX_EXTENDED)
            at += 2;
        if (version == 4 && (!read_strip(&at, end, &strip) || strip > name.len))
            return -1;
        nul = memchr(at, 0, (size_t)(end - at));
        if (!nul)
            return -1;
        buf_cut(&name, name.len - strip, strip);
        buf_add(&name, str_make((const char *)at, (size_t)(nul - at)));
        if (index_is_on_the_way(buf_str(&name), want))
            return 1;
        at = version == 4 ? nul + 1 : entry + ((size_t)(nul - entry) / 8 + 1) * 8;
        if (at > end)
            return -1;
    }
    /* A split index has its entries elsewhere. */
    return str_find(str_make((const char *)at, (size_t)(end - at)), STR("link")) <
                   (size_t)(end - at)
               ? -1
               : 0;
}

/* Where the index of this checkout is: .git may be a file that names the place. */
static char *index_path(const char *root)
{
    CLEANUP(mem_freep) char *git = path_join(root, ".git");
    CLEANUP(buf_release) struct buf text = BUF_INIT(8192);
    CLEANUP(mem_freep) char *named = NULL;
    CLEANUP(mem_freep) char *folder = NULL;
    struct str line;

    if (file_is_dir(git) || file_slurp(git, 8192, &text, /*err=*/NULL) < 0)
        return path_join(git, "index");
    line = str_trim(buf_str(&text));
    if (!str_starts(line, STR("gitdir:")))
        return path_join(git, "index");
    line = str_trim(str_from(line, strlen("gitdir:")));
    named = mem_dup(line.ptr, line.len);
    folder = path_join(root, named);
    return path_join(folder, "index");
}

/* Of a path without "..", whose links are not followed. */
static bool index_tracks(const char *path)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    CLEANUP(mem_freep) char *dir = path_dirname(path);
    CLEANUP(buf_release) struct buf index = BUF_INIT(INDEX_MAX);
    CLEANUP(mem_freep) char *at = NULL;
    const char *root = checkout_root(&arena, dir);
    size_t len = root ? strlen(root) : 0;
    int has;

    if (!root || strncmp(path, root, len) != 0 || path[len] != '/')
        return false;
    at = index_path(root);
    if (!file_exists(at))
        return false; /* nothing was ever added */
    if (file_slurp(at, INDEX_MAX, &index, /*err=*/NULL) < 0)
        return true;
    has = index_has(buf_str(&index), /*hash=*/20, str_of(path + len + 1));
    if (has < 0)
        has = index_has(buf_str(&index), /*hash=*/32, str_of(path + len + 1));
    return has != 0;
}

bool checkout_tracks(const char *path)
{
    CLEANUP(mem_freep) char *real = realpath(path, NULL);

    return index_tracks(path) || (real && strcmp(real, path) != 0 && index_tracks(real));
}
