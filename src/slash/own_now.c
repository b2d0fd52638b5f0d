/*
 * own_now: the current list of commands, and replacing it by the one on disk. Lists are read
 * without the lock, since that examines folders. Two threads may read at the same time; one of the
 * results is used.
 */
#include "slash/own_now.h"

#include <stdatomic.h>
#include <string.h>

#include "agent/event.h"
#include "base/buf.h"
#include "base/file.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/sha256.h"
#include "base/strv.h"
#include "conf/conf.h"
#include "guard/workspace.h"
#include "host/host.h"
#include "json/json.h"
#include "llm/model.h"
#include "slash/own.h"
#include "slash/skill_listing.h"
#include "slash/skill_search.h"
#include "sync/thread.h"

#define OWN_SOURCE "skills"
#define NEAR_MAX 500 /* folders that are looked at before an input */

struct own_now {
    atomic_int refs;
    struct host *host;
    struct lock lock;        /* of what follows */
    struct own_list *list;   /* the current one; NULL: not requested yet */
    struct own_list *denied; /* refused by a hook; NULL: none */
    struct strv near;        /* folders below the project from which files were read */
    struct map loaded;       /* "agent name digest" of texts that are in a conversation */
    struct skill_listing listing;
    struct skill_search search;
};

void own_now_unref(struct own_now *n)
{
    if (!n || atomic_fetch_sub(&n->refs, 1) != 1)
        return;
    own_list_unref(n->list);
    own_list_unref(n->denied);
    strv_release(&n->near);
    map_release(&n->loaded);
    skill_listing_release(&n->listing);
    skill_search_release(&n->search);
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

static void now_near(struct own_now *n, struct strv *ret)
{
    lock_take(&n->lock);
    strv_add_all(ret, &n->near);
    lock_give(&n->lock);
}

/* Reads the files and makes them current. The caller owns the result. */
static struct own_list *now_read(struct own_now *n, bool keeps_texts)
{
    CLEANUP(strv_release) struct strv near = STRV_INIT;
    struct own_list *l;

    now_near(n, &near);
    l = own_read(host_conf(n->host), &near, keeps_texts);

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

/* Called with every check of the settings, one at a time; waits for hooks. */
static void now_look(void *arg)
{
    struct own_now *n = arg;
    const struct conf *conf = host_conf(n->host);
    CLEANUP(own_list_unrefp) struct own_list *list = NULL;
    CLEANUP(own_list_unrefp) struct own_list *denied = NULL;
    CLEANUP(own_list_unrefp) struct own_list *fresh = NULL;
    CLEANUP(strv_release) struct strv near = STRV_INIT;

    if (!host_wants_change(n->host, OWN_SOURCE))
        return;
    list = now_ref(n, &n->list);
    denied = now_ref(n, &n->denied);
    if (!list || !list->keeps_texts) { /* nothing to compare with: use the current files */
        own_list_unref(now_read(n, /*keeps_texts=*/true));
        return;
    }
    now_near(n, &near);
    if (own_is_fresh(denied ? denied : list, conf, &near)) /* asked once about each state */
        return;
    fresh = own_read(conf, &near, /*keeps_texts=*/true);
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
    CLEANUP(strv_release) struct strv near = STRV_INIT;

    now_near(n, &near);
    if (l && (asks || own_is_fresh(l, host_conf(n->host), &near)))
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

struct host *own_now_host(const struct own_now *n)
{
    return n->host;
}

/* ---- What the model knows ---- */

/* A folder below the working folder with skills. */
static bool has_skills(const char *dir)
{
    static const char *const homes[] = {".agents/skills", ".claude/skills", ".tenax/skills"};

    for (size_t i = 0; i < ARRAY_LEN(homes); i++) {
        CLEANUP(mem_freep) char *path = path_join(dir, homes[i]);

        if (file_is_dir(path))
            return true;
    }
    return false;
}

/* Files that were read add the skills of their folders, up to the working directory. */
static void now_look_near(struct own_now *n, const struct strv *seen)
{
    CLEANUP(strv_release) struct strv done = STRV_INIT;
    CLEANUP(strv_release) struct strv found = STRV_INIT;
    struct str top = str_of(conf_dir(host_conf(n->host)));

    for (size_t i = 0; i < seen->len; i++) {
        CLEANUP(mem_freep) char *dir = path_dirname(seen->ptr[i]);

        for (;;) {
            struct str at = str_of(dir);
            char *up;

            if (at.len <= top.len || !str_starts(at, top) || dir[top.len] != '/' ||
                strv_has(&done, at) || done.len >= NEAR_MAX)
                break;
            strv_add(&done, at);
            if (has_skills(dir))
                strv_add(&found, at);
            up = path_dirname(dir);
            mem_freep(&dir);
            dir = up;
        }
    }
    lock_take(&n->lock);
    for (size_t i = 0; i < found.len; i++) {
        if (!strv_has(&n->near, str_of(found.ptr[i])))
            strv_adds(&n->near, found.ptr[i]);
    }
    lock_give(&n->lock);
}

/* Characters that all lines may have: a hundredth of the model's window, at four to a token. */
static size_t listing_budget(struct own_now *n)
{
    const struct conf *conf = host_conf(n->host);
    const char *said = conf_env(conf, "SLASH_COMMAND_TOOL_CHAR_BUDGET");
    double part = 0.01;
    struct model model;
    int64_t chars;

    if (said && str_to_i64(str_of(said), &chars, /*err=*/NULL) == 0 && chars > 0)
        return (size_t)chars;
    if (!json_double(conf_get(conf, "skillListingBudgetFraction"), &part) || part <= 0 || part > 1)
        part = 0.01;
    host_figures(n->host, &model);
    return (size_t)(part * (double)model.window * 4);
}

/* Names were kept, descriptions were not: the user should know, once. */
static void tell_shortened(struct own_now *n)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(1000);

    if (!n->listing.shortened && !n->listing.bare)
        return;
    buf_addf(
        &text,
        "The descriptions of %zu skills are shortened for the model, because the list would be "
        "too long (skillListingBudgetFraction); /skills shows which",
        n->listing.shortened + n->listing.bare);
    host_notice(n->host, LEVEL_WARNING, buf_str(&text));
}

void own_now_listing(void *arg, const struct str *known, struct buf *ret_block,
                     struct buf *ret_attachment)
{
    struct own_now *n = arg;
    CLEANUP(strv_release) struct strv seen = STRV_INIT;
    CLEANUP(own_list_unrefp) struct own_list *own = NULL;
    struct skill_listing_spec spec = {
        .seen = &seen,
        .budget = listing_budget(n),
        .is_trusted = conf_is_trusted(host_conf(n->host)),
        .host = n->host,
    };
    bool was_begun;

    workspace_seen_paths(host_workspace(n->host), &seen);
    now_look_near(n, &seen);
    spec.skills = own = own_now_get(n);
    lock_take(&n->lock);
    if (known) { /* the conversation begins, or is another one */
        skill_listing_recall(&n->listing, *known);
        map_release(&n->loaded);
        n->loaded = (struct map)MAP_INIT;
        skill_search_forget(&n->search);
    }
    was_begun = n->listing.is_begun;
    skill_listing_say(&n->listing, &spec, ret_block, ret_attachment);
    lock_give(&n->lock);
    if (!was_begun)
        tell_shortened(n);
}

/* The lock must be held. */
static bool now_loads(struct own_now *n, const char *agent, struct str name, struct str body)
{
    CLEANUP(buf_release) struct buf key = BUF_INIT(BUF_NO_LIMIT);
    char digest[SHA256_HEX + 1];

    sha256_hex(body, digest);
    buf_addf(&key, "%s %.*s %s", agent, STR_ARG(name), digest);
    return !map_set(&n->loaded, buf_str(&key), n);
}

/* The lock must be held. */
static bool take_text(void *arg, const struct own_command *c, struct str body)
{
    return now_loads(arg, /*agent=*/"main", c->name, body);
}

void own_now_fitting(void *arg, struct str words, struct buf *ret_block, struct buf *ret_attachment)
{
    struct own_now *n = arg;
    CLEANUP(strv_release) struct strv seen = STRV_INIT;
    CLEANUP(own_list_unrefp) struct own_list *own = NULL;
    struct skill_search_spec spec = {
        .seen = &seen,
        .is_trusted = conf_is_trusted(host_conf(n->host)),
        .words = words,
        .loads = take_text,
        .arg = n,
    };

    if (!words.ptr) {
        lock_take(&n->lock);
        skill_search_forget(&n->search);
        lock_give(&n->lock);
        return;
    }
    if (!conf_get_bool(host_conf(n->host), "skillSearch", true) || !str_trim(words).len)
        return;
    workspace_seen_paths(host_workspace(n->host), &seen);
    spec.skills = own = own_now_get(n);
    if (!own->commands.len)
        return;
    lock_take(&n->lock);
    skill_search_say(&n->search, &spec, ret_block, ret_attachment);
    lock_give(&n->lock);
}

bool own_now_loads(struct own_now *n, const char *agent, struct str name, struct str body)
{
    bool is_new;

    lock_take(&n->lock);
    is_new = now_loads(n, agent, name, body);
    lock_give(&n->lock);
    return is_new;
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
