/*
 * hub: a table guarded by a gate. Nothing is called with the gate held.
 */
#include "host/hub.h"

#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/vec.h"
#include "host/connect.h"
#include "host/host.h"
#include "net/net.h"
#include "store/store.h"
#include "sync/crew.h"
#include "sync/thread.h"

/* A network thread and its options. */
struct hub_net {
    struct net *net;
    char *ca_file, *proxy, *plain_proxy, *no_proxy; /* NULL: as in struct net_options */
    bool http2;
};

struct hub_session {
    struct host *host;
    size_t pins;
    bool is_leaving;
};

struct hub {
    struct crew *crew;
    struct gate gate; /* guards the fields below */
    VEC(struct hub_net) nets;
    bool is_connecting; /* another thread is starting one */
    VEC(struct hub_session) sessions;
    VEC(struct store *) stores; /* references, one for each home */
};

struct hub *hub_new(void)
{
    struct hub *hub = mem_zalloc(sizeof(*hub));

    gate_init(&hub->gate);
    hub->crew = crew_new();
    return hub;
}

void hub_free(struct hub *hub)
{
    if (!hub)
        return;
    if (hub->sessions.len)
        BUG("the hub goes before session %s", host_session(hub->sessions.ptr[0].host));
    crew_free(hub->crew);
    VEC_EACH(&hub->nets, n) {
        net_free(n->net);
        mem_freep(&n->ca_file);
        mem_freep(&n->proxy);
        mem_freep(&n->plain_proxy);
        mem_freep(&n->no_proxy);
    }
    vec_release(&hub->nets);
    vec_release(&hub->sessions);
    VEC_EACH(&hub->stores, s) {
        store_free(*s);
    }
    vec_release(&hub->stores);
    gate_release(&hub->gate);
    mem_freep(&hub);
}

struct crew *hub_crew(struct hub *hub)
{
    return hub->crew;
}

/* ---- The network ---- */

static char *dup_text(const char *text)
{
    return text ? mem_dup(text, strlen(text)) : NULL;
}

static bool same_text(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

/* The gate must be held. */
static struct net *find_net(const struct hub *hub, const struct net_options *want)
{
    VEC_EACH(&hub->nets, n) {
        if (same_text(n->ca_file, want->ca_file) && same_text(n->proxy, want->proxy) &&
            same_text(n->plain_proxy, want->plain_proxy) &&
            same_text(n->no_proxy, want->no_proxy) && n->http2 == want->http2)
            return n->net;
    }
    return NULL;
}

struct net *hub_net(struct hub *hub, const struct conf *conf, struct err *err)
{
    struct net_options want;
    struct net *net;

    connect_options(conf, &want);
    gate_take(&hub->gate);
    while (hub->is_connecting)
        gate_wait(&hub->gate, /*deadline_ms=*/-1);
    net = find_net(hub, &want);
    hub->is_connecting = !net;
    gate_give(&hub->gate);
    if (net)
        return net;
    net = net_new(&want, err);
    gate_take(&hub->gate);
    if (net)
        vec_push(&hub->nets, ((struct hub_net){.net = net,
                                               .ca_file = dup_text(want.ca_file),
                                               .proxy = dup_text(want.proxy),
                                               .plain_proxy = dup_text(want.plain_proxy),
                                               .no_proxy = dup_text(want.no_proxy),
                                               .http2 = want.http2}));
    hub->is_connecting = false;
    gate_wake(&hub->gate);
    gate_give(&hub->gate);
    return net;
}

/* ---- The store ---- */

/* Takes the reference. */
static void keep_store(struct hub *hub, struct store *s)
{
    bool is_kept = false;

    gate_take(&hub->gate);
    VEC_EACH(&hub->stores, kept) {
        is_kept = is_kept || *kept == s;
    }
    if (!is_kept)
        vec_push(&hub->stores, s);
    gate_give(&hub->gate);
    if (is_kept)
        store_free(s);
}

int hub_store(struct hub *hub, const char *home, struct cancel *cancel, struct store **ret,
              struct err *err)
{
    struct store *s;

    if (store_shared(home, cancel, &s, err) < 0)
        return -1;
    keep_store(hub, store_ref(s));
    *ret = s;
    return 0;
}

/* ---- Sessions ---- */

/* The gate must be held. h NULL = search by id. */
static struct hub_session *find_session(const struct hub *hub, const struct host *h,
                                        struct str session)
{
    VEC_EACH(&hub->sessions, s) {
        if (h ? s->host == h : str_is(session, host_session(s->host)))
            return s;
    }
    return NULL;
}

int hub_add(struct hub *hub, struct host *h, struct err *err)
{
    bool is_there;

    gate_take(&hub->gate);
    is_there = find_session(hub, /*h=*/NULL, str_of(host_session(h)));
    if (!is_there)
        vec_push(&hub->sessions, (struct hub_session){.host = h});
    gate_give(&hub->gate);
    return is_there ? err_set(err, ERR_BUSY, "session %s is open already", host_session(h)) : 0;
}

void hub_remove(struct hub *hub, struct host *h)
{
    struct hub_session *s;

    gate_take(&hub->gate);
    s = find_session(hub, h, STR(""));
    if (s)
        s->is_leaving = true;
    while (s && s->pins) {
        gate_wait(&hub->gate, /*deadline_ms=*/-1);
        s = find_session(hub, h, STR(""));
    }
    if (s) {
        size_t i = (size_t)(s - hub->sessions.ptr);

        memmove(s, s + 1, (hub->sessions.len - i - 1) * sizeof(*s));
        hub->sessions.len--;
    }
    gate_give(&hub->gate);
}

struct host *hub_take(struct hub *hub, struct str session)
{
    struct hub_session *s;
    struct host *h = NULL;

    gate_take(&hub->gate);
    s = find_session(hub, /*h=*/NULL, session);
    if (s && !s->is_leaving) {
        s->pins++;
        h = s->host;
    }
    gate_give(&hub->gate);
    return h;
}

void hub_give(struct hub *hub, struct host *h)
{
    if (!h)
        return;
    gate_take(&hub->gate);
    find_session(hub, h, STR(""))->pins--;
    gate_wake(&hub->gate);
    gate_give(&hub->gate);
}
