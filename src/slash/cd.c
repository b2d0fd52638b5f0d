/*
 * /cd: the folder in which the next command runs, inside of the session's working folders.
 */
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/file.h"
#include "guard/workspace.h"
#include "host/host.h"
#include "slash/answer.h"

static int cd_run(struct slash_call *call, struct err *err);

const struct slash_command slash_cd_entry = {
    .name = "cd",
    .hint = "[<path>]",
    .summary = "Change the folder that commands run in; alone, show it",
    .more = "A folder outside of the working folders has to be added first, with `/add-dir`. "
            "`/cd -` has no meaning; `/cd ~` and relative paths work as in a shell.",
    .run = cd_run,
};

static int cd_run(struct slash_call *call, struct err *err)
{
    struct workspace *w = host_workspace(call->host);
    CLEANUP(mem_freep) char *path = NULL;
    CLEANUP(mem_freep) char *real = NULL;
    CLEANUP(mem_freep) char *now = workspace_cwd(w);

    if (!call->args.len) {
        slash_sayf(call, INK_PLAIN, "%s\n", now);
        return 0;
    }
    path = workspace_resolve(w, call->args);
    real = workspace_real(path);
    if (!file_exists(real))
        return err_set(err, ERR_NOT_FOUND, "there is no folder %s", path);
    if (!file_is_dir(real))
        return err_set(err, ERR_BAD_INPUT, "%s is not a folder", path);
    if (!workspace_contains_real(w, real))
        return err_set(err, ERR_DENIED,
                       "%s is outside of the working folders: /add-dir %s adds it for this session",
                       path, path);
    workspace_set_cwd(w, real);
    slash_sayf(call, INK_PLAIN, "Commands now run in %s\n", real);
    return 0;
}
