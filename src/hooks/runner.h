/*
 * Runs the registry's handlers: a struct hook_runner for the agent.
 *
 * All matching handlers run at the same time, each with its timeout. Their outputs are merged in
 * the order of registration, not of completion, so that the same hooks give the same outcome. A
 * handler that fails or times out is ignored, and the user is notified. The same handler in several
 * settings files runs once. A cancel ends the run at once; running handlers are ended in the
 * background, and none is left when the runner is freed.
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

/* All pointers must stay valid until runner_free(). */
struct runner_spec {
    const struct conf *conf;
    struct hook_registry *registry;
    struct workspace *workspace;
    const char *session, *entrypoint; /* for commands (program.h) */
    /* The model in use, "anthropic/claude-sonnet-5"; questions go to its provider. Any thread. */
    void (*model)(void *arg, struct buf *ret);
    void *model_arg;
    struct spending *spending; /* account for questions to a model; NULL = not counted */
    /* A background hook objects: tells the model, and starts a turn if none runs. May be NULL. Any
     * thread. */
    void (*wake)(void *arg, struct str text);
    void *wake_arg;
    /* Receives the progress of background handlers if their run was watched. May be NULL. Any
     * thread. */
    struct hook_watch *watch;
};

struct runner *runner_new(const struct runner_spec *spec);
void runner_mute(struct runner *r); /* wake and watch are not called any more */
void runner_free(struct runner *r); /* no run may be active; NULL is fine */
/* Call it before the first event. NULL = only scripted models, and no HTTP. */
void runner_set_net(struct runner *r, struct net *net);
struct hook_runner *runner_hooks(struct runner *r);
