/*
 * The user, seen from a tool: asked through the call's asker, and perhaps not there. Runs on tool
 * threads.
 */
#include "tools/user_ask.h"

#include "agent/tool.h"
#include "base/err.h"
#include "json/jw.h"

int user_ask(struct tool_call *call, enum ask_kind kind, const char *reason,
             const char *reason_type, struct ask_answer *ret, struct err *err)
{
    CLEANUP(buf_release) struct buf input = BUF_INIT(ASK_MAX_ANSWER);
    struct ask ask = {
        .kind = kind,
        .by = call->identity ? *call->identity : (struct identity){0},
        .tool_name = str_of(call->entry->name),
        .tool_use_id = call->id,
        .reason = str_of(reason),
        .reason_type = reason_type,
        .needs_person = true,
    };
    struct jw w;

    if (!call->asker)
        return err_set(err, ERR_UNSUPPORTED, "there is no user to ask");
    jw_init(&w, &input, 0);
    jw_json(&w, call->args);
    if (buf_check(&input, err) < 0)
        return -1;
    ask.input = buf_str(&input);
    return call->asker->put(call->asker, &ask, call->cancel, ret, err);
}

void user_ask_refused(struct tool_result *ret, const struct ask_answer *answer, const char *meaning)
{
    ret->is_error = true;
    ret->is_denied = true;
    ret->ends_turn = answer->interrupt;
    buf_adds(&ret->text, meaning);
    if (answer->message.len) {
        buf_adds(&ret->text, " They say: ");
        buf_add(&ret->text, buf_str(&answer->message));
    }
}
