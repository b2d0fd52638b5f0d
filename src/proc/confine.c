/*
 * confine: the table of backends, and the rule that what cannot be enforced is refused. Any thread.
 */
#include "proc/confine.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/test_switch.h"
#include "proc/confine_probe.h"
#include "proc/landlock.h"
#include "sync/thread.h"

#define CONFINE_WHY_BYTES 256

static bool confine_probe_none(char *ret_why, size_t size, pid_t *ret_leaving)
{
    *ret_leaving = 0;
    snprintf(ret_why, size, "it confines nothing");
    return true;
}

const struct confine_backend confine_backends[] = {
    {"landlock", "Landlock, seccomp and namespaces", confine_probe_landlock, true},
    {"namespaces", "seccomp and namespaces", confine_probe_namespaces, false},
    {"none", "commands may do all that you may", confine_probe_none, false},
};
const size_t confine_backend_count = ARRAY_LEN(confine_backends);

/* What a view needs, found out in the same way. */
static const struct confine_backend confine_views[] = {
    {"overlay", "folders seen through an overlay", confine_probe_overlay, false},
    {"observe", "programs and files recorded", confine_probe_observe, false},
};

static struct confine_state {
    enum {
        CONFINE_UNASKED,
        CONFINE_ASKED,
        CONFINE_KNOWN
    } stage; /* of the unknown part */
    bool works;
    char why[CONFINE_WHY_BYTES];
    pid_t leaving; /* the process that tried it, until it is reaped; 0: none */
} confine_states[ARRAY_LEN(confine_backends) + ARRAY_LEN(confine_views)];
static struct gate confine_gate = GATE_INIT; /* of their stages */

const struct confine_backend *confine_backend_named(const char *name)
{
    for (size_t i = 0; i < confine_backend_count; i++) {
        if (strcmp(confine_backends[i].name, name) == 0)
            return &confine_backends[i];
    }
    return NULL;
}

static void confine_find_out(const struct confine_backend *by, struct confine_state *state)
{
    pid_t leaving = 0;

    state->works = by->probe(state->why, sizeof(state->why), &leaving);
    gate_take(&confine_gate);
    state->stage = CONFINE_KNOWN;
    state->leaving = leaving;
    gate_wake(&confine_gate);
    gate_give(&confine_gate);
}

void confine_reap(bool waits)
{
    for (size_t i = 0; i < ARRAY_LEN(confine_states); i++) {
        struct confine_state *state = &confine_states[i];
        pid_t leaving;
        pid_t gone = 0;

        gate_take(&confine_gate);
        leaving = state->leaving;
        state->leaving = 0; /* ours alone */
        gate_give(&confine_gate);
        if (!leaving)
            continue;
        do
            gone = waitpid(leaving, NULL, waits ? 0 : WNOHANG);
        while (gone < 0 && errno == EINTR);
        gate_take(&confine_gate);
        if (!gone)
            state->leaving = leaving;
        gate_give(&confine_gate);
    }
}

static bool confine_know(const struct confine_backend *by, struct confine_state *state,
                         const char **ret_why)
{
    bool is_first;

    gate_take(&confine_gate);
    is_first = state->stage == CONFINE_UNASKED;
    if (is_first)
        state->stage = CONFINE_ASKED;
    while (!is_first && state->stage != CONFINE_KNOWN)
        (void)gate_wait(&confine_gate, /*deadline_ms=*/-1);
    gate_give(&confine_gate);
    if (is_first)
        confine_find_out(by, state);
    else
        confine_reap(/*waits=*/false);
    if (ret_why)
        *ret_why = state->why;
    return state->works;
}

bool confine_works(const struct confine_backend *by, const char **ret_why)
{
    return confine_know(by, &confine_states[by - confine_backends], ret_why);
}

bool confine_overlay_works(const char **ret_why)
{
    return confine_know(&confine_views[0], &confine_states[confine_backend_count], ret_why);
}

bool confine_observe_works(const char **ret_why)
{
    return confine_know(&confine_views[1], &confine_states[confine_backend_count + 1], ret_why);
}

static bool confine_is_none(const struct confine_backend *by)
{
    return by == &confine_backends[confine_backend_count - 1];
}

const struct confine_backend *confine_backend(void)
{
    const char *wanted = test_switch("TENAX_TEST_SANDBOX");
    const struct confine_backend *by = wanted ? confine_backend_named(wanted) : NULL;

    if (wanted && !by)
        BUG("TENAX_TEST_SANDBOX=%s: there is no such backend", wanted);
    for (size_t i = 0; !by && i < confine_backend_count; i++) {
        if (confine_works(&confine_backends[i], NULL))
            by = &confine_backends[i];
    }
    return by;
}

bool confine_is_asked(const struct confinement *c)
{
    return c && (c->write || c->read_only || c->hidden || c->net != CONFINE_NET_OPEN ||
                 c->overlay_count || c->own_processes || c->observe || c->private_dir);
}

static int confine_check_paths(const char *const *list, size_t *count, struct err *err)
{
    for (; list && *list; list++) {
        if (**list != '/')
            return err_set(err, ERR_BAD_INPUT, "cannot confine to '%s': not an absolute path",
                           *list);
        if (++*count > CONFINE_MAX_PATHS)
            return err_set(err, ERR_TOO_BIG, "more than %d paths to confine a command to",
                           CONFINE_MAX_PATHS);
    }
    return 0;
}

static bool confine_has_root(const char *const *list)
{
    for (; list && *list; list++) {
        if (!(*list)[strspn(*list, "/")])
            return true;
    }
    return false;
}

static int confine_check_overlay(const struct confine_overlay *o, struct err *err)
{
    const char *paths[CONFINE_MAX_LOWER + 4] = {o->at, o->upper, o->work};
    size_t count = 0;

    while (o->lower && o->lower[count] && count <= CONFINE_MAX_LOWER) {
        paths[3 + count] = o->lower[count];
        count++;
    }
    if (!count || count > CONFINE_MAX_LOWER)
        return err_set(err, ERR_BAD_INPUT, "an overlay has 1 to %d lower folders, not %zu",
                       CONFINE_MAX_LOWER, count);
    for (size_t i = 0; i < 3 + count; i++) {
        if (!paths[i] || paths[i][0] != '/' || !paths[i][1])
            return err_set(err, ERR_BAD_INPUT, "cannot use '%s' in an overlay",
                           paths[i] ? paths[i] : "");
    }
    return 0;
}

static int confine_check_overlays(const struct confinement *c, struct err *err)
{
    const char *why;

    if (c->overlay_count > CONFINE_MAX_OVERLAYS)
        return err_set(err, ERR_TOO_BIG, "more than %d overlays", CONFINE_MAX_OVERLAYS);
    for (size_t i = 0; i < c->overlay_count; i++) {
        if (confine_check_overlay(&c->overlays[i], err) < 0)
            return -1;
    }
    if (c->overlay_count && !confine_overlay_works(&why))
        return err_set(err, ERR_UNSUPPORTED, "overlays cannot be mounted here: %s", why);
    return 0;
}

int confine_check(const struct confinement *c, struct err *err)
{
    const struct confine_backend *by;
    const char *why;
    size_t count = 0;

    if (!confine_is_asked(c))
        return 0;
    if (confine_check_paths(c->write, &count, err) < 0 ||
        confine_check_paths(c->read_only, &count, err) < 0 ||
        confine_check_paths(c->hidden, &count, err) < 0 ||
        confine_check_paths(c->shown, &count, err) < 0)
        return -1;
    if (confine_check_paths(c->sockets, &count, err) < 0)
        return -1;
    if (c->sockets && c->sockets[0] && c->net == CONFINE_NET_OPEN)
        return err_set(err, ERR_BAD_INPUT, "sockets by path need a network that is closed");
    if (confine_has_root(c->read_only) || confine_has_root(c->hidden))
        return err_set(err, ERR_BAD_INPUT, "the root can neither be hidden nor read-only");
    if (confine_check_paths(c->observed, &count, err) < 0 || confine_check_overlays(c, err) < 0)
        return -1;
    if (confine_check_paths(c->readable, &count, err) < 0)
        return -1;
    if ((!c->readable && c->net == CONFINE_NET_TRIAL) ||
        (c->readable && (!c->own_processes || !c->observe || !c->write)))
        return err_set(err, ERR_BAD_INPUT, "a trial needs own processes and to be observed");
    if (c->is_view && c->net != CONFINE_NET_OPEN)
        return err_set(err, ERR_BAD_INPUT, "a view has the network that is outside");
    if (!c->is_view && c->private_dir)
        return err_set(err, ERR_BAD_INPUT, "only a view begins in a private folder");
    if (c->is_view)
        return 0;
    by = c->by ? c->by : confine_backend();
    if (confine_is_none(by))
        return err_set(err, ERR_UNSUPPORTED, "commands cannot be confined here");
    if (!confine_works(by, &why))
        return err_set(err, ERR_UNSUPPORTED, "commands cannot be confined by %s: %s", by->name,
                       why);
    if (c->net == CONFINE_NET_OPEN && c->unix_sockets &&
        (!by->uses_landlock || landlock_abi() < LANDLOCK_ABI_SCOPES))
        return err_set(err, ERR_UNSUPPORTED,
                       "unix sockets cannot be open together with the network: abstract ones would "
                       "reach out of the sandbox");
    return 0;
}
