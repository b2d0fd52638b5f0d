/*
 * What Glob and Grep share: where they look, and what they say about what they did not see.
 */
#include "tools/search/search_root.h"

#include <errno.h>
#include <sys/stat.h>

#include "agent/tool.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"
#include "conf/conf.h"
#include "guard/workspace.h"
#include "tools/search/walk.h"
#include "tools/suggest.h"

int search_root(const struct tool_call *call, struct str path, bool files, struct search_root *ret,
                struct err *err)
{
    CLEANUP(mem_freep)
    char *full =
        path.len ? workspace_resolve(call->workspace, path) : workspace_cwd(call->workspace);
    CLEANUP(buf_release) struct buf hint = BUF_INIT(400);
    struct stat st;

    if (stat(full, &st) < 0) {
        if (errno != ENOENT && errno != ENOTDIR)
            return err_sys(err, ERR_IO, "cannot look at '%s'", full);
        suggest_path(call->workspace, full, &hint);
        return err_set(err, ERR_NOT_FOUND, "there is no '%s'.%s", full, buf_cstr(&hint));
    }
    if (!S_ISDIR(st.st_mode) && !(files && S_ISREG(st.st_mode)))
        return err_set(err, ERR_BAD_INPUT, "'%s' is not a folder%s", full,
                       files ? " and not a regular file" : "");
    ret->is_file = !S_ISDIR(st.st_mode);
    ret->real = tool_real_path(call, full);
    ret->path = TAKE_PTR(full);
    return 0;
}

void search_root_release(struct search_root *r)
{
    mem_freep(&r->path);
    mem_freep(&r->real);
}

void search_prefix(const struct tool_call *call, const char *root, struct buf *ret)
{
    CLEANUP(mem_freep) char *shown = workspace_shorten(call->workspace, root);

    if (str_is(str_of(shown), "."))
        return;
    buf_adds(ret, shown);
    if (ret->len && ret->ptr[ret->len - 1] != '/')
        buf_addc(ret, '/');
}

bool search_respects_git(const struct tool_call *call)
{
    return !call->conf || conf_get_bool(call->conf, "respectGitignore", true);
}

bool search_names_hidden(struct str glob)
{
    for (size_t i = 0; i + 1 < glob.len; i++) {
        bool starts =
            i == 0 || glob.ptr[i - 1] == '/' || glob.ptr[i - 1] == '{' || glob.ptr[i - 1] == ',';

        if (starts && glob.ptr[i] == '.' && glob.ptr[i + 1] != '/' && glob.ptr[i + 1] != '.')
            return true;
    }
    return false;
}

void search_explain(const struct walk_report *r, struct buf *ret)
{
    if (r->cut_time)
        buf_adds(ret, "(Time ran out: not everything was searched. Search a smaller folder.)\n");
    if (r->cut_entries)
        buf_addf(ret, "(Stopped after %d files: not everything was searched.)\n", WALK_MAX_ENTRIES);
    if (r->cut_depth)
        buf_addf(ret, "(Folders nested deeper than %d were left out.)\n", WALK_MAX_DEPTH);
    if (r->git)
        buf_adds(ret, "(.git was not searched: name it as path to look into it.)\n");
    if (r->denied)
        buf_addf(ret, "(%zu files or folders were left out: a rule denies reading them.)\n",
                 r->denied);
    if (r->special)
        buf_addf(ret, "(%zu devices, pipes or sockets were left out.)\n", r->special);
    if (r->unreadable == 1)
        buf_addf(ret, "(The folder %s could not be read.)\n", buf_cstr(&r->unreadable1));
    else if (r->unreadable)
        buf_addf(ret, "(%zu folders could not be read, such as %s.)\n", r->unreadable,
                 buf_cstr(&r->unreadable1));
}
