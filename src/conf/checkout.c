/*
 * checkout: one lstat() per folder on the way up. Looking for .git/HEAD tells the three cases
 * apart: there (a checkout), not there (go on up), not a directory (.git is a file that names the
 * real place, as in worktrees and submodules). Any thread.
 */
#include "conf/checkout.h"

#include <errno.h>
#include <sys/stat.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/file.h"
#include "base/mem.h"

#define CHECKOUT_MAX_LINK 8192 /* bytes of a .git file */

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

/* Anybody can write a .git that names any repository; one that is meant knows the worktree: the
 * folder it keeps for it names dir/.git. By the folder, because a link or another name of that file
 * would do for the file. */
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

/* Whoever may write in dir has perhaps made all that is in it. */
static bool checkout_is_inside(const char *root, const char *dir)
{
    CLEANUP(mem_freep) char *real = realpath(dir, NULL);
    size_t len = real ? strlen(real) : 0;

    return !real || (strncmp(root, real, len) == 0 && root[len] == '/');
}

/* The main checkout of the worktree dir, whose .git names `linked`; NULL: there is none, or nothing
 * but dir says so. */
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
