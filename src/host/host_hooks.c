/*
 * What hooks are given of a session and may do to it: the model their questions go to, its title,
 * words for the agent at once, a say in changes of settings.
 */
#include "agent/agent.h"
#include "agent/hook_sight.h"
#include "base/err.h"
#include "base/log.h"
#include "hooks/registry.h"
#include "hooks/runner.h"
#include "hooks/settings.h"
#include "host/host_state.h"
#include "host/session.h"
#include "host/watch.h"
#include "llm/provider.h"

/* The model that a hook's question goes by, as --model takes it. */
void host_say_model(void *arg, struct buf *ret)
{
    models_want(&((struct host *)arg)->models, ret);
}

void host_say_title(void *arg, struct buf *ret)
{
    struct host *h = arg;

    session_name(h->session, ret);
}

/* By a hook. */
void host_take_title(void *arg, struct str title)
{
    struct host *h = arg;
    struct err err = {0};

    if (session_rename(h->session, title, &err) < 0 && err.code != ERR_UNSUPPORTED)
        log_debug("host", "a hook's title: %s", err.text);
}

/* A hook in the background has something to say. */
static void host_hear_hook(void *arg, struct str text)
{
    struct agent *a = host_running(arg);

    if (a)
        agent_notify(a, INPUT_BY_HOOK, /*id=*/STR(""), text, /*wake=*/true);
}

/* Progress of a hook in the background. It never waits for observers. */
static void host_see_hook(void *arg, const struct hook_news *news)
{
    struct agent *a = host_running(arg);

    if (a)
        agent_tell_handler(a, news, /*cancel=*/NULL);
}

/* Hooks of settings and session come first, those of clients after them. */
void host_make_hooks(struct host *h, struct strv *ret_notes)
{
    struct runner_spec spec = {
        .conf = h->conf,
        .workspace = h->workspace,
        .session = session_id(h->session),
        .entrypoint = host_entrypoint(h),
        .model = host_say_model,
        .model_arg = h,
        .spending = h->spending,
        .wake = host_hear_hook,
        .wake_arg = h,
        .watch = &h->aside_watch,
    };

    h->aside_watch = (struct hook_watch){host_see_hook, h};
    h->registry = hook_registry_new(settings_limit(h->conf));
    settings_read(h->conf, h->registry, ret_notes);
    spec.registry = h->registry;
    h->runner = runner_new(&spec);
    h->hooks[h->hook_count++] = runner_hooks(h->runner);
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
