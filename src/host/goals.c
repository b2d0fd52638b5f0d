/*
 * goals: the callbacks of struct goal_host. goal/goal.h documents their callers.
 */
#include "host/goals.h"

#include <stdlib.h>
#include <string.h>

#include "agent/recall.h"
#include "agent/task.h"
#include "agent/toolbox.h"
#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/sha256.h"
#include "conf/conf.h"
#include "goal/goal.h"
#include "hooks/handler.h"
#include "hooks/registry.h"
#include "host/hub.h"
#include "host/models.h"
#include "host/session.h"
#include "json/json.h"
#include "llm/ledger.h"
#include "llm/provider.h"
#include "store/transcript/load.h"
#include "sync/thread.h"
#include "tools/background.h"
#include "tools/tools.h"

struct goals {
    struct goals_spec spec;
    struct goal *goal;
    struct toolbox *judge_tools;
    struct provider judge;
    char *judge_name; /* the setting that chose it */
    struct buf anchor, terms, used;

    struct lock lock;             /* guards the fields below */
    struct hook_handler *handler; /* the goal's Stop hook; or NULL */
};

static void goals_emit(void *arg, struct event *e)
{
    struct goals *g = arg;

    g->spec.emit(g->spec.arg, e);
}

static int goals_wake(void *arg, struct err *err)
{
    struct goals *g = arg;

    return g->spec.wake(g->spec.arg, err);
}

static void goals_notify(void *arg, const char *type, struct str message)
{
    struct goals *g = arg;

    g->spec.notify(g->spec.arg, type, message);
}

/* ---- The Stop hook ---- */

/* Replaces the old hook. Other hooks are not touched. */
static void goals_arm(void *arg, struct str objective)
{
    struct goals *g = arg;
    struct handler_spec spec = {
        .type = HANDLER_PROMPT,
        .flags = HANDLER_REFEREE,
        .prompt = objective,
    };
    struct hook_entry where = {.event = HOOK_STOP, .source = HOOK_SESSION, .matcher = ""};
    struct hook_handler *made = objective.len ? hook_handler_new(&spec) : NULL;
    struct hook_handler *old;
    struct err err = {0};

    lock_take(&g->lock);
    old = g->handler;
    g->handler = made;
    if (old)
        (void)hook_registry_remove(g->spec.registry, HOOK_STOP, old);
    if (made && hook_registry_add(g->spec.registry, &where, made, &err) < 0)
        log_debug("host", "the goal's hook: %s", err.text);
    lock_give(&g->lock);
    hook_handler_unref(old);
}

static bool goals_is_armed(void *arg, struct str objective)
{
    struct goals *g = arg;
    bool is;

    lock_take(&g->lock);
    is = g->handler && str_eq(hook_handler_spec(g->handler)->prompt, objective) &&
         hook_registry_has(g->spec.registry, HOOK_STOP, g->handler);
    lock_give(&g->lock);
    return is;
}

/* ---- The judge ---- */

static struct provider *goals_judge(void *arg, struct err *err)
{
    struct goals *g = arg;
    CLEANUP(buf_release) struct buf want = BUF_INIT(8192);
    struct str setting = conf_get_str(g->spec.conf, "goal.judgeModel");

    if (setting.len)
        buf_add(&want, setting);
    else
        models_want(g->spec.models, &want);
    if (g->judge_name && str_is(buf_str(&want), g->judge_name))
        return &g->judge;
    provider_release(&g->judge);
    g->judge = (struct provider){0};
    mem_freep(&g->judge_name);
    if (provider_select(g->spec.conf, buf_str(&want), g->spec.cancel, &g->judge, err) < 0) {
        err_prefix(err, "the judge %s", buf_cstr(&want));
        return NULL;
    }
    g->judge_name = buf_take(&want);
    return &g->judge;
}

/* The judge, and the settings that determine where its requests go and with which key. */
static void goals_judge_name(void *arg, struct buf *ret)
{
    struct goals *g = arg;
    static const char *const keys[] = {"providers", "apiKeyHelper", "modelOverrides"};
    static const char *const names[] = {"ANTHROPIC_BASE_URL", "OPENAI_BASE_URL"};
    CLEANUP(buf_release) struct buf all = BUF_INIT(BUF_NO_LIMIT);
    struct str setting = conf_get_str(g->spec.conf, "goal.judgeModel");
    char hash[SHA256_HEX + 1];

    if (setting.len)
        buf_add(ret, setting);
    else
        models_want(g->spec.models, ret);
    for (size_t i = 0; i < ARRAY_LEN(keys); i++)
        buf_addf(&all, "%.*s\n", STR_ARG(json_raw(conf_get(g->spec.conf, keys[i]))));
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        const char *value = conf_env(g->spec.conf, names[i]);
        const char *given = getenv(names[i]);

        /* An argument of the command line is the user's own, unlike a file. */
        if (value && (!given || strcmp(value, given) != 0))
            buf_addf(&all, "%s=%s\n", names[i], value);
    }
    sha256_hex(buf_str(&all), hash);
    buf_addf(ret, GOAL_JUDGE_SETTINGS "%.16s", hash);
}

static int goals_store(void *arg, struct store **ret, struct err *err)
{
    const struct goals *g = arg;

    return hub_store(g->spec.hub, conf_home(g->spec.conf), g->spec.cancel, ret, err);
}

static struct net *goals_net(void *arg)
{
    struct goals *g = arg;
    struct err err = {0};
    struct net *net;

    if (!g->judge.dialect) /* scripted */
        return NULL;
    net = g->spec.net(g->spec.arg, &err);
    if (!net)
        log_debug("host", "no network for the judge: %s", err.text);
    return net;
}

/* ---- Other callbacks ---- */

struct agent_names {
    struct buf *names; /* may be NULL */
    size_t count;
    int64_t began_ms; /* start of the newest */
};

static bool add_agent(void *arg, const struct task_view *v)
{
    struct agent_names *to = arg;

    if (task_is_over(v->state) ||
        (v->kind != TASK_AGENT && v->kind != TASK_WORKFLOW && v->kind != TASK_REMOTE))
        return true;
    if (to->names)
        buf_addf(to->names, "%s%s (%.*s)", to->names->len ? ", " : "", v->name ? v->name : v->id,
                 STR_ARG(str_clip(v->description, 200)));
    if (v->began_ms > to->began_ms)
        to->began_ms = v->began_ms;
    to->count++;
    return true;
}

/* Counts background commands and all running agents. */
static size_t goals_background(void *arg, struct buf *names, int64_t *ret_began_ms)
{
    struct goals *g = arg;
    size_t n = background_running(g->spec.workspace, names, ret_began_ms);
    struct agent_names agents = {.names = names, .began_ms = *ret_began_ms};

    task_each(task_table_of(g->spec.workspace), add_agent, &agents);
    *ret_began_ms = agents.began_ms;
    return n + agents.count;
}

static void goals_title(void *arg, struct str text)
{
    struct goals *g = arg;

    session_title(g->spec.session, text);
}

static bool goals_is_trusted(void *arg)
{
    struct goals *g = arg;

    return conf_is_trusted(g->spec.conf);
}

static bool goals_has_price(void *arg)
{
    struct goals *g = arg;
    struct model now;

    models_figures(g->spec.models, &now);
    return model_price_known(&now);
}

/* Reads the newest goal_status of the transcript, and the goal's terms there. */
static void read_anchor(struct goals *g)
{
    const struct load_facts *facts = session_facts(g->spec.session);
    struct str line;

    buf_init(&g->anchor, BUF_NO_LIMIT);
    buf_init(&g->terms, BUF_NO_LIMIT);
    buf_init(&g->used, BUF_NO_LIMIT);
    if (facts) {
        session_fact_line(g->spec.session, &facts->goal_terms, &g->terms);
        session_fact_line(g->spec.session, &facts->goal_used, &g->used);
    }
    if (session_goal_line(g->spec.session, &line))
        buf_add(&g->anchor, line);
}

static int64_t output_so_far(struct session *s)
{
    const struct recall *past = session_recall(s);
    int64_t n = 0;

    if (!past)
        return 0;
    VEC_EACH(&past->ledger.rows, row) {
        n += row->usage.output;
    }
    return n;
}

static int make_judge_tools(struct goals *g, struct err *err)
{
    CLEANUP(strv_release) struct strv names = STRV_INIT;
    struct toolbox_spec spec = {
        .table = tools_table(),
        .only = &names,
        .conf = g->spec.conf,
        .provider = &g->spec.models->list[0],
    };

    strv_adds(&names, "Read");
    strv_adds(&names, "Grep");
    strv_adds(&names, "Glob");
    return toolbox_new(&spec, &g->judge_tools, err);
}

int goals_new(const struct goals_spec *spec, struct strv *ret_notes, struct goals **ret,
              struct err *err)
{
    struct goals *g = mem_zalloc(sizeof(*g));
    const char *source = session_source(spec->session);
    struct goal_spec goal = {
        .host =
            {
                .arg = g,
                .emit = goals_emit,
                .wake = goals_wake,
                .arm = goals_arm,
                .is_armed = goals_is_armed,
                .store = goals_store,
                .background = goals_background,
                .judge = goals_judge,
                .net = goals_net,
                .judge_name = goals_judge_name,
                .title = goals_title,
                .is_trusted = goals_is_trusted,
                .has_price = goals_has_price,
                .notify = goals_notify,
            },
        .session = session_id(spec->session),
        .folder = session_folder(spec->session),
        .home = conf_home(spec->conf),
        .dir = conf_dir(spec->conf),
        .environ = environ,
        .conf = spec->conf,
        .permit = spec->permit,
        .sandbox = spec->sandbox,
        .spending = spec->spending,
        .is_kept = session_is_kept(spec->session),
        .is_interactive = spec->is_interactive,
        .is_fork = strcmp(source, "fork") == 0,
        .forked_from = session_forked_from(spec->session),
        .output_tokens = output_so_far(spec->session),
        .resumes = strcmp(source, "startup") != 0,
        .cancel = spec->cancel,
    };

    g->spec = *spec;
    lock_init(&g->lock);
    read_anchor(g);
    if (make_judge_tools(g, err) < 0) {
        goals_free(g);
        return -1;
    }
    goal.judge_tools = g->judge_tools;
    goal.anchor = buf_str(&g->anchor);
    goal.terms = buf_str(&g->terms);
    goal.used = buf_str(&g->used);
    g->goal = goal_new(&goal, ret_notes);
    *ret = g;
    return 0;
}

void goals_free(struct goals *g)
{
    if (!g)
        return;
    goal_free(g->goal);
    goals_arm(g, STR(""));
    toolbox_unref(g->judge_tools);
    provider_release(&g->judge);
    mem_freep(&g->judge_name);
    buf_release(&g->anchor);
    buf_release(&g->terms);
    buf_release(&g->used);
    lock_release(&g->lock);
    mem_freep(&g);
}

struct goal *goals_goal(struct goals *g)
{
    return g->goal;
}
