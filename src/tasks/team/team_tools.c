/*
 * TeamCreate and TeamDelete. Both are the main agent's. Run on tool threads.
 */
#include "agent/tool.h"
#include "base/err.h"
#include "base/identity.h"
#include "json/json.h"
#include "tasks/team/entries.h"
#include "tasks/team/team.h"

#define DELETE_WAIT_MS 10000

static int check_lead(struct tool_call *call, struct err *err)
{
    if (!call->team)
        return err_set(err, ERR_UNSUPPORTED, "this session has no teams");
    if (call->identity && !identity_is_main(call->identity))
        return err_set(err, ERR_DENIED, "only the main agent leads a team");
    return 0;
}

static bool is_offered(const struct tool_entry *e, const struct conf *conf,
                       const struct provider *provider)
{
    (void)e;
    (void)provider;
    return team_is_enabled(conf);
}

static int team_create_run(struct tool_call *call, struct tool_result *ret, struct err *err)
{
    if (check_lead(call, err) < 0 ||
        team_create(call->team, json_get_str(call->args, "team_name"),
                    json_get_str(call->args, "description"), call->cancel, &ret->data, err) < 0)
        return -1;
    buf_add(&ret->text, buf_str(&ret->data));
    return 0;
}

static int team_delete_run(struct tool_call *call, struct tool_result *ret, struct err *err)
{
    if (check_lead(call, err) < 0 ||
        team_delete(call->team, json_get_i64(call->args, "wait_ms", DELETE_WAIT_MS), call->cancel,
                    &ret->data, err) < 0)
        return -1;
    buf_add(&ret->text, buf_str(&ret->data));
    return 0;
}

const struct tool_entry tool_team_create_entry = {
    .name = "TeamCreate",
    .text = tool_team_create_md,
    .schema = tool_team_create_schema,
    .flags = TOOL_FREE | TOOL_DEFERRED,
    .offered = is_offered,
    .run = team_create_run,
};

const struct tool_entry tool_team_delete_entry = {
    .name = "TeamDelete",
    .text = tool_team_delete_md,
    .schema = tool_team_delete_schema,
    .flags = TOOL_FREE | TOOL_DEFERRED,
    .offered = is_offered,
    .run = team_delete_run,
};
