/*
 * /vim: the keys of the editor, between vim's and the usual ones.
 */
#include "base/err.h"
#include "conf/conf.h"
#include "host/host.h"
#include "slash/answer.h"

static int vim_run(struct slash_call *call, struct err *err);

const struct slash_command slash_vim_entry = {
    .name = "vim",
    .in_terminal = true,
    .hint = "[on | off]",
    .summary = "Switch the editor between vim's keys and the usual ones",
    .run = vim_run,
};

static int vim_run(struct slash_call *call, struct err *err)
{
    bool is_on = str_is(conf_get_str(host_conf(call->host), "editorMode"), "vim");
    struct str mode;

    if (call->args.len && !str_is_word_of(call->args, "on off"))
        return err_set(err, ERR_BAD_INPUT, "usage: /vim %s", slash_vim_entry.hint);
    if (call->args.len)
        is_on = str_is(call->args, "off");
    mode = is_on ? STR("normal") : STR("vim");
    if (call->front && !call->front->set(call->front->arg, STR("editorMode"), mode))
        return err_set(err, ERR_UNSUPPORTED, "this front end has no such keys");
    if (slash_save_text(call, "editorMode", mode, err) < 0)
        return -1;
    slash_sayf(call, INK_PLAIN, "Keys: %.*s\n", STR_ARG(mode));
    return 0;
}
