/*
 * What the session makes of its tasks: their events go into the feed, and a notification becomes
 * input of the agent that started the task, or of the nearest one above it that is still there. Any
 * thread.
 */
#include <stdio.h>
#include <string.h>

#include "agent/agent.h"
#include "agent/event.h"
#include "agent/task.h"
#include "base/arena.h"
#include "base/id.h"
#include "host/child.h"
#include "host/feed.h"
#include "host/inside.h"
#include "host/session.h"
#include "llm/message.h"
#include "tasks/team/team.h"

#define AWAITED (TASK_BIT(TASK_AGENT) | TASK_BIT(TASK_WORKFLOW) | TASK_BIT(TASK_REMOTE))

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
        agent_input_release(&in);
    }
    if (main) /* it may have waited for this end */
        agent_nudge(main);
}

void host_listen_tasks(struct host *h)
{
    struct task_listener listener = {tasks_emit, tasks_notify, h};

    task_table_listen(h->tasks, &listener);
}

/* A run without a user in front of it ends when its agents have. */
bool host_awaits_tasks(void *arg)
{
    struct host *h = arg;

    return !h->is_interactive &&
           (team_is_working(h->team) ||
            task_running(h->tasks, AWAITED, /*owner=*/NULL, /*background=*/true));
}
