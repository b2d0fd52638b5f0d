/*
 * git_head: HEAD is a file; it names a commit, or a ref that is a file too, or a line of
 * packed-refs. Any thread.
 */
#include "goal/git_head.h"

#include <string.h>

#include "base/err.h"
#include "base/file.h"
#include "goal/git.h"

#define HEAD_MAX_LINE 4096
#define HEAD_MAX_PACKED ((size_t)16 << 20)

void git_head_release(struct git_head *h)
{
    mem_freep(&h->git_dir);
    mem_freep(&h->common);
}

int git_head_find(const struct git *g, struct git_head *ret, struct err *err)
{
    static const char *const args[] = {"rev-parse", "--path-format=absolute", "--git-dir",
                                       "--git-common-dir", NULL};
    CLEANUP(buf_release) struct buf out = {0};
    struct err why = {0};
    struct str rest;
    struct str git_dir;
    struct str common;

    if (git_ask(g, args, STR(""), HEAD_MAX_LINE * 2, &out, &why) < 0) {
        if (why.code != ERR_CANCELLED)
            return 0;
        if (err)
            *err = why;
        return -1;
    }
    rest = buf_str(&out);
    if (str_cut(&rest, '\n', &git_dir) && str_cut(&rest, '\n', &common)) {
        ret->git_dir = mem_dup(git_dir.ptr, git_dir.len);
        ret->common = mem_dup(common.ptr, common.len);
    }
    return 0;
}

static bool read_line(const char *folder, struct str name, struct buf *ret)
{
    CLEANUP(mem_freep) char *relative = mem_dup(name.ptr, name.len);
    CLEANUP(mem_freep) char *path = path_join(folder, relative);
    CLEANUP(buf_release) struct buf text = {0};

    if (file_slurp(path, HEAD_MAX_LINE, &text, NULL) < 0)
        return false;
    buf_clear(ret);
    buf_add(ret, str_trim(buf_str(&text)));
    return true;
}

static bool read_packed(const char *common, struct str ref, struct buf *ret)
{
    CLEANUP(mem_freep) char *path = path_join(common, "packed-refs");
    CLEANUP(buf_release) struct buf text = {0};
    CLEANUP(buf_release) struct buf want = BUF_INIT(BUF_NO_LIMIT);
    struct str all;
    size_t at;
    size_t start;

    if (file_slurp(path, HEAD_MAX_PACKED, &text, NULL) < 0)
        return false;
    buf_addf(&want, " %.*s\n", STR_ARG(ref));
    all = buf_str(&text);
    at = str_find(all, buf_str(&want));
    if (at == all.len)
        return false;
    for (start = at; start > 0 && all.ptr[start - 1] != '\n';)
        start--;
    buf_clear(ret);
    buf_add(ret, str_make(all.ptr + start, at - start));
    return true;
}

/* Asked by name: refs in tables, refs that name others. */
static void ask_git(const struct git *g, struct buf *ret)
{
    static const char *const args[] = {"rev-parse", "--quiet", "--verify", "HEAD", NULL};
    CLEANUP(buf_release) struct buf out = {0};

    if (git_ask(g, args, STR(""), HEAD_MAX_LINE, &out, NULL) == 0) {
        buf_clear(ret);
        buf_add(ret, str_trim(buf_str(&out)));
    }
}

void git_head_read(const struct git_head *h, const struct git *g, struct buf *ret)
{
    CLEANUP(buf_release) struct buf head = BUF_INIT(HEAD_MAX_LINE);
    struct str ref;

    buf_clear(ret);
    if (!h->git_dir || !read_line(h->git_dir, STR("HEAD"), &head))
        return;
    buf_add(ret, buf_str(&head));
    if (!str_starts(buf_str(&head), STR("ref: ")))
        return;
    ref = str_from(buf_str(&head), 5);
    if (str_ends(ref, STR("/.invalid")) || str_has(ref, STR(".."))) {
        ask_git(g, ret);
        return;
    }
    if (!read_line(h->common, ref, ret) && !read_packed(h->common, ref, ret))
        return; /* a branch without a commit: its name stands for it */
    if (str_starts(buf_str(ret), STR("ref:")))
        ask_git(g, ret);
}
