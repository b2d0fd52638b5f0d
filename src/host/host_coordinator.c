/*
 * Coordinator mode: the main agent plans and delegates, and has no other tools; workers do the
 * work. This file has the switch, the main agent's tools and prompt in this mode, what the model is
 * told about it, and its line in the transcript. A resumed session follows its last line; a new
 * one, the environment.
 */
#include <string.h>

#include "agent/agent.h"
#include "agent/recall.h"
#include "agent/toolbox.h"
#include "base/arena.h"
#include "base/err.h"
#include "base/file.h"
#include "conf/conf.h"
#include "conf/option.h"
#include "context/reminder.h"
#include "guard/permit.h"
#include "guard/workspace.h"
#include "host/host_state.h"
#include "host/session.h"
#include "llm/dialect/dialect.h"
#include "store/transcript/load.h"
#include "tasks/agents.h"
#include "tasks/definition.h"

#define MAX_REMINDER ((size_t)16 << 10)

static const struct pool coordinator_pool = {.kind = POOL_COORDINATOR, .may_start = true};

bool host_coordinates(const struct host *h)
{
    return atomic_load(&h->coordinates);
}

/* ---- At the start ---- */

static bool wanted_by_environment(const struct conf *conf)
{
    const char *const names[] = {"TENAX_COORDINATOR", "CLAUDE_CODE_COORDINATOR_MODE"};

    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        const char *text = conf_env(conf, names[i]);

        if (text && *text)
            return strcmp(text, "0") != 0 && strcmp(text, "false") != 0;
    }
    return false;
}

#define SAYS_ON "Coordinator mode is on: "
#define SAYS_OFF "Coordinator mode is off: "

/* Whether the model of a resumed session was last told that the mode is on. */
static bool was_told(const struct recall *past)
{
    struct str rest = past ? buf_str(&past->context) : STR("");
    bool is_on = false;

    for (;;) {
        size_t on = str_find(rest, STR(SAYS_ON));
        size_t off = str_find(rest, STR(SAYS_OFF));

        if (on == rest.len && off == rest.len)
            return is_on;
        is_on = on < off;
        rest = str_from(rest, (is_on ? on : off) + 1);
    }
}

static int refuse_type(const struct host *h, struct err *err)
{
    if (!conf_get_str(h->conf, "agent").len)
        return 0;
    return err_set(err, ERR_BAD_INPUT,
                   "coordinator mode cannot be combined with an agent type (--agent, or the "
                   "setting agent)");
}

static void open_scratchpad(struct host *h)
{
    if (h->scratchpad || !session_is_kept(h->session) ||
        !conf_get_bool(h->conf, "coordinator.scratchpad", false))
        return;
    h->scratchpad = path_join(session_folder(h->session), "scratchpad");
    if (file_mkdirs(h->scratchpad, 0700, /*err=*/NULL) == 0)
        workspace_add_own(h->workspace, h->scratchpad);
    else
        mem_freep(&h->scratchpad);
}

int host_begin_coordinator(struct host *h, struct strv *ret_notes, struct err *err)
{
    const struct load_facts *facts = session_facts(h->session);
    bool wanted = wanted_by_environment(h->conf);
    bool was_on = facts && str_is(buf_str(&facts->mode), "coordinator");
    bool on = facts ? was_on : wanted;

    h->told_coordinating =
        !on && was_told(session_recall(h->session)); /* if it is on, the model is told again */
    h->recorded_coordinating = was_on && strcmp(session_source(h->session), "fork") != 0;

    if (facts && on)
        strv_addf(ret_notes, "this session is in coordinator mode; /coordinator off ends it");
    else if (facts && wanted)
        strv_addf(ret_notes, "this session is not in coordinator mode, whatever the environment "
                             "says; /coordinator on begins it");
    if (!on)
        return 0;
    if (refuse_type(h, err) < 0)
        return -1;
    open_scratchpad(h);
    agents_coordinate(h->agents, true);
    h->prompt.coordinates = true;
    atomic_store(&h->coordinates, true);
    return 0;
}

void host_record_coordinator(struct host *h)
{
    bool on = host_coordinates(h);

    if (on != h->recorded_coordinating)
        session_coordinator(h->session, on);
    h->recorded_coordinating = on;
}

/* A session without a file writes the line with its first input. */
static void record_switch(struct host *h)
{
    bool is_running = host_hold(h);
    bool has_file = is_running || (session_recall(h->session) &&
                                   strcmp(session_source(h->session), "resume") == 0);

    if (has_file && !is_running)
        (void)host_record(h);
    if (has_file)
        host_record_coordinator(h);
    host_let_go(h);
}

/* ---- Tools and prompt ---- */

int host_coordinator_tools(struct host *h, struct toolbox *all, struct toolbox **ret,
                           struct err *err)
{
    struct toolbox_spec spec = {
        .from = all,
        .shows_built_in = true,
        .wants = pool_wants,
        .wants_arg = (void *)&coordinator_pool,
        .conf = h->conf,
        .provider = &h->models.list[0],
        .permit = h->permit,
    };

    return toolbox_new(&spec, ret, err);
}

/* Both prompts are kept until the session ends: a request may still use the other one. */
struct str host_system(struct host *h)
{
    struct buf *text = host_coordinates(h) ? &h->coordinator_system : &h->system;

    if (!text->len)
        prompt_system(&h->prompt, h->conf, text);
    return buf_str(text);
}

/* ---- What the model is told ---- */

static void list_tools(struct toolbox *box, const struct pool *pool, struct buf *ret)
{
    const struct llm_tool *tools;
    size_t n, listed = 0;

    tools = toolbox_llm(box, &n);
    for (size_t i = 0; i < n; i++) {
        if (!pool || pool_has(pool, toolbox_find(box, tools[i].name)))
            buf_addf(ret, "%s%.*s", listed++ ? ", " : "", STR_ARG(tools[i].name));
    }
}

static void say_on(struct host *h, struct toolbox *mine, struct toolbox *all, struct buf *text)
{
    CLEANUP(definitions_unrefp) struct definitions *types = definitions_of_workers();
    struct pool worker = {
        .kind = h->args->given[OPT_BARE] ? POOL_BARE_WORKER : POOL_WORKER,
        .type = types->list.ptr[0],
    };

    buf_adds(text, SAYS_ON "you plan and hand out work, workers do it. Your tools: ");
    list_tools(mine, /*pool=*/NULL, text);
    buf_adds(text, ". The tools of a worker: ");
    list_tools(all, &worker, text);
    buf_addc(text, '.');
    if (h->scratchpad)
        buf_addf(text,
                 " You and all workers may read and write files in %s without asking; tell a "
                 "worker which file there it should read or write.",
                 h->scratchpad);
}

bool host_coordinator_news(struct host *h, struct buf *ret)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(MAX_REMINDER);
    bool on = host_coordinates(h);
    struct toolbox *mine, *all;

    if (on == h->told_coordinating)
        return false;
    h->told_coordinating = on;
    mine = host_toolbox(h);
    all = host_children_toolbox(h);
    if (on) {
        say_on(h, mine, all, &text);
    } else {
        buf_adds(&text, SAYS_OFF "you do the work yourself again. Your tools: ");
        list_tools(mine, /*pool=*/NULL, &text);
        buf_addc(&text, '.');
    }
    toolbox_unref(mine);
    toolbox_unref(all);
    reminder_add(ret, buf_str(&text));
    return true;
}

/* ---- Switching ---- */

int host_set_coordinator(struct host *h, bool on, struct err *err)
{
    if (on == host_coordinates(h))
        return 0;
    if (on && refuse_type(h, err) < 0)
        return -1;
    if (on)
        open_scratchpad(h);
    agents_coordinate(h->agents, on);
    h->prompt.coordinates = on;
    atomic_store(&h->coordinates, on);
    if (host_make_toolbox(h, err) < 0) {
        agents_coordinate(h->agents, !on);
        h->prompt.coordinates = !on;
        atomic_store(&h->coordinates, !on);
        return -1;
    }
    if (host_running(h))
        agent_set_system(h->agent, host_system(h));
    record_switch(h);
    return 0;
}
