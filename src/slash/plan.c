/*
 * /plan: enters plan mode, in which nothing is changed, or shows the plan.
 */
#include "agent/recall.h"
#include "base/arena.h"
#include "base/err.h"
#include "guard/permit.h"
#include "host/host.h"
#include "json/json.h"
#include "llm/message.h"
#include "slash/answer.h"

static int plan_run(struct slash_call *call, struct err *err);

const struct slash_command slash_plan_entry = {
    .name = "plan",
    .hint = "[<what to plan> | off]",
    .summary = "Enter plan mode, in which nothing is changed; or show the plan",
    .more = "With words after it they are the next prompt. In plan mode, bare, it shows the last "
            "plan; `off` leaves the mode.",
    .run = plan_run,
};

/* The newest plan the model has handed in; false: there is none. */
static bool find_plan(const struct recall *past, struct buf *ret)
{
    for (size_t i = past->messages.len; i-- > 0;) {
        const struct message *m = past->messages.ptr[i];

        for (size_t j = m->len; j-- > 0;) {
            CLEANUP(arena_release) struct arena arena = ARENA_INIT;
            const struct json *input = NULL;

            if (m->blocks[j].kind != BLOCK_TOOL_USE || !str_is(m->blocks[j].name, "ExitPlanMode") ||
                json_parse(&arena, m->blocks[j].input, &input, NULL, NULL) < 0)
                continue;
            buf_add(ret, json_get_str(input, "plan"));
            return true;
        }
    }
    return false;
}

static int plan_show(struct slash_call *call, struct err *err)
{
    CLEANUP(recall_release) struct recall past = RECALL_INIT;
    CLEANUP(buf_release) struct buf plan = BUF_INIT(SLASH_MAX_TEXT);

    if (host_recall(call->host, call->cancel, &past, err) < 0) {
        if (err->code != ERR_NOT_FOUND)
            return -1;
        err_clear(err);
    }
    if (!find_plan(&past, &plan)) {
        slash_say(call, INK_PLAIN, STR("Plan mode is on. There is no plan yet.\n"));
        return 0;
    }
    slash_say(call, INK_PLAIN, buf_str(&plan));
    return 0;
}

static int plan_run(struct slash_call *call, struct err *err)
{
    struct permit *permit = host_permit(call->host);
    bool is_on = permit_mode(permit) == MODE_PLAN;

    if (str_is(call->args, "off")) {
        if (is_on && permit_set_mode(permit, permit_mode_before_plan(permit), err) < 0)
            return -1;
        slash_sayf(call, INK_PLAIN, "Mode: %s\n", permit_mode_name(permit_mode(permit)));
        return 0;
    }
    if (is_on && !call->args.len)
        return plan_show(call, err);
    if (!is_on && permit_set_mode(permit, MODE_PLAN, err) < 0)
        return -1;
    call->is_own_words = true;
    buf_add(&call->prompt, call->args);
    if (!call->args.len)
        slash_say(call, INK_PLAIN,
                  STR("Plan mode: the model looks and plans, and changes nothing until you approve "
                      "the plan.\n"));
    return 0;
}
