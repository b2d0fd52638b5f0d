/*
 * /tasks: commands in the background, and an end to one of them.
 */
#include "base/err.h"
#include "base/strv.h"
#include "host/host.h"
#include "slash/inside.h"
#include "tools/background.h"

static int tasks_run(struct slash_call *call, struct err *err);

const struct slash_command slash_tasks_entry = {
    .name = "tasks",
    .aliases = "bashes",
    .hint = "[kill <id>]",
    .summary = "List the commands in the background, or end one",
    .run = tasks_run,
};

static void say_row(void *arg, const struct background_row *row)
{
    struct slash_call *call = arg;
    CLEANUP(buf_release) struct buf what = BUF_INIT(4096);

    slash_add_line(&what, row->command, 100);
    slash_sayf(call, row->status == TASK_RUNNING ? INK_GREEN : INK_FAINT, "%-8s ", row->id);
    slash_sayf(call, INK_PLAIN, "%s\n", buf_cstr(&what));
    slash_sayf(call, INK_FAINT, "         %.*s; output: %s\n", STR_ARG(row->summary), row->path);
}

static int tasks_run(struct slash_call *call, struct err *err)
{
    CLEANUP(strv_release) struct strv words = STRV_INIT;
    CLEANUP(buf_release) struct buf was_over = BUF_INIT(1000);

    slash_words(call->args, &words);
    if (words.len == 2 && str_is(str_of(words.ptr[0]), "kill")) {
        if (background_kill(host_workspace(call->host), str_of(words.ptr[1]), &was_over, err) < 0)
            return -1;
        slash_sayf(call, INK_PLAIN, "%s: %s\n", words.ptr[1],
                   was_over.len ? buf_cstr(&was_over) : "is being ended");
        return 0;
    }
    if (words.len)
        return err_set(err, ERR_BAD_INPUT, "usage: /tasks %s", slash_tasks_entry.hint);
    if (!background_each(host_workspace(call->host), say_row, call))
        slash_say(call, INK_PLAIN, STR("No command runs in the background.\n"));
    return 0;
}
