/*
 * SendMessage: sends a text to another agent of the session. Runs on a tool thread; arg of its row
 * points to the agents.
 */
#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/identity.h"
#include "guard/workspace.h"
#include "json/json.h"
#include "json/jw.h"
#include "tasks/agents.h"
#include "tasks/entries.h"
#include "tasks/team/team.h"

static int send_message_run(struct tool_call *call, struct tool_result *ret, struct err *err);

const struct tool_entry tool_send_message_entry = {
    .name = "SendMessage",
    .text = tool_send_message_md,
    .schema = tool_send_message_schema,
    .flags = TOOL_FREE,
    .run = send_message_run,
};

/* Names and ids that the caller can address. */
struct known {
    struct buf text;
};

static bool add_known(void *arg, const struct task_view *v)
{
    struct known *k = arg;

    if (v->kind == TASK_AGENT && k->text.len < 1000)
        buf_addf(&k->text, "%s%s (%s)", k->text.len ? ", " : "", v->name ? v->name : v->id,
                 task_state_name(v->state));
    return true;
}

static bool is_elsewhere(struct str to)
{
    return str_chr(to, '@') < to.len || str_chr(to, '\n') < to.len || str_starts(to, STR("uds:")) ||
           str_starts(to, STR("bridge:")) || str_starts(to, STR("tcp:"));
}

static void answer(struct tool_result *ret, bool success, struct str message, const char *resumed)
{
    struct jw w;

    jw_init(&w, &ret->data, 0);
    jw_object(&w);
    jw_kbool(&w, "success", success);
    jw_kstr(&w, "message", message);
    if (resumed)
        jw_kcstr(&w, "resumedAgentId", resumed);
    jw_object_end(&w);
    buf_add(&ret->text, buf_str(&ret->data));
}

/* Escaped like a notification, so that nothing in it closes the element. */
static void say_to_main(struct tool_call *call, struct str text, struct tool_result *ret)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    CLEANUP(buf_release) struct buf framed = BUF_INIT(BUF_NO_LIMIT);
    struct task_table *tasks = task_table_of(call->workspace);
    const char *from = call->identity->agent;
    struct task_view v;

    if (task_look(tasks, str_of(from), &arena, &v) && v.name)
        from = v.name;
    buf_addf(&framed, "<agent-message from=\"%s\">\n", from);
    task_add_escaped(&framed, text);
    buf_adds(&framed, "\n</agent-message>");
    task_say(tasks, call->identity->agent, IDENTITY_MAIN, buf_str(&framed));
    answer(ret, true, STR("main reads it at its next step"), NULL);
}

/* To the team of the session. 0: it is for none of its members. */
static int send_in_team(struct tool_call *call, struct str to, struct tool_result *ret,
                        struct err *err)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(BUF_NO_LIMIT);
    CLEANUP(buf_release) struct buf message = BUF_INIT(1000);
    struct agents_order order = {.by = call->identity,
                                 .permit = call->permit,
                                 .workspace = call->workspace,
                                 .description = to,
                                 .cancel = call->cancel};
    struct err why = {0};
    int rc = call->team && call->identity
                 ? team_send(call->team, call->identity, to, json_get(call->args, "message"),
                             json_get_str(call->args, "summary"), call->cancel, ret, &text, err)
                 : 0;

    if (rc != 2)
        return rc;
    if (agents_hire_again(call->entry->arg, call->team, to, buf_str(&text), &order, &why) < 0) {
        answer(ret, false, str_of(why.text), NULL);
        return 1;
    }
    buf_addf(&message, "%.*s had ended with the process before this one, and works again",
             STR_ARG(to));
    answer(ret, true, buf_str(&message), NULL);
    return 1;
}

static int send_message_run(struct tool_call *call, struct tool_result *ret, struct err *err)
{
    struct str to = json_get_str(call->args, "to");
    struct str text = json_get_str(call->args, "message");
    struct agents_note note = {.by = call->identity,
                               .permit = call->permit,
                               .workspace = call->workspace,
                               .to = to,
                               .text = text,
                               .cancel = call->cancel};
    struct known known = {BUF_INIT(2000)};
    CLEANUP(buf_release) struct buf message = BUF_INIT(4000);
    char id[TASK_ID_MAX + 1];
    struct err why = {0};
    bool resumed;
    int rc;

    if (!call->entry->arg)
        return err_set(err, ERR_UNSUPPORTED, "there are no agents here");
    rc = is_elsewhere(to) ? 0 : send_in_team(call, to, ret, err);
    if (rc)
        return rc < 0 ? -1 : 0;
    if (is_elsewhere(to)) {
        answer(ret, false, STR("other sessions are out of reach"), NULL);
    } else if (!text.len) {
        answer(ret, false, STR("an object is for members of a team alone; an agent reads text"),
               NULL);
    } else if (str_is(to, IDENTITY_MAIN) && !identity_is_main(call->identity)) {
        say_to_main(call, text, ret);
    } else if (agents_message(call->entry->arg, &note, &resumed, id, &why) < 0) {
        task_each(task_table_of(call->workspace), add_known, &known);
        buf_addf(&message, "%s%s%s", why.text, known.text.len ? "; there are: " : "",
                 buf_cstr(&known.text));
        answer(ret, false, buf_str(&message), NULL);
    } else if (resumed) {
        buf_addf(&message, "%s had ended and works again, in the background", id);
        answer(ret, true, buf_str(&message), id);
    } else {
        buf_addf(&message, "%s reads it at its next step", id);
        answer(ret, true, buf_str(&message), NULL);
    }
    buf_release(&known.text);
    return 0;
}
