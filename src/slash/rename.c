/*
 * /rename: give the session a name, which lists of sessions show.
 */
#include "base/err.h"
#include "host/host.h"
#include "slash/answer.h"

static int rename_run(struct slash_call *call, struct err *err);

const struct slash_command slash_rename_entry = {
    .name = "rename",
    .hint = "<name>",
    .summary = "Give the session a name",
    .run = rename_run,
};

#define RENAME_MAX 200

static int rename_run(struct slash_call *call, struct err *err)
{
    CLEANUP(buf_release) struct buf name = BUF_INIT(4096);

    if (call->args.len) {
        slash_add_line(&name, call->args, RENAME_MAX);
    } else {
        host_title(call->host, &name);
        if (!call->front) {
            slash_sayf(call, INK_PLAIN, "%s\n", name.len ? buf_cstr(&name) : "It has no name yet.");
            return 0;
        }
        if (call->front->edit(call->front->arg, STR("Name of the session"), &name, call->cancel,
                              err) < 0)
            return -1;
    }
    if (!str_trim(buf_str(&name)).len)
        return err_set(err, ERR_BAD_INPUT, "a name has at least one character");
    if (host_rename(call->host, str_trim(buf_str(&name)), err) < 0)
        return -1;
    slash_sayf(call, INK_PLAIN, "Named: %s\n", buf_cstr(&name));
    return 0;
}
