/*
 * host_settings: settings that change while a session runs. What is read when it is needed needs no
 * more than the next snapshot (reload.h); the model and the effort are told to the agent. Any
 * thread.
 */
#include <stdatomic.h>

#include "base/buf.h"
#include "base/err.h"
#include "conf/conf.h"
#include "host/inside.h"
#include "host/reload.h"
#include "json/json.h"
#include "llm/effort.h"
#include "llm/provider.h"

void host_reload(struct host *h)
{
    reload_look(h->reload);
}

void host_on_reload(struct host *h, void (*fn)(void *arg), void *arg, void (*release)(void *arg))
{
    reload_also(h->reload, fn, arg, release);
}

void host_heed_effort(struct host *h)
{
    enum effort effort = EFFORT_UNSET;

    (void)effort_parse(conf_get_str(h->conf, "effortLevel"), &effort);
    host_set_effort(h, effort);
}

int host_lay_over(struct host *h, const struct json *settings, struct err *err)
{
    CLEANUP(buf_release) struct buf name = BUF_INIT(1024);
    CLEANUP(provider_release) struct provider p = {0};
    struct str model = json_get_str(settings, "model");

    /* Looked for first: one that cannot be had changes nothing. */
    if (model.len && host_select(h, model, &p, err) < 0)
        return -1;
    if (reload_lay_over(h->reload, settings, err) < 0)
        return -1;
    if (json_get(settings, "effortLevel"))
        host_heed_effort(h);
    return json_get(settings, "model") ? host_set_model(h, model, &name, err) : 0;
}
