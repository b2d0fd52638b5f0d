/*
 * The runner of the registry's handlers: a struct hook_runner for the agent.
 *
 * All handlers that match run at once, each within its time. Their outputs are merged in the order
 * of registration, not of completion: the same hooks give the same outcome. A handler that fails or
 * is late does not count, and the user is notified. The same handler in several settings files runs
 * once. A cancel ends everything at once; running handlers are then ended in the background, and
 * none is left when the runner is freed.
 */
#pragma once

#include "base/str.h"

struct buf;
struct conf;
struct hook_registry;
struct hook_runner;
struct hook_watch;
struct net;
struct runner;
struct spending;
struct workspace;

/* All lent, and alive until runner_free(). */
struct runner_spec {
    const struct conf *conf;
    struct hook_registry *registry;
    struct workspace *workspace;
    const char *session, *entrypoint; /* for commands (program.h) */
    /* "anthropic/claude-sonnet-5", the model in use now: prompts go to its provider. Any thread. */
    void (*model)(void *arg, struct buf *ret);
    void *model_arg;
    struct spending *spending; /* where questions to a model are paid; NULL: they cost nothing */
    /* A hook in the background objects: the model is notified, and a turn started if none runs.
     * NULL: not possible. Any thread. */
    void (*wake)(void *arg, struct str text);
    void *wake_arg;
    /* Receives the progress of those in the background, if the run they began in was watched. NULL:
     * none. Any thread. */
    struct hook_watch *watch;
};

struct runner *runner_new(const struct runner_spec *spec);
void runner_mute(struct runner *r); /* wake and watch are not called from here on: whom they told
                                       goes */
void runner_free(struct runner *r); /* no run is active any more; NULL is fine */
/* Before the first event. NULL: only scripted models can be asked, and no server. */
void runner_set_net(struct runner *r, struct net *net);
struct hook_runner *runner_hooks(struct runner *r);
