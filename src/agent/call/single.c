/*
 * A tool call made by another program instead of the model (`tenax mcp serve`). It passes through
 * the same hooks, rules, modes and questions as any call.
 */
#include "agent/agent_state.h"
#include "agent/call/call.h"
#include "agent/toolbox.h"
#include "base/err.h"
#include "sync/cancel.h"
#include "sync/mailbox.h"

int agent_call_tool(struct agent *a, const struct agent_tool_use *use, struct cancel *cancel,
                    struct tool_result *ret, struct err *err)
{
    struct block block = {
        .kind = BLOCK_TOOL_USE, .id = use->id, .name = use->name, .input = use->input};
    struct mailbox *mail = mailbox_new();
    struct call *c = call_new(a, &block, mail, cancel);
    struct tool_result empty = TOOL_RESULT_INIT;
    struct mail *m = NULL;

    call_start(c);
    while (c->state == CALL_RUNNING) { /* the call watches its own cancel token */
        if (mailbox_take(mail, /*cancel=*/NULL, /*deadline_ms=*/-1, &m, err) < 0)
            continue;
        if (call_mail_is(m, c))
            call_collect(c);
        mail_free(m);
    }
    call_emit_ended(c);
    tool_result_release(ret);
    *ret = c->result;
    c->result = empty;
    call_free(c);
    mailbox_close(mail);
    mailbox_unref(mail);
    return cancel_check(cancel, err);
}
