/*
 * The session's tasks: their events go to the feed, and a notification becomes input of the agent
 * that started the task, or of its nearest ancestor that still exists. Any thread.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "agent/agent.h"
#include "agent/event.h"
#include "agent/task.h"
#include "agent/toolbox.h"
#include "base/arena.h"
#include "base/err.h"
#include "base/id.h"
#include "conf/conf.h"
#include "conf/option.h"
#include "context/reminder.h"
#include "goal/goal.h"
#include "guard/workspace.h"
#include "hooks/settings.h"
#include "host/agent_memory.h"
#include "host/child.h"
#include "host/events/feed.h"
#include "host/host_state.h"
#include "host/hub.h"
#include "host/session.h"
#include "llm/message.h"
#include "llm/provider.h"
#include "store/transcript/load.h"
#include "tasks/agents.h"
#include "tasks/definition.h"
#include "tasks/entries.h"
#include "tasks/team/team.h"
#include "tools/background.h"

#define AWAITED                                                                                    \
    (TASK_BIT(TASK_AGENT) | TASK_BIT(TASK_WORKFLOW) | TASK_BIT(TASK_REMOTE) |                      \
     TASK_BIT(TASK_MONITOR))

static void tasks_emit(void *arg, struct event *e)
{
    struct host *h = arg;

    gate_take(&h->gate);
    e->by.session = arena_cstr(&e->arena, str_of(session_id(h->session)));
    e->by.agent = IDENTITY_MAIN;
    e->turn = h->turn;
    e->step = h->step;
    gate_give(&h->gate);
    feed_emit(h->feed, e, /*cancel=*/NULL);
}

/* Runs Notification hooks. */
static void host_tell_completed(struct agent *main, const struct task_view *v)
{
    CLEANUP(buf_release) struct buf message = BUF_INIT(2 * TASK_MAX_SUMMARY);

    task_write_summary(v, &message);
    agent_tell(main, "agent_completed", /*title=*/NULL, buf_str(&message));
}

static void tasks_notify(void *arg, const char *owner, const struct task_view *v, struct str text,
                         bool is_quiet)
{
    struct host *h = arg;
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    struct agent_input in = {.is_notice = true, .is_literal = true, .when = INPUT_NEXT};
    struct agent *main = host_running(h);
    struct task_view above;

    if (!is_quiet) {
        in.message = message_user_text(text);
        id_uuid(in.uuid);
        snprintf(in.run, sizeof(in.run), "%s", v->run);
        while (strcmp(owner, IDENTITY_MAIN) != 0 && !children_send(h->children, owner, &in))
            owner =
                task_look(h->tasks, str_of(owner), &arena, &above) ? above.owner : IDENTITY_MAIN;
        if (in.message && main)
            agent_send(main, &in);
        if (main && v->kind == TASK_AGENT && task_is_over(v->state))
            host_tell_completed(main, v);
        agent_input_release(&in);
    }
    if (main) /* it may have waited for this end */
        agent_nudge(main);
}

/* ---- Agents ---- */

/* The agent type of the session itself: from --agent or the setting, else that of the resumed
 * session. */
static struct str own_type(struct host *h, bool *ret_restored)
{
    const struct load_facts *facts = session_facts(h->session);
    struct str name = conf_get_str(h->conf, "agent");

    *ret_restored = !name.len && facts && !host_coordinates(h);
    return *ret_restored ? buf_str(&facts->agent_setting) : name;
}

static int host_become(struct host *h, struct strv *ret_notes, struct err *err)
{
    bool restored;
    struct str name = own_type(h, &restored);
    CLEANUP(provider_release) struct provider model = {0};
    CLEANUP(buf_release) struct buf model_name = BUF_INIT(1024);
    CLEANUP(buf_release) struct buf known = BUF_INIT(1000);
    const struct definition *type;
    enum permit_mode mode;

    if (!name.len)
        return 0;
    definitions_unref(h->types_read);
    h->types_read = agents_types(h->agents);
    type = definitions_find(h->types_read, name);
    VEC_EACH(&h->types_read->list, it) {
        if (!(*it)->shadowed_by)
            buf_addf(&known, "%s%s", known.len ? ", " : "", (*it)->name);
    }
    h->lacks_type = !type;
    if (!type && h->awaits_types)
        return 0;
    if (!type && restored) {
        strv_addf(ret_notes,
                  "this session ran as the agent type '%.*s', which is gone; it continues without "
                  "one",
                  STR_ARG(str_clip(name, 64)));
        return 0;
    }
    if (!type)
        return err_set(err, ERR_BAD_INPUT, "there is no agent type '%.*s'; there are: %s",
                       STR_ARG(str_clip(name, 64)), buf_cstr(&known));
    if (restored)
        strv_addf(ret_notes, "this session runs as the agent type '%s'", type->name);
    h->pool = (struct pool){.kind = POOL_MAIN, .type = type, .may_start = true};
    if (type->prompt.len)
        prompt_spec_replace(&h->prompt, type->prompt);
    if (!h->args->given[OPT_PERMISSION_MODE] && !h->args->given[OPT_DANGEROUSLY_SKIP_PERMISSIONS] &&
        permit_mode_parse(agents_mode_of(h->permit, type), &mode) &&
        permit_set_mode(h->permit, mode, err) < 0)
        return err_prefix(err, "agent %s", type->name);
    if (type->hooks) {
        struct skill_hooks own = {.hooks = type->hooks, .root = type->name, .file = type->path};

        (void)settings_read_skill(h->conf, &own, h->registry, ret_notes, /*err=*/NULL);
    }
    if (!type->model.len || h->args->given[OPT_MODEL])
        return 0;
    if (h->agent)
        return host_set_model(h, type->model, &model_name, err) < 0
                   ? err_prefix(err, "agent %s", type->name)
                   : 0;
    if (host_select(h, type->model, &model, err) < 0)
        return err_prefix(err, "agent %s", type->name);
    models_replace_first(&h->models, &model);
    return 0;
}

void host_record_type(struct host *h)
{
    const struct load_facts *facts = session_facts(h->session);
    const char *name = h->pool.type ? h->pool.type->name : "";
    bool is_there = facts && str_is(buf_str(&facts->agent_setting), name) &&
                    strcmp(session_source(h->session), "fork") != 0;

    if (*name && !is_there)
        session_agent_type(h->session, str_of(name));
}

bool host_take_first_prompt(struct host *h, struct buf *ret)
{
    struct str text = h->pool.type ? str_trim(h->pool.type->initial_prompt) : STR("");

    if (!text.len || session_recall(h->session) || atomic_exchange(&h->gave_first_prompt, true))
        return false;
    buf_add(ret, text);
    return true;
}

/* Where there is none to take notes: the session has begun. */
static int become_late(struct host *h, struct err *err)
{
    CLEANUP(strv_release) struct strv notes = STRV_INIT;

    if (host_become(h, &notes, err) < 0)
        return -1;
    for (size_t i = 0; i < notes.len; i++)
        host_notice(h, LEVEL_WARNING, str_of(notes.ptr[i]));
    return 0;
}

int host_need_type(struct host *h, struct err *err)
{
    h->awaits_types = false;
    return h->lacks_type ? become_late(h, err) : 0;
}

int host_bring_types(struct host *h, struct str json, struct err *err)
{
    if (host_check_early(h, err) < 0 || agents_bring(h->agents, json, err) < 0)
        return -1;
    return h->lacks_type && (become_late(h, err) < 0 || host_make_toolbox(h, err) < 0) ? -1 : 0;
}

static int64_t input_since(void *arg)
{
    struct host *h = arg;

    return inputs_oldest_ms(h->inputs, INPUTS_ALL);
}

int host_make_agents(struct host *h, struct strv *ret_notes, struct err *err)
{
    struct agents_spec spec = {
        .conf = h->conf,
        .tasks = h->tasks,
        .spawner = children_spawner(h->children),
        .crew = hub_crew(h->hub),
        .session = session_id(h->session),
        .folder = session_is_kept(h->session) ? session_folder(h->session) : NULL,
        .is_headless = !h->is_interactive,
        .input_since = input_since,
        .arg = h,
        .is_bare = h->args->given[OPT_BARE],
    };

    h->agent_tool = tool_agent_entry;
    if (agents_new(&spec, &h->agents, err) < 0)
        return -1;
    h->agent_tool.arg = h->agents;
    h->message_tool = tool_send_message_entry;
    h->message_tool.arg = h->agents;
    if (host_begin_coordinator(h, ret_notes, err) < 0)
        return -1;
    return host_become(h, ret_notes, err);
}

static bool offers_agents(struct host *h)
{
    struct toolbox *box = host_toolbox(h);
    bool has = toolbox_find(box, STR("Agent")) != NULL;

    toolbox_unref(box);
    return has;
}

static void add_types(struct host *h, bool first, struct buf *ret)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(BUF_NO_LIMIT);
    CLEANUP(buf_release) struct buf json = BUF_INIT(BUF_NO_LIMIT);

    if (!offers_agents(h))
        return;
    agents_tell_types(h->agents, first, &text, &json);
    reminder_add(ret, buf_str(&text));
    if (json.len)
        strv_add(&h->type_lines, buf_str(&json));
}

void host_say_types(struct host *h)
{
    buf_clear(&h->opening);
    buf_add(&h->opening, buf_str(&h->context));
    add_types(h, /*first=*/true, &h->opening);
    if (h->pool.type)
        agent_memory_open(h->conf, h->workspace, h->pool.type->memory, str_of(h->pool.type->name),
                          &h->opening);
    if (!session_recall(h->session)) /* else with the next input */
        (void)host_coordinator_news(h, &h->opening);
}

void host_news(void *arg, struct cancel *cancel, struct buf *ret)
{
    struct host *h = arg;

    bool switched;

    briefing_news(&h->briefing, cancel, ret);
    switched = host_coordinator_news(h, ret);
    add_types(h, switched, ret);
}

void host_near(void *arg, const char *path, struct cancel *cancel, struct buf *ret)
{
    briefing_near(&((struct host *)arg)->briefing, path, cancel, ret);
}

void host_again(void *arg, struct cancel *cancel, struct buf *ret)
{
    struct host *h = arg;

    briefing_again(&h->briefing, cancel, ret);
    if (h->fitting)
        h->fitting(h->fitting_arg, (struct str){0}, /*ret_block=*/NULL, /*ret_attachment=*/NULL);
    if (ret->len)
        add_types(h, /*first=*/true, ret);
}

bool host_loaded(void *arg, struct agent_loaded *ret)
{
    return briefing_loaded(&((struct host *)arg)->briefing, ret);
}

bool host_attachment(void *arg, struct buf *ret)
{
    struct host *h = arg;

    if (!h->type_lines.len)
        return briefing_attachment(&h->briefing, ret);
    buf_adds(ret, h->type_lines.ptr[0]);
    mem_freep(&h->type_lines.ptr[0]);
    memmove(h->type_lines.ptr, h->type_lines.ptr + 1,
            --h->type_lines.len * sizeof(h->type_lines.ptr[0]));
    return true;
}

/* ---- Listened to ---- */

static void on_stopped(void *arg, const struct task_view *v, struct str text)
{
    struct host *h = arg;
    struct agent_input in = {.is_notice = true, .is_literal = true, .when = INPUT_NEXT};

    in.message = message_user_text(text);
    id_uuid(in.uuid);
    snprintf(in.run, sizeof(in.run), "%s", v->run);
    agent_send(h->agent, &in);
}

void host_recall_agents(struct host *h)
{
    CLEANUP(mem_freep) char *dir = workspace_cwd(h->workspace);

    if (session_recall(h->session) && strcmp(session_source(h->session), "fork") != 0)
        agents_recall(h->agents, session_path(h->session), dir, on_stopped, h);
}

void host_listen_tasks(struct host *h)
{
    struct task_listener listener = {tasks_emit, tasks_notify, h};

    task_table_listen(h->tasks, &listener);
}

/* Commands in the background are waited for as long as they print something now and then. A goal
 * has its own rule for them. */
static bool awaits_commands(struct host *h, int64_t *io_look_ms)
{
    int64_t patience_ms = conf_get_i64(h->conf, "goal.backgroundWait", 600) * 1000;
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    CLEANUP(buf_release) struct buf names = BUF_INIT(BUF_NO_LIMIT);
    CLEANUP(buf_release) struct buf text = BUF_INIT(BUF_NO_LIMIT);
    struct goal_ending goal;

    if (goal_ending(host_goal(h), &arena, &goal) && goal.is_own)
        return false;
    background_end_silent(h->workspace, patience_ms, &names, io_look_ms);
    if (names.len) {
        buf_addf(&text,
                 "stopped in the background, after %" PRId64 " s without output: %s "
                 "(goal.backgroundWait)",
                 patience_ms / 1000, buf_cstr(&names));
        host_notice(h, LEVEL_WARNING, buf_str(&text));
    }
    return task_running(h->tasks, TASK_BIT(TASK_SHELL), /*owner=*/NULL, /*background=*/true);
}

/* A headless run ends when its agents and commands have ended. */
bool host_awaits_tasks(void *arg, int64_t *io_look_ms)
{
    struct host *h = arg;

    return !h->is_interactive &&
           (team_is_working(h->team) ||
            task_running(h->tasks, AWAITED, /*owner=*/NULL, /*background=*/true) ||
            awaits_commands(h, io_look_ms));
}
