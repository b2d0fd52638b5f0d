/*
 * /tui: whether the next start in a terminal draws, or prints lines as --plain does.
 */
#include "base/err.h"
#include "conf/conf.h"
#include "host/host.h"
#include "slash/answer.h"

static int tui_run_command(struct slash_call *call, struct err *err);

const struct slash_command slash_tui_entry = {
    .name = "tui",
    .in_terminal = true,
    .hint = "[on | off | status]",
    .summary = "Choose between the drawn terminal UI and plain lines, from the next start on",
    .more =
        "Off is what `--plain` does, kept as `\"tui\": \"off\"` in your settings. `--plain` and "
        "`TERM=dumb` count in any case.",
    .run = tui_run_command,
};

static int tui_run_command(struct slash_call *call, struct err *err)
{
    bool is_status = !call->args.len || str_is(call->args, "status");

    if (!is_status && !str_is_word_of(call->args, "on off"))
        return err_set(err, ERR_BAD_INPUT, "usage: /tui %s", slash_tui_entry.hint);
    if (!is_status && slash_save_text(call, "tui", call->args, err) < 0)
        return -1;
    if (str_is(conf_get_str(host_conf(call->host), "tui"), "off"))
        slash_say(call, INK_PLAIN,
                  STR("From the next start on: plain lines, nothing is drawn or moved. "
                      "/tui on changes that.\n"));
    else
        slash_say(call, INK_PLAIN,
                  STR("From the next start on: the drawn UI. /tui off gives plain lines, for "
                      "screen readers.\n"));
    return 0;
}
