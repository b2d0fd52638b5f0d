/*
 * /coordinator: the main agent plans and hands out work, and only workers have tools.
 */
#include "base/err.h"
#include "host/host.h"
#include "slash/answer.h"

static int coordinator_run(struct slash_call *call, struct err *err);

const struct slash_command slash_coordinator_entry = {
    .name = "coordinator",
    .hint = "[on | off]",
    .summary = "Let the main agent plan while workers do the work",
    .more =
        "In coordinator mode the main agent can only start workers, write to them and stop them; "
        "the workers read, edit and run. Without an argument the mode is switched. It is kept "
        "with the session; `TENAX_COORDINATOR=1` begins new sessions in it.",
    .run = coordinator_run,
};

static int coordinator_run(struct slash_call *call, struct err *err)
{
    bool on = str_is(call->args, "on");

    if (call->args.len && !on && !str_is(call->args, "off"))
        return err_set(err, ERR_BAD_INPUT, "usage: /coordinator %s", slash_coordinator_entry.hint);
    if (!call->args.len)
        on = !host_coordinates(call->host);
    if (host_set_coordinator(call->host, on, err) < 0)
        return -1;
    slash_say(call, INK_PLAIN,
              on ? STR("Coordinator mode is on: the main agent plans, workers do the work.\n")
                 : STR("Coordinator mode is off.\n"));
    return 0;
}
