/*
 * /branch: continue with a copy of this session; the session itself stays as it is.
 */
#include "base/err.h"
#include "base/file.h"
#include "host/host.h"
#include "slash/answer.h"

static int branch_run(struct slash_call *call, struct err *err);

const struct slash_command slash_branch_entry = {
    .name = "branch",
    .hint = "",
    .summary = "Continue in a copy of this conversation",
    .run = branch_run,
};

static int branch_run(struct slash_call *call, struct err *err)
{
    const char *path = host_transcript(call->host);

    if (!*path || !file_exists(path))
        return err_set(err, ERR_NOT_FOUND, "the session has no messages yet");
    if (!call->front) {
        slash_sayf(call, INK_PLAIN, "To continue in a copy: tenax --resume %s --fork-session\n",
                   host_session(call->host));
        return 0;
    }
    slash_sayf(call, INK_FAINT, "The conversation so far stays: tenax --resume %s\n",
               host_session(call->host));
    call->after = AFTER_FORK;
    return 0;
}
