/*
 * /export: the conversation as a document, into a file or as the answer (host/export/export.h).
 */
#include "host/export/export.h"

#include "base/arena.h"
#include "base/err.h"
#include "base/file.h"
#include "base/secret.h"
#include "guard/workspace.h"
#include "host/host.h"
#include "slash/answer.h"
#include "store/index.h"

static int export_run(struct slash_call *call, struct err *err);

const struct slash_command slash_export_entry = {
    .name = "export",
    .hint = "[<file.md | file.html>]",
    .summary = "Write the conversation to a file, or show it as Markdown",
    .run = export_run,
};

#define EXPORT_MAX ((size_t)256 << 20)

static int keep_piece(void *arg, struct str text, struct err *err)
{
    buf_add(arg, text);
    return buf_check(arg, err);
}

static int export_run(struct slash_call *call, struct err *err)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    CLEANUP(buf_release)
    struct buf document = BUF_INIT(call->args.len ? EXPORT_MAX : SLASH_MAX_TEXT);
    CLEANUP(mem_freep) char *to = NULL;
    const char *path = host_transcript(call->host);
    bool html = str_ends(call->args, STR(".html"));
    struct store_session row;

    if (!*path || !file_exists(path))
        return err_set(err, ERR_NOT_FOUND, "the session has no messages yet");
    if (index_read(path, call->cancel, &arena, &row, err) < 0 ||
        export_session(path, &row, html ? EXPORT_HTML : EXPORT_MARKDOWN, call->cancel, keep_piece,
                       &document, err) < 0)
        return -1;
    secret_scrub(&document);
    if (!call->args.len) {
        if (call->front)
            call->front->show(call->front->arg, STR("Conversation"), buf_str(&document));
        else
            buf_add(&call->text, buf_str(&document));
        return 0;
    }
    to = workspace_resolve(host_workspace(call->host), call->args);
    if (file_exists(to) && !file_is_dir(to) && !call->front)
        return err_set(err, ERR_BAD_INPUT, "%s is there already", to);
    if (call->front && file_exists(to)) {
        static const char *const answers[] = {"Replace the file", "Leave it"};
        size_t chosen;

        if (slash_choose(call, "The file is there already", answers, 2, &chosen, err) < 0)
            return -1;
        if (chosen == 1)
            return err_set(err, ERR_CANCELLED, "left as it is");
    }
    if (file_replace_like(to, buf_str(&document), /*like=*/NULL, err) < 0)
        return -1;
    slash_sayf(call, INK_PLAIN, "Wrote %s\n", to);
    return 0;
}
