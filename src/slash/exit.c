/*
 * /exit: quit. Without a front end there is nothing to quit: the end of input does it.
 */
#include "host/host.h"
#include "slash/answer.h"

static int exit_run(struct slash_call *call, struct err *err);

const struct slash_command slash_exit_entry = {
    .name = "exit",
    .in_terminal = true,
    .aliases = "quit",
    .hint = "",
    .summary = "Leave; the session can be resumed",
    .run = exit_run,
};

static int exit_run(struct slash_call *call, struct err *err)
{
    if (call->front) {
        if (slash_stop_work(call, err) < 0)
            return -1;
        call->after = AFTER_LEAVE;
        return 0;
    }
    slash_sayf(call, INK_PLAIN,
               "The session ends with its input. To resume it later: tenax --resume %s\n",
               host_session(call->host));
    return 0;
}
