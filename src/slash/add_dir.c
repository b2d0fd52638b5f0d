/*
 * /add-dir: one more folder to work in.
 */
#include "base/err.h"
#include "base/strv.h"
#include "host/host.h"
#include "slash/answer.h"

static int add_dir_run(struct slash_call *call, struct err *err);

const struct slash_command slash_add_dir_entry = {
    .name = "add-dir",
    .hint = "<path> [--save]",
    .summary = "Work in one more folder; --save keeps it for this project",
    .run = add_dir_run,
};

static int add_dir_run(struct slash_call *call, struct err *err)
{
    CLEANUP(strv_release) struct strv words = STRV_INIT;
    CLEANUP(strv_release) struct strv warnings = STRV_INIT;
    bool save;

    slash_words(call->args, &words);
    save = words.len == 2 && str_is(str_of(words.ptr[1]), "--save");
    if (!words.len || words.len > 2 || (words.len == 2 && !save))
        return err_set(err, ERR_BAD_INPUT, "usage: /add-dir %s", slash_add_dir_entry.hint);
    if (host_add_folder(call->host, str_of(words.ptr[0]), save, "slash_command", &warnings, err) <
        0)
        return -1;
    slash_sayf(call, INK_PLAIN, "Added %s%s\n", words.ptr[0],
               save ? ", for later sessions too" : " for this session");
    for (size_t i = 0; i < warnings.len; i++)
        slash_sayf(call, INK_YELLOW, "%s\n", warnings.ptr[i]);
    return 0;
}
