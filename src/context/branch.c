/*
 * branch: .git/HEAD and a few refs, each a small file. In a worktree or a submodule .git is a file
 * that names the folder; a worktree's refs are in the common folder of all of them. Any thread.
 */
#include "context/branch.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/str.h"

#define BRANCH_MAX_LINE 4096 /* of HEAD and similar files */
#define BRANCH_MAX_CONFIG ((size_t)1 << 20)
#define BRANCH_MAX_PACKED ((size_t)8 << 20) /* of packed-refs */

void branch_release(struct branch *b)
{
    mem_freep(&b->tree);
    mem_freep(&b->git);
    mem_freep(&b->common);
    mem_freep(&b->current);
    mem_freep(&b->commit);
    mem_freep(&b->main_name);
}

/* The line of a one-line file after its prefix, or NULL. */
static char *branch_read(const char *folder, const char *name, struct str prefix)
{
    CLEANUP(mem_freep) char *path = path_join(folder, name);
    CLEANUP(buf_release) struct buf text = {0};
    struct str line;

    if (file_slurp(path, BRANCH_MAX_LINE, &text, NULL) < 0)
        return NULL;
    line = str_first(buf_str(&text), str_chr(buf_str(&text), '\n'));
    if (!str_starts(line, prefix) || str_chr(line, '\0') < line.len)
        return NULL;
    line = str_trim(str_from(line, prefix.len));
    return line.len ? mem_dup(line.ptr, line.len) : NULL;
}

/* Whether the file is that prefix and value and nothing else, so that git reads the same out of it.
 */
static bool branch_is_plain(const char *folder, const char *name, struct str prefix,
                            const char *value)
{
    CLEANUP(mem_freep) char *path = path_join(folder, name);
    CLEANUP(buf_release) struct buf text = {0};
    struct str rest;

    if (!value || file_slurp(path, BRANCH_MAX_LINE, &text, NULL) < 0 ||
        !str_starts(buf_str(&text), prefix))
        return false;
    rest = str_from(buf_str(&text), prefix.len);
    if (str_ends(rest, STR("\n")))
        rest = str_first(rest, rest.len - 1);
    return str_eq(rest, str_of(value));
}

/* 0: it is there; a link counts, wherever it leads, and so does what may not be looked at. Else
 * ENOENT, or ENOTDIR when the folder is a file. */
static int why_not_there(const char *folder, const char *name)
{
    CLEANUP(mem_freep) char *path = path_join(folder, name);
    struct stat st;

    if (lstat(path, &st) == 0 || (errno != ENOENT && errno != ENOTDIR))
        return 0;
    return errno;
}

/* The .git that serves dir, with is_odd; false: there is none. */
static bool branch_place(const char *dir, struct branch *b)
{
    CLEANUP(mem_freep) char *at = mem_dup(dir, strlen(dir));

    for (;;) {
        CLEANUP(mem_freep) char *git = path_join(at, ".git");
        CLEANUP(mem_freep) char *linked = NULL;
        int why = why_not_there(git, "HEAD");
        char *up;

        if (!why) {
            b->git = TAKE_PTR(git);
            b->tree = TAKE_PTR(at);
            return true;
        }
        if (why == ENOTDIR)
            linked = branch_read(at, ".git", STR("gitdir:"));
        if (linked) {
            b->is_odd = !branch_is_plain(at, ".git", STR("gitdir: "), linked);
            b->git = path_join(at, linked);
            b->tree = TAKE_PTR(at);
            return true;
        }
        if (strcmp(at, "/") == 0)
            return false;
        up = path_dirname(at);
        mem_freep(&at);
        at = up;
    }
}

/* git checks this for a repository that it finds, but not for one given to it. */
static bool is_own_folder(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == geteuid();
}

/* Whether refs/heads/<name> is there, loose or packed. */
static bool branch_is_there(const char *common, struct str packed, const char *name)
{
    CLEANUP(buf_release) struct buf ref = BUF_INIT(BUF_NO_LIMIT);
    CLEANUP(mem_freep) char *path = NULL;

    buf_addf(&ref, "refs/heads/%s", name);
    path = path_join(common, buf_cstr(&ref));
    if (file_exists(path))
        return true;
    buf_insert(&ref, 0, STR(" "));
    buf_addc(&ref, '\n');
    return str_has(packed, buf_str(&ref));
}

static char *branch_main(const char *common)
{
    static const char *const usual[] = {"main", "master", "trunk"};
    CLEANUP(mem_freep) char *path = path_join(common, "packed-refs");
    CLEANUP(buf_release) struct buf packed = {0};
    char *name = branch_read(common, "refs/remotes/origin/HEAD", STR("ref: refs/remotes/origin/"));

    if (name)
        return name;
    file_slurp(path, BRANCH_MAX_PACKED, &packed, NULL);
    for (size_t i = 0; i < ARRAY_LEN(usual); i++)
        if (branch_is_there(common, buf_str(&packed), usual[i]))
            return mem_dup(usual[i], strlen(usual[i]));
    return NULL;
}

/* A section of either kind; a file that cannot be read whole is taken for one. */
static bool branch_names_filters(const char *folder, const char *name)
{
    CLEANUP(mem_freep) char *path = path_join(folder, name);
    CLEANUP(buf_release) struct buf text = {0};
    struct err err = {0};

    if (!file_exists(path))
        return false;
    return file_slurp(path, BRANCH_MAX_CONFIG, &text, &err) < 0 ||
           str_find_nocase(buf_str(&text), STR("[filter")) < text.len ||
           str_find_nocase(buf_str(&text), STR("[include")) < text.len;
}

static char *branch_head(const char *git)
{
    char *name = branch_read(git, "HEAD", STR("ref: refs/heads/"));

    if (name && strcmp(name, ".invalid") == 0) /* reftable's stand-in */
        mem_freep(&name);
    return name;
}

static bool is_commit(struct str name)
{
    for (size_t i = 0; i < name.len; i++) {
        if (!strchr("0123456789abcdef", name.ptr[i]) || !name.ptr[i])
            return false;
    }
    return name.len == 40 || name.len == 64;
}

/* "<commit> refs/heads/<name>", a line. */
static char *branch_packed_commit(const char *common, const char *name)
{
    CLEANUP(mem_freep) char *path = path_join(common, "packed-refs");
    CLEANUP(buf_release) struct buf packed = {0};
    CLEANUP(buf_release) struct buf ref = BUF_INIT(BUF_NO_LIMIT);
    struct str rest;
    struct str line;

    if (file_slurp(path, BRANCH_MAX_PACKED, &packed, NULL) < 0)
        return NULL;
    buf_addf(&ref, " refs/heads/%s", name);
    rest = buf_str(&packed);
    while (str_cut(&rest, '\n', &line)) {
        if (str_ends(line, buf_str(&ref)) && is_commit(str_first(line, line.len - ref.len)))
            return mem_dup(line.ptr, line.len - ref.len);
    }
    return NULL;
}

static char *branch_commit(const char *git, const char *common, const char *current)
{
    CLEANUP(buf_release) struct buf ref = BUF_INIT(BUF_NO_LIMIT);
    CLEANUP(mem_freep) char *commit = NULL;

    buf_addf(&ref, "refs/heads/%s", current ? current : "");
    commit =
        current ? branch_read(common, buf_cstr(&ref), STR("")) : branch_read(git, "HEAD", STR(""));
    if (commit && is_commit(str_of(commit)))
        return TAKE_PTR(commit);
    return current && !commit ? branch_packed_commit(common, current) : NULL;
}

char *branch_current(const char *dir)
{
    CLEANUP(branch_release) struct branch b = {0};

    return branch_place(dir, &b) ? branch_head(b.git) : NULL;
}

void branch_find(const char *dir, struct branch *ret)
{
    const char *common;

    *ret = (struct branch){0};
    ret->is_repo = branch_place(dir, ret);
    if (!ret->is_repo)
        return;
    if (!why_not_there(ret->git, "commondir")) {
        CLEANUP(mem_freep) char *link = branch_read(ret->git, "commondir", STR(""));

        ret->is_odd |= !branch_is_plain(ret->git, "commondir", STR(""), link);
        ret->common = path_join(ret->git, link ? link : ".");
    }
    common = ret->common ? ret->common : ret->git;
    ret->current = branch_head(ret->git);
    ret->commit = branch_commit(ret->git, common, ret->current);
    ret->main_name = branch_main(common);
    ret->is_odd |= !is_own_folder(ret->tree) || !is_own_folder(ret->git) || !is_own_folder(common);
    ret->has_filters =
        branch_names_filters(common, "config") || branch_names_filters(ret->git, "config.worktree");
}
