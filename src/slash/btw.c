/*
 * /btw: a question outside of the conversation. The model sees the conversation and answers;
 * neither question nor answer becomes part of it, and running work is not disturbed.
 */
#include "agent/recall.h"
#include "base/err.h"
#include "host/host.h"
#include "slash/answer.h"

static int btw_run(struct slash_call *call, struct err *err);

const struct slash_command slash_btw_entry = {
    .name = "btw",
    .aliases = "side",
    .hint = "<question>",
    .summary = "Ask a side question that does not become part of the conversation",
    .gives_way = true,
    .run = btw_run,
};

#define BTW_BYTES ((size_t)200 << 10) /* of the conversation's newest part */
#define BTW_TOKENS 4000

static const char system_words[] =
    "You answer a side question of a user who is working with a coding agent. You are given their "
    "conversation so far. Answer the question directly and briefly from it and from what you know; "
    "you have no tools. If you cannot know, answer that you do not know.";

static int btw_run(struct slash_call *call, struct err *err)
{
    CLEANUP(recall_release) struct recall past = RECALL_INIT;
    CLEANUP(buf_release) struct buf talk = BUF_INIT(SLASH_MAX_TEXT);
    CLEANUP(buf_release) struct buf answer = BUF_INIT(SLASH_MAX_TEXT);

    if (!call->args.len)
        return err_set(err, ERR_BAD_INPUT, "usage: /btw %s", slash_btw_entry.hint);
    if (host_recall(call->host, call->cancel, &past, err) < 0) {
        if (err->code != ERR_NOT_FOUND) /* the session has no messages yet */
            return -1;
        *err = (struct err){0};
    } else {
        slash_add_talk(&talk, &past, BTW_BYTES);
    }
    buf_addf(&talk, "\nThe side question: %.*s", STR_ARG(call->args));
    if (host_ask_model(call->host, STR(system_words), buf_str(&talk), BTW_TOKENS, call->cancel,
                       &answer, err) < 0)
        return -1;
    if (!str_trim(buf_str(&answer)).len)
        return err_set(err, ERR_PROTOCOL, "the model gave no answer");
    call->is_markdown = true;
    slash_sayf(call, INK_PLAIN, "%.*s\n", STR_ARG(str_trim(buf_str(&answer))));
    return 0;
}
