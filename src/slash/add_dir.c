/*
 * /add-dir: one more folder to work in.
 */
#include "agent/permit.h"
#include "agent/workspace.h"
#include "base/arena.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/strv.h"
#include "host/host.h"
#include "json/json.h"
#include "json/jw.h"
#include "slash/inside.h"

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
    CLEANUP(buf_release) struct buf json = BUF_INIT(SLASH_MAX_TEXT);
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    CLEANUP(mem_freep) char *folder = NULL;
    const struct json *updates = NULL;
    bool save;
    struct jw w;

    slash_words(call->args, &words);
    save = words.len == 2 && str_is(str_of(words.ptr[1]), "--save");
    if (!words.len || words.len > 2 || (words.len == 2 && !save))
        return err_set(err, ERR_BAD_INPUT, "usage: /add-dir %s", slash_add_dir_entry.hint);
    jw_init(&w, &json, JW_CLEAN);
    jw_array(&w);
    jw_object(&w);
    jw_kcstr(&w, "type", "addDirectories");
    jw_key(&w, "directories");
    jw_array(&w);
    jw_cstr(&w, words.ptr[0]);
    jw_array_end(&w);
    jw_kcstr(&w, "destination", save ? "localSettings" : "session");
    jw_object_end(&w);
    jw_array_end(&w);
    if (json_parse(&arena, buf_str(&json), &updates, /*ret_info=*/NULL, err) < 0 ||
        permit_update(host_permit(call->host), updates, &warnings, err) < 0)
        return -1;
    folder = workspace_resolve(host_workspace(call->host), str_of(words.ptr[0]));
    host_tell_folder(call->host, folder, "slash_command");
    slash_sayf(call, INK_PLAIN, "Added %s%s\n", words.ptr[0],
               save ? ", for later sessions too" : " for this session");
    for (size_t i = 0; i < warnings.len; i++)
        slash_sayf(call, INK_YELLOW, "%s\n", warnings.ptr[i]);
    return 0;
}
