/*
 * prompt: sends a command's text as input to the agent.
 */
#include "slash/prompt.h"

#include <string.h>

#include "agent/agent.h"
#include "base/err.h"
#include "base/id.h"
#include "context/called_skills.h"
#include "host/host.h"
#include "llm/message.h"
#include "llm/provider.h"
#include "slash/answer.h"

static struct message *prompt_message(const struct slash_call *call, struct str name)
{
    CLEANUP(buf_release) struct buf head = BUF_INIT(2 * SLASH_MAX_TEXT);
    struct message *m;

    if (call->is_own_words)
        return message_user_text(buf_str(&call->prompt));
    buf_addf(&head,
             "<command-name>/%.*s</command-name>\n<command-message>%.*s</command-message>\n"
             "<command-args>%.*s</command-args>%s",
             STR_ARG(name), STR_ARG(name), STR_ARG(call->args),
             call->is_skill ? "\n" CALLED_SKILL_MARK : "");
    m = message_new(ROLE_USER, 2);
    message_add(m, &(struct block){.kind = BLOCK_TEXT, .text = buf_str(&head)});
    message_add(m, &(struct block){.kind = BLOCK_TEXT, .text = buf_str(&call->prompt)});
    return m;
}

int prompt_command(const struct slash_call *call, struct str name, struct agent_command **ret,
                   struct err *err)
{
    struct provider provider = {0};
    struct agent_command *c;

    if (call->model.len && host_select(call->host, call->model, &provider, err) < 0)
        return -1;
    c = mem_zalloc(sizeof(*c));
    c->name = mem_dup(name.ptr, name.len);
    c->args = mem_dup(call->args.ptr, call->args.len);
    c->source = mem_dup(call->source, strlen(call->source));
    c->effort = call->effort;
    strv_add_all(&c->allow, &call->allow);
    strv_add_all(&c->deny, &call->deny);
    strv_add_all(&c->only, &call->only);
    if (call->model.len) {
        c->provider = mem_alloc(sizeof(provider));
        *c->provider = provider;
    }
    *ret = c;
    return 0;
}

/* Its grants apply to a turn of its own, not to one that is already running. */
static bool prompt_grants(const struct slash_call *call)
{
    return call->allow.len || call->deny.len || call->only.len || call->model.len || call->effort;
}

int prompt_send(struct slash_call *call, struct str name, const struct agent_input *typed,
                struct err *err)
{
    struct agent_input in = *typed;

    if (prompt_command(call, name, &in.command, err) < 0)
        return -1;
    in.message = prompt_message(call, name);
    in.is_literal = true;
    in.order = NULL;
    in.kept = false;
    if (in.when == INPUT_NEXT && prompt_grants(call))
        in.when = INPUT_LATER;
    if (!in.uuid[0])
        id_uuid(in.uuid);
    return host_send(call->host, &in, err);
}
