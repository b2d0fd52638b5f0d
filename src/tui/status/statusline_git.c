/*
 * statusline_git: .git/HEAD, .git/config, and for a linked worktree the file .git that names its
 * place. Any thread.
 */
#include "tui/status/statusline_git.h"

#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/file.h"
#include "base/mem.h"
#include "conf/checkout.h"

#define MAX_SMALL 8192
#define MAX_CONFIG ((size_t)1 << 20)

static struct str read_small(struct arena *arena, const char *dir, const char *name, size_t max)
{
    CLEANUP(mem_freep) char *path = path_join(dir, name);
    CLEANUP(buf_release) struct buf text = {0};

    if (file_slurp(path, max, &text, NULL) < 0)
        return STR("");
    return str_trim(arena_str(arena, buf_str(&text)));
}

static struct str behind(struct str line, struct str prefix)
{
    return str_starts(line, prefix) ? str_trim(str_from(line, prefix.len)) : STR("");
}

/* gitdir: the folder with HEAD. */
static struct str read_branch(struct arena *arena, const char *gitdir)
{
    return behind(read_small(arena, gitdir, "HEAD", MAX_SMALL), STR("ref: refs/heads/"));
}

bool statusline_remote(struct str url, struct statusline_git *ret)
{
    size_t scheme = str_find(url, STR("://"));
    struct str rest = scheme < url.len ? str_from(url, scheme + 3) : url;
    size_t slash = str_chr(rest, '/');
    size_t at = str_chr(str_first(rest, slash), '@');
    struct str path;
    size_t last;

    if (at < slash && at < rest.len)
        rest = str_from(rest, at + 1);
    if (scheme < url.len) {
        struct str host = str_first(rest, str_chr(rest, '/'));

        path = str_from(rest, host.len + 1);
        ret->host = str_first(host, str_chr(host, ':'));
    } else {
        ret->host = str_first(rest, str_chr(rest, ':')); /* host:path, as ssh has it */
        path = str_from(rest, ret->host.len + 1);
    }
    while (str_ends(path, STR("/")))
        path.len--;
    if (str_ends(path, STR(".git")))
        path.len -= 4;
    for (last = path.len; last && path.ptr[last - 1] != '/'; last--)
        ;
    ret->name = str_from(path, last);
    ret->owner = str_first(path, last ? last - 1 : 0);
    while (str_starts(ret->owner, STR("/")))
        ret->owner = str_from(ret->owner, 1);
    return ret->host.len && str_chr(ret->host, '/') == ret->host.len && ret->owner.len &&
           ret->name.len;
}

static void read_remote(struct arena *arena, const char *main_gitdir, struct statusline_git *ret)
{
    struct str rest = read_small(arena, main_gitdir, "config", MAX_CONFIG);
    struct statusline_git found = {0};
    bool is_origin = false;
    struct str line;

    while (str_cut(&rest, '\n', &line)) {
        struct str key;

        line = str_trim(line);
        if (str_starts(line, STR("[")))
            is_origin = str_is(line, "[remote \"origin\"]");
        key = str_trim(str_first(line, str_chr(line, '=')));
        if (!is_origin || !str_is(key, "url"))
            continue;
        line = str_trim(str_from(line, str_chr(line, '=') + 1));
        if (statusline_remote(line, &found)) {
            ret->host = found.host;
            ret->owner = found.owner;
            ret->name = found.name;
        }
        return;
    }
}

/* The folder at or above dir that has a .git. */
static const char *find_top(struct arena *arena, const char *dir)
{
    struct str at = str_of(dir);

    for (;;) {
        const char *here = arena_cstr(arena, at.len ? at : STR("/"));
        CLEANUP(mem_freep) char *git = path_join(here, ".git");
        struct stat st;

        if (stat(git, &st) == 0)
            return here;
        if (at.len <= 1)
            return NULL;
        while (at.len > 1 && at.ptr[at.len - 1] != '/')
            at.len--;
        at.len -= at.len > 1;
    }
}

void statusline_git(struct arena *arena, const char *dir, struct statusline_git *ret)
{
    const char *main_top = checkout_root(arena, dir);
    const char *top = find_top(arena, dir);
    CLEANUP(mem_freep) char *main_gitdir = NULL;
    CLEANUP(mem_freep) char *gitdir = NULL;
    struct str link;

    *ret = (struct statusline_git){0};
    if (!main_top || !top)
        return;
    main_gitdir = path_join(main_top, ".git");
    ret->top = str_of(top);
    link = behind(read_small(arena, top, ".git", MAX_SMALL), STR("gitdir:"));
    if (link.len)
        gitdir = path_join(top, arena_cstr(arena, link));
    ret->branch = read_branch(arena, gitdir ? gitdir : main_gitdir);
    if (gitdir && strcmp(top, main_top) != 0) {
        ret->worktree = str_of(arena_cstr(arena, str_of(path_base(gitdir))));
        ret->main_top = str_of(main_top);
        ret->main_branch = read_branch(arena, main_gitdir);
    }
    read_remote(arena, main_gitdir, ret);
}
