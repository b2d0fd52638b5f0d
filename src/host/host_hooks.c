/*
 * The host's side of hooks: the model for their questions, the session title, text for the agent,
 * and blocking of changed settings.
 */
#include "agent/agent.h"
#include "agent/hook_sight.h"
#include "base/arena.h"
#include "base/err.h"
#include "base/log.h"
#include "hooks/registry.h"
#include "hooks/runner.h"
#include "hooks/settings.h"
#include "host/host_state.h"
#include "host/session.h"
#include "host/watch.h"
#include "json/json.h"
#include "json/jw.h"
#include "llm/provider.h"

/* The model for a hook's question, in the form of --model. */
void host_say_model(void *arg, struct buf *ret)
{
    models_want(&((struct host *)arg)->models, ret);
}

void host_say_title(void *arg, struct buf *ret)
{
    struct host *h = arg;

    session_name(h->session, ret);
}

/* Called by a hook. */
void host_take_title(void *arg, struct str title)
{
    struct host *h = arg;
    struct err err = {0};

    if (session_rename(h->session, title, &err) < 0 && err.code != ERR_UNSUPPORTED)
        log_debug("host", "a hook's title: %s", err.text);
}

/* A background hook has text for the model. */
static void host_hear_hook(void *arg, struct str text)
{
    struct agent *a = host_running(arg);

    if (a)
        agent_notify(a, INPUT_BY_HOOK, /*id=*/STR(""), text, /*wake=*/true);
}

/* Reports progress of a background hook; never waits for observers. */
static void host_see_hook(void *arg, const struct hook_news *news)
{
    struct agent *a = host_running(arg);

    if (a)
        agent_tell_handler(a, news, /*cancel=*/NULL);
}

static struct runner *make_runner(struct host *h, struct hook_registry *registry,
                                  struct workspace *w, struct spending *spending)
{
    struct runner_spec spec = {
        .conf = h->conf,
        .registry = registry,
        .workspace = w,
        .session = session_id(h->session),
        .entrypoint = host_entrypoint(h),
        .model = host_say_model,
        .model_arg = h,
        .spending = spending,
        .wake = host_hear_hook,
        .wake_arg = h,
        .watch = &h->aside_watch,
    };

    return runner_new(&spec);
}

/* Hooks of settings and session come first, those of clients after them. */
void host_make_hooks(struct host *h, struct strv *ret_notes)
{
    h->aside_watch = (struct hook_watch){host_see_hook, h};
    h->registry = hook_registry_new(settings_limit(h->conf));
    settings_read(h->conf, h->registry, ret_notes);
    h->runner = make_runner(h, h->registry, h->workspace, h->spending);
    h->hooks[h->hook_count++] = runner_hooks(h->runner);
}

/* ---- Hooks of an agent's definition ---- */

struct agent_hooks {
    struct hook_registry *registry;
    struct runner *runner;
    struct hook_runner *list[HOST_MAX_HOOKS + 2]; /* the session's, then its own, then NULL */
};

/* An agent other than the main one stops with SubagentStop. */
static const struct json *rename_stop(const struct json *hooks, struct arena *arena)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(BUF_NO_LIMIT);
    const struct json *renamed = NULL;
    struct jw w;

    jw_init(&w, &text, 0);
    jw_object(&w);
    JSON_EACH(hooks, it) {
        struct str key = json_key(it);

        jw_key_str(&w, str_is(key, "Stop") ? STR("SubagentStop") : key);
        jw_json(&w, it);
    }
    jw_object_end(&w);
    (void)json_parse_copy(arena, buf_str(&text), &renamed, /*ret_info=*/NULL, /*err=*/NULL);
    return renamed;
}

struct agent_hooks *agent_hooks_new(struct host *h, const struct json *hooks, const char *file,
                                    struct workspace *w, struct spending *spending)
{
    struct agent_hooks *a = mem_zalloc(sizeof(*a));
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    CLEANUP(strv_release) struct strv warnings = STRV_INIT;
    struct skill_hooks own = {.root = "agent", .file = file};
    size_t n = 0;

    own.hooks = rename_stop(hooks, &arena);
    a->registry = hook_registry_new(settings_limit(h->conf));
    if (own.hooks)
        (void)settings_read_skill(h->conf, &own, a->registry, &warnings, /*err=*/NULL);
    for (size_t i = 0; i < warnings.len; i++)
        host_on_trouble(h, str_of(warnings.ptr[i]));
    a->runner = make_runner(h, a->registry, w, spending);
    runner_set_net(a->runner, h->net);
    for (; h->hooks[n]; n++)
        a->list[n] = h->hooks[n];
    a->list[n] = runner_hooks(a->runner);
    return a;
}

struct hook_runner *const *agent_hooks_list(const struct agent_hooks *a)
{
    return a->list;
}

void agent_hooks_free(struct agent_hooks *a)
{
    if (!a)
        return;
    runner_mute(a->runner);
    runner_free(a->runner);
    hook_registry_free(a->registry);
    mem_freep(&a);
}

void host_end_as(struct host *h, const char *reason)
{
    struct agent *a = host_running(h);

    if (a)
        agent_end_as(a, reason);
}

void host_on_file(void *arg, const char *path, const char *event)
{
    struct agent *a = host_running(arg);

    if (a)
        agent_tell_file(a, path, event);
}

void host_on_watch(void *arg, const struct strv *paths)
{
    watch_ask(((struct host *)arg)->watch, paths);
}

bool host_wants_change(struct host *h, const char *source)
{
    return hooks_want(h->hooks, HOOK_CONFIG_CHANGE, str_of(source));
}

bool host_ask_change(struct host *h, const char *source, const char *path)
{
    return host_may_change(h, source, path);
}

bool host_may_change(void *arg, const char *source, const char *path)
{
    struct agent *a = host_running(arg);

    return !a || agent_may_change(a, source, path);
}
