/*
 * staging: copies of an index, `git add -A`, `git write-tree`. Any thread; waits for git.
 */
#include "goal/git/staging.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/file.h"
#include "guard/sandbox.h"

#define STAGING_MAX_NAME 200                /* of a setting in messages */
#define STAGING_PORTION ((size_t)256 << 10) /* of a copy */

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *at)
{
    (void)st;
    (void)type;
    (void)at;
    remove(path);
    return 0;
}

void staging_release(struct staging *s)
{
    if (s->room) /* and whatever a filter has left there */
        nftw(s->room, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
    mem_freep(&s->kept);
    mem_freep(&s->room);
    mem_freep(&s->work);
}

struct git staging_git(const struct baseline *b, int64_t deadline_ms, struct cancel *cancel)
{
    return (struct git){
        .dir = b->dir, .environ = b->environ, .deadline_ms = deadline_ms, .cancel = cancel};
}

/* ---- the private index ---- */

/* Its time goes with it: git takes a file as old as the index for one that may have changed. No
 * link is followed, because a command may have put it there, and what it leads to would be shown to
 * the next filter. */
static int copy_file(const char *from, int to, struct err *err)
{
    CLEANUP(fd_closep) int fd = open(from, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    CLEANUP(mem_freep) char *portion = mem_alloc(STAGING_PORTION);
    struct timespec times[2];
    struct stat st;

    if (fd < 0 || fstat(fd, &st) < 0)
        return err_sys(err, ERR_IO, "cannot open '%s'", from);
    if (!S_ISREG(st.st_mode))
        return err_set(err, ERR_IO, "'%s' is no index of git", from);
    for (;;) {
        ssize_t n = read(fd, portion, STAGING_PORTION);

        if (n < 0)
            return err_sys(err, ERR_IO, "cannot read '%s'", from);
        if (n == 0)
            break;
        if (fd_write_all(to, str_make(portion, (size_t)n), err) < 0)
            return -1;
    }
    times[0] = st.st_atim;
    times[1] = st.st_mtim;
    futimens(to, times);
    return 0;
}

int staging_ask_path(const struct git *g, const char *what, const char *more, struct buf *ret,
                     struct err *err)
{
    const char *const args[] = {"rev-parse", "--path-format=absolute", what, more, NULL};

    if (git_ask(g, args, STR(""), STAGING_SMALL, ret, err) < 0)
        return -1;
    if (ret->len && ret->ptr[ret->len - 1] == '\n')
        buf_cut(ret, ret->len - 1, 1);
    return 0;
}

static int staging_set(const struct git *g, const char *option, struct str paths, struct err *err)
{
    const char *const args[] = {"update-index", "-z", option, "--stdin", NULL};
    CLEANUP(buf_release) struct buf out = {0};

    return paths.len ? git_ask(g, args, paths, STAGING_SMALL, &out, err) : 0;
}

/* Takes away the marks that make git look past a file. Those of a sparse checkout stay where there
 * is no file. */
static int staging_unmark(const struct staging *s, const char *top, struct err *err)
{
    static const char *const args[] = {"ls-files", "-v", "-z", NULL};
    CLEANUP(buf_release) struct buf out = {0};
    CLEANUP(buf_release) struct buf assumed = BUF_INIT(STAGING_MAX_LIST);
    CLEANUP(buf_release) struct buf skipped = BUF_INIT(STAGING_MAX_LIST);
    struct git git = s->git;
    struct str rest;
    struct str line;

    git.dir = top;
    if (git_ask(&git, args, STR(""), STAGING_MAX_LIST, &out, err) < 0)
        return -1;
    rest = buf_str(&out);
    while (rest.len && str_cut(&rest, '\0', &line)) {
        CLEANUP(mem_freep) char *path = NULL;

        if (line.len < 3 || line.ptr[0] == 'H')
            continue;
        path = path_join(top, line.ptr + 2); /* a NUL follows it */
        if (line.ptr[0] >= 'a' && line.ptr[0] <= 'z')
            buf_add(&assumed, str_make(line.ptr + 2, line.len - 1));
        if ((line.ptr[0] == 'S' || line.ptr[0] == 's') && access(path, F_OK) == 0)
            buf_add(&skipped, str_make(line.ptr + 2, line.len - 1));
    }
    if (staging_set(&git, "--no-assume-unchanged", buf_str(&assumed), err) < 0)
        return -1;
    return staging_set(&git, "--no-skip-worktree", buf_str(&skipped), err);
}

static int staging_from_user(struct staging *s, int to, struct err *err)
{
    CLEANUP(buf_release) struct buf top = {0};
    CLEANUP(buf_release) struct buf index = {0};
    struct git git = s->git;

    git.index = NULL;
    if (staging_ask_path(&git, "--show-toplevel", NULL, &top, err) < 0 ||
        staging_ask_path(&git, "--git-path", "index", &index, err) < 0)
        return -1;
    if (!file_exists(buf_cstr(&index))) {
        unlink(s->work); /* nothing was ever added; git takes an empty file for a broken one */
        return 0;
    }
    if (copy_file(buf_cstr(&index), to, err) < 0)
        return -1;
    return staging_unmark(s, buf_cstr(&top), err);
}

/* Filters are programs that git runs for the content of files. Those of the user's own settings are
 * theirs; those of the repository may be what a confined command has written, in a folder that had
 * no repository, and run as such a command does, or not at all. ret: the name of one; "": none. */
static int find_filter(const struct git *g, struct buf *ret, struct err *err)
{
    static const char *const args[] = {"config",       "--show-scope", "--name-only",
                                       "--get-regexp", "^filter\\.",   NULL};
    CLEANUP(git_said_release) struct git_said said = {0};
    struct str rest;
    struct str line;

    if (git_run(g, args, STR(""), STAGING_MAX_LIST, &said, err) < 0)
        return -1;
    if (said.code > 1 || said.cut)
        return git_failed(&said, "config", err);
    rest = buf_str(&said.out);
    while (!ret->len && str_cut(&rest, '\n', &line)) {
        struct str name = line;
        struct str scope;

        str_cut(&name, '\t', &scope);
        if (str_is(scope, "local") || str_is(scope, "worktree"))
            buf_add(ret, str_clip(name, STAGING_MAX_NAME));
    }
    return 0;
}

/* Whatever reads the index may run them, to see whether a file that is as old as it has changed. */
static int staging_confine(struct staging *s, const struct baseline *b, struct err *err)
{
    CLEANUP(buf_release) struct buf filter = BUF_INIT(STAGING_SMALL);

    s->git.sandbox = NULL;
    if (find_filter(&s->git, &filter, err) < 0)
        return -1;
    if (!filter.len)
        return 0;
    if (sandbox_state(b->sandbox) != SANDBOX_ON)
        return err_set(err, ERR_UNSUPPORTED,
                       "the repository's own settings have git run a program for the content of "
                       "files (%s), and there is no sandbox for it",
                       buf_cstr(&filter));
    s->git.sandbox = b->sandbox;
    return 0;
}

int staging_open(struct staging *s, const struct baseline *b, bool fresh, struct err *err)
{
    CLEANUP(fd_closep) int fd = -1;

    staging_release(s);
    if (file_mkdirs(b->folder, 0700, err) < 0)
        return -1;
    s->kept = path_join(b->folder, "goal.index");
    s->room = path_join(b->folder, "goal.index-XXXXXX");
    if (!mkdtemp(s->room)) {
        err_sys(err, ERR_IO, "cannot make '%s'", s->room);
        mem_freep(&s->room);
        return -1;
    }
    s->work = path_join(s->room, "index");
    fd = open(s->work, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return err_sys(err, ERR_IO, "cannot make '%s'", s->work);
    s->git.index = s->work;
    s->ours = !fresh && file_exists(s->kept);
    if (staging_confine(s, b, err) < 0)
        return -1;
    return s->ours ? copy_file(s->kept, fd, err) : staging_from_user(s, fd, err);
}

static int staging_add(const struct staging *s, const struct baseline *b, struct err *err)
{
    CLEANUP(buf_release) struct buf spare = BUF_INIT(BUF_NO_LIMIT);
    const char *args[] = {"add", "-A", "--ignore-errors", NULL, ":/", NULL, NULL};

    if (b->spare) {
        buf_addf(&spare, ":(exclude,literal)%s", b->spare);
        args[3] = "--";
        args[5] = buf_cstr(&spare);
    }
    return git_add(&s->git, args, err);
}

/* The work tree as it is now, in the index, and that as a tree. */
static int make_tree(struct staging *s, const struct baseline *b, bool fresh, char ret_tree[GIT_ID],
                     struct err *err)
{
    static const char *const write_tree[] = {"write-tree", NULL};

    if (staging_open(s, b, fresh, err) < 0 || staging_add(s, b, err) < 0 ||
        git_ask_hash(&s->git, write_tree, STR(""), ret_tree, err) < 0)
        return -1;
    return 0;
}

int staging_keep(const struct staging *s, struct err *err)
{
    struct stat st;

    if (lstat(s->work, &st) == 0 && !S_ISREG(st.st_mode))
        return err_set(err, ERR_IO, "a filter of the repository has replaced the index");
    if (rename(s->work, s->kept) < 0 && errno != ENOENT)
        return err_sys(err, ERR_IO, "cannot keep '%s'", s->kept);
    return 0;
}

int staging_tree(const struct baseline *b, int64_t deadline_ms, struct cancel *cancel,
                 char ret_tree[GIT_ID], struct err *err)
{
    CLEANUP(staging_release) struct staging s = {.git = staging_git(b, deadline_ms, cancel)};
    struct err why = {0};

    if (make_tree(&s, b, /*fresh=*/false, ret_tree, &why) == 0)
        return staging_keep(&s, err);
    /* What we had kept may be of no use any more: broken, or of objects that were cleaned up. */
    if (s.ours && why.code != ERR_CANCELLED && why.code != ERR_TIMEOUT &&
        why.code != ERR_UNSUPPORTED) {
        if (make_tree(&s, b, /*fresh=*/true, ret_tree, err) < 0)
            return -1;
        return staging_keep(&s, err);
    }
    if (err)
        *err = why;
    return -1;
}
