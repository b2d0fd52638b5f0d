/*
 * /copy: an answer of the model, into the clipboard. Where there is none it is the answer.
 */
#include "agent/recall.h"
#include "base/err.h"
#include "host/host.h"
#include "llm/message.h"
#include "slash/answer.h"

static int copy_run(struct slash_call *call, struct err *err);

const struct slash_command slash_copy_entry = {
    .name = "copy",
    .in_terminal = true,
    .hint = "[<n>]",
    .summary = "Copy the last answer, or the n-th last, into the clipboard",
    .run = copy_run,
};

#define COPY_MAX ((size_t)1 << 20)

/* The text of the n-th last answer that has some. */
static bool find_answer(const struct recall *past, int64_t n, struct buf *ret)
{
    for (size_t i = past->messages.len; i-- > 0;) {
        const struct message *m = past->messages.ptr[i];

        if (m->role != ROLE_ASSISTANT || !message_count(m, BLOCK_TEXT))
            continue;
        n--;
        if (n > 0)
            continue;
        message_text(m, ret);
        return true;
    }
    return false;
}

static int copy_run(struct slash_call *call, struct err *err)
{
    CLEANUP(recall_release) struct recall past = RECALL_INIT;
    CLEANUP(buf_release) struct buf answer = BUF_INIT(COPY_MAX);
    const char *where;
    int64_t n = 1;

    if (call->args.len && (str_to_i64(call->args, &n, err) < 0 || n < 1))
        return err_set(err, ERR_BAD_INPUT, "usage: /copy %s", slash_copy_entry.hint);
    if (host_recall(call->host, call->cancel, &past, err) < 0)
        return -1;
    if (!find_answer(&past, n, &answer))
        return err_set(err, ERR_NOT_FOUND, "there are not so many answers");
    if (buf_check(&answer, err) < 0)
        return -1;
    if (!call->front) {
        buf_add(&call->text, buf_str(&answer));
        return 0;
    }
    where = call->front->copy(call->front->arg, buf_str(&answer), call->cancel);
    if (!where)
        return err_set(err, ERR_UNSUPPORTED,
                       "this terminal takes nothing for its clipboard, and neither wl-copy, xclip, "
                       "xsel nor pbcopy does");
    slash_sayf(call, INK_PLAIN, "%zu bytes %s.\n", answer.len, where);
    return 0;
}
