/*
 * own_now: which list counts, and whether the one on the disk may take its place. Lists are read
 * without the lock: that looks at folders. Two at once read twice, and one of them counts.
 */
#include "slash/own_now.h"

#include <stdatomic.h>
#include <string.h>

#include "base/mem.h"
#include "base/strv.h"
#include "host/host.h"
#include "slash/own.h"
#include "sync/thread.h"

#define OWN_SOURCE "skills"

struct own_now {
    atomic_int refs;
    struct host *host;
    struct lock lock;        /* of what follows */
    struct own_list *list;   /* that counts; NULL: nobody has asked */
    struct own_list *denied; /* that shall not; NULL: none */
};

void own_now_unref(struct own_now *n)
{
    if (!n || atomic_fetch_sub(&n->refs, 1) != 1)
        return;
    own_list_unref(n->list);
    own_list_unref(n->denied);
    lock_release(&n->lock);
    mem_freep(&n);
}

static struct own_list *now_ref(struct own_now *n, struct own_list *const *which)
{
    struct own_list *l;

    lock_take(&n->lock);
    l = *which ? own_list_ref(*which) : NULL;
    lock_give(&n->lock);
    return l;
}

/* Takes the list. */
static void now_put(struct own_now *n, struct own_list **which, struct own_list *l)
{
    struct own_list *old;

    lock_take(&n->lock);
    old = *which;
    *which = l;
    lock_give(&n->lock);
    own_list_unref(old);
}

/* Reads what is there, and it counts. Yours. */
static struct own_list *now_read(struct own_now *n, bool keeps_texts)
{
    struct own_list *l = own_read(host_conf(n->host), keeps_texts);

    now_put(n, &n->list, own_list_ref(l));
    return l;
}

static bool now_may_change(struct own_now *n, const struct own_list *from,
                           const struct own_list *to)
{
    CLEANUP(strv_release) struct strv paths = STRV_INIT;
    bool may = true;

    own_changed(from, to, &paths);
    for (size_t i = 0; i < paths.len; i++)
        may = host_ask_change(n->host, OWN_SOURCE, paths.ptr[i]) && may;
    return may;
}

/* With every look at the settings, one at a time; waits for hooks. */
static void now_look(void *arg)
{
    struct own_now *n = arg;
    const struct conf *conf = host_conf(n->host);
    CLEANUP(own_list_unrefp) struct own_list *list = NULL;
    CLEANUP(own_list_unrefp) struct own_list *denied = NULL;
    CLEANUP(own_list_unrefp) struct own_list *fresh = NULL;

    if (!host_wants_change(n->host, OWN_SOURCE))
        return;
    list = now_ref(n, &n->list);
    denied = now_ref(n, &n->denied);
    if (!list || !list->keeps_texts) { /* nothing to compare with: what is there now counts */
        own_list_unref(now_read(n, /*keeps_texts=*/true));
        return;
    }
    if (own_is_fresh(denied ? denied : list, conf)) /* asked once about each state */
        return;
    fresh = own_read(conf, /*keeps_texts=*/true);
    if (now_may_change(n, list, fresh)) {
        now_put(n, &n->list, own_list_ref(fresh));
        now_put(n, &n->denied, NULL);
    } else {
        now_put(n, &n->denied, own_list_ref(fresh));
    }
}

struct own_list *own_now_get(struct own_now *n)
{
    bool asks = host_wants_change(n->host, OWN_SOURCE);
    struct own_list *l = now_ref(n, &n->list);

    if (l && (asks || own_is_fresh(l, host_conf(n->host))))
        return l;
    own_list_unref(l);
    return now_read(n, asks);
}

void own_now_folders(struct own_now *n, struct strv *ret)
{
    CLEANUP(own_list_unrefp) struct own_list *l = NULL;

    if (!host_wants_change(n->host, OWN_SOURCE))
        return;
    l = now_ref(n, &n->list);
    if (!l)
        return;
    VEC_EACH(&l->stamps, s) {
        if (s->is_folder)
            strv_adds(ret, s->path);
    }
}

static void now_release(void *arg)
{
    own_now_unref(arg);
}

struct own_now *own_now_new(struct host *h)
{
    struct own_now *n = mem_zalloc(sizeof(*n));

    atomic_init(&n->refs, 2);
    n->host = h;
    lock_init(&n->lock);
    host_on_reload(h, now_look, n, now_release);
    return n;
}
