/*
 * Who may have a goal at all: settings, policies, trust, a session that is kept. Asked when one is
 * set, resumed and restored. Any thread.
 */
#include "base/err.h"
#include "conf/conf.h"
#include "goal/goal_state.h"

static int gate_policy(const struct goal *g, const char *key, struct err *err)
{
    if (!conf_get_bool(g->spec.conf, key, false))
        return 0;
    return err_set(
        err, ERR_DENIED,
        "goals work through a Stop hook, and %s is set in %.*s: take it out there to use "
        "them",
        key, STR_ARG(conf_origin(g->spec.conf, key)));
}

int goal_gate(struct goal *g, const char **ret_code, struct err *err)
{
    *ret_code = "goals_disabled";
    if (!conf_get_bool(g->spec.conf, "goal.enabled", true))
        return err_set(err, ERR_DENIED, "goals are turned off by goal.enabled in %.*s",
                       STR_ARG(conf_origin(g->spec.conf, "goal.enabled")));
    *ret_code = "policy_gate";
    if (gate_policy(g, "disableAllHooks", err) < 0 ||
        gate_policy(g, "allowManagedHooksOnly", err) < 0)
        return -1;
    *ret_code = "trust_gate";
    if (g->spec.is_interactive && !g->spec.host.is_trusted(g->spec.host.arg))
        return err_set(
            err, ERR_DENIED,
            "goals are for folders you trust, and this one is not: run `tenax trust add` "
            "here and start again");
    *ret_code = "no_persistence";
    if (!g->spec.is_kept)
        return err_set(err, ERR_UNSUPPORTED,
                       "a goal lives in its session, and this one is not kept: start without "
                       "--no-session-persistence");
    *ret_code = "";
    return 0;
}
