/*
 * place: folders and a sandbox like those of a session in dir. Main thread.
 */
#include "cmd/place.h"

#include "conf/conf.h"
#include "guard/permit.h"
#include "guard/sandbox.h"
#include "guard/workspace.h"
#include "host/connect.h"
#include "llm/door.h"
#include "net/net.h"

void place_release(struct cmd_place *p)
{
    sandbox_free(p->sandbox);
    permit_free(p->permit);
    workspace_unref(p->workspace);
}

int place_make(struct cmd_place *p, const struct conf *conf, const char *dir, bool insists,
               struct strv *ret_notes, struct err *err)
{
    struct sandbox_spec spec = {.conf = conf, .insists = insists};
    struct net_options network;

    door_hide_keys(conf); /* which no command gets */
    p->conf = conf;
    p->workspace = workspace_new(dir, conf_home(conf), conf_environ(conf));
    if (permit_new(conf, p->workspace, ret_notes, &p->permit, err) < 0)
        return -1;
    connect_options(conf, &network);
    spec.workspace = p->workspace;
    spec.upstream = network.proxy;
    spec.upstream_plain = network.plain_proxy;
    spec.no_proxy = network.no_proxy;
    p->sandbox = sandbox_new(&spec, ret_notes);
    permit_set_sandbox(p->permit, p->sandbox);
    return 0;
}
