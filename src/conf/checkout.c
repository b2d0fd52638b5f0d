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

/* dir/.git is a file. A worktree's names a folder with a `commondir`; a submodule's has none. */
static const char *checkout_follow(struct arena *arena, const char *dir)
{
    CLEANUP(mem_freep) char *gitdir = checkout_read_line(dir, ".git", STR("gitdir:"));
    CLEANUP(mem_freep) char *linked = path_join(dir, gitdir);
    CLEANUP(mem_freep) char *commondir = checkout_read_line(linked, "commondir", STR(""));
    CLEANUP(mem_freep) char *common = path_join(linked, commondir);
    CLEANUP(mem_freep) char *real = NULL;

    if (!*gitdir)
        return NULL;
    if (!*commondir)
        return arena_cstr(arena, str_of(dir));
    real = realpath(common, NULL);
    if (real && strcmp(path_base(real), ".git") == 0) {
        CLEANUP(mem_freep) char *main_checkout = path_dirname(real);

        return arena_cstr(arena, str_of(main_checkout));
    }
    return arena_cstr(arena, str_of(dir));
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
