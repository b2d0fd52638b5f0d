/*
 * The host's side of the session's team: what tasks/team/team.h needs of the main agent, hooks and
 * observers. Callbacks; any thread.
 */
#include "agent/agent.h"
#include "base/err.h"
#include "base/id.h"
#include "host/asks.h"
#include "host/child.h"
#include "host/host_state.h"
#include "host/session.h"
#include "llm/message.h"
#include "tasks/team/team.h"

/* ---- Callbacks; arg is the host. ---- */

static void tell_lead(void *arg, struct str text)
{
    struct host *h = arg;
    struct agent_input in = {.is_notice = true,
                             .is_literal = true,
                             .when = INPUT_NEXT,
                             .message = message_user_text(text)};

    id_uuid(in.uuid);
    agent_send(h->agent, &in);
}

static int ask_hooks(void *arg, const char *agent, const char *event, struct str members,
                     struct buf *ret_reason, struct err *err)
{
    struct host *h = arg;

    return children_ask_hooks(h->children, agent, event, members, h->cancel, ret_reason, err);
}

/* A run that waits for the last member checks again. */
static void on_change(void *arg)
{
    struct host *h = arg;

    if (!h->is_interactive && !team_is_working(h->team))
        agent_nudge(h->agent);
}

void host_make_team(struct host *h)
{
    struct team_spec spec = {
        .conf = h->conf,
        .session = session_id(h->session),
        .spawner = children_spawner(h->children),
        .tasks = h->tasks,
        .asker = host_asker(h),
        .permit = h->permit,
        .folder = session_is_kept(h->session) ? session_folder(h->session) : NULL,
        .tell_lead = tell_lead,
        .hook = ask_hooks,
        .changed = on_change,
        .arg = h,
    };

    h->team = team_new(&spec);
}

void host_adopt_team(struct host *h)
{
    struct err err = {0};

    if (session_recall(h->session) && team_adopt(h->team, h->cancel, &err) < 0)
        host_on_trouble(h, str_of(err.text));
}

struct team *host_team(struct host *h)
{
    return h->team;
}
