/*
 * The last step of the ladder: the judge. Its exhibits are copied first, so that nothing has to
 * wait for it; without its verdict the goal is never met. Runs on the bench, as ladder.c does.
 */
#include "base/err.h"
#include "base/file.h"
#include "base/log.h"
#include "goal/goal_state.h"
#include "goal/origin/names.h"
#include "guard/workspace.h"
#include "json/json.h"
#include "json/jw.h"
#include "llm/provider.h"
#include "sync/cancel.h"

#define LADDER_MAX_STAT ((size_t)8 << 10)
#define LADDER_MAX_CHANGED 2000
#define LADDER_MAX_HUNKS ((size_t)48 << 10)

#define JUDGE_UNREAD 3 /* verdicts in a row that cannot be read: the goal is paused */
#define JUDGE_DOWN 5   /* and that could not be had */

struct exhibits {
    struct buf stat, hunks, diff_error, services, last_reason, criteria, objections, part_of_check;
    VEC(struct judge_change) changes;
    size_t changes_left_out;
    VEC(struct judge_item) items, touched;
    VEC(struct judge_left_out) left_out;
    size_t touched_left_out;
    struct arena arena;
    bool has_baseline;
};

static void exhibits_release(struct exhibits *x)
{
    buf_release(&x->stat);
    buf_release(&x->hunks);
    buf_release(&x->diff_error);
    buf_release(&x->objections);
    buf_release(&x->part_of_check);
    vec_release(&x->changes);
    buf_release(&x->services);
    buf_release(&x->last_reason);
    buf_release(&x->criteria);
    vec_release(&x->items);
    vec_release(&x->touched);
    vec_release(&x->left_out);
    arena_release(&x->arena);
}

static struct judge_item exhibits_item(struct exhibits *x, const struct goal_item *it)
{
    return (struct judge_item){
        .tool = arena_str(&x->arena, str_of(it->tool)),
        .input = arena_str(&x->arena, str_of(it->input)),
        .result = arena_str(&x->arena, str_of(it->result)),
        .note = arena_str(&x->arena, str_of(it->note)),
        .is_error = it->is_error,
        .times = it->times,
    };
}

/* What the goal itself knows; copied, so that the goal is not held while the judge thinks. */
static void exhibits_take(struct goal *g, struct exhibits *x)
{
    goal_enter(g);
    buf_add(&x->last_reason, g->row.last_reason);
    buf_add(&x->criteria, buf_str(&g->memory.criteria));
    VEC_EACH(&g->kept, it) {
        vec_push(&x->touched, exhibits_item(x, it));
    }
    VEC_EACH(&g->items, it) {
        struct judge_item item = exhibits_item(x, it);

        vec_push(&x->items, item);
        if (it->is_sensitive)
            vec_push(&x->touched, item);
    }
    VEC_EACH(&g->left_out, it) {
        vec_push(&x->left_out,
                 ((struct judge_left_out){arena_str(&x->arena, str_of(it->tool)), it->count}));
    }
    x->touched_left_out = g->kept_left_out;
    goal_leave(g);
}

/* ---- what changed ---- */

static bool is_read(const struct ladder *l, struct str path)
{
    VEC_EACH(&l->checks, c) {
        if (trace_has(&c->trace.read, path) || trace_has(&c->trace.ran, path))
            return true;
    }
    return false;
}

/* Why a change matters: its group in the case. */
static const char *change_group(const struct ladder *l, const struct inventory_entry *e)
{
    if (e->flags & INVENTORY_PROTECTED)
        return "protected";
    if (is_read(l, e->path))
        return "the check reads it";
    if (name_kind(e->path) != NAME_PLAIN)
        return "configuration";
    if (!(e->flags & INVENTORY_TREE))
        return "ignored by git";
    return e->flags & INVENTORY_NESTED ? "submodule" : "tracked";
}

static void exhibits_changes(struct exhibits *x, const struct ladder *l)
{
    for (size_t i = 0; i < l->now.git.len; i++) {
        vec_push(&x->changes, ((struct judge_change){.path = str_of(l->now.git.ptr[i]),
                                                     .how = STR("changed"),
                                                     .why = STR("git state")}));
    }
    VEC_EACH(&l->now.changes, c) {
        const struct inventory_entry *e = change_entry(c);

        if (x->changes.len >= LADDER_MAX_CHANGED) {
            x->changes_left_out++;
            continue;
        }
        vec_push(&x->changes, ((struct judge_change){.path = e->path,
                                                     .how = str_of(inventory_how_name(c->how)),
                                                     .why = str_of(change_group(l, e))}));
    }
    for (size_t i = 0; i < l->unrun.len; i++)
        buf_addf(&x->objections,
                 "%s ran or was read by a check when the goal was set, and is not now. Is that "
                 "right?\n",
                 l->unrun.ptr[i]);
    VEC_EACH(&l->checks, c) {
        for (size_t i = 0; i < c->trace.ran.len; i++)
            buf_addf(&x->part_of_check, "%s\n", c->trace.ran.ptr[i]);
    }
}

static void exhibits_make(struct goal *g, struct exhibits *x, const struct ladder *l,
                          struct cancel *cancel)
{
    int64_t last_ms = 0;
    struct err err = {0};

    *x = (struct exhibits){
        .stat = BUF_INIT(LADDER_MAX_STAT + 4096),
        .hunks = BUF_INIT(LADDER_MAX_HUNKS + 4096),
        .diff_error = BUF_INIT(4096),
        .objections = BUF_INIT(16 << 10),
        .part_of_check = BUF_INIT(16 << 10),
        .services = BUF_INIT(16 << 10),
        .last_reason = BUF_INIT(BUF_NO_LIMIT),
        .criteria = BUF_INIT(64 << 10),
    };
    exhibits_take(g, x);
    exhibits_changes(x, l);
    (void)g->spec.host.background(g->spec.host.arg, &x->services, &last_ms);
    x->has_baseline =
        g->origin && goal_diff(g->origin, &l->now, /*spare=*/NULL, cancel, &x->stat,
                               LADDER_MAX_STAT, &x->hunks, LADDER_MAX_HUNKS, &err) == 0;
    if (!x->has_baseline) {
        log_debug("goal", "no diff for the judge: %s", err.text);
        buf_addf(&x->diff_error, "%s", err.text[0] ? err.text : "git gave no reason");
    }
}

static void judge_progress(void *arg, struct str text)
{
    log_debug("goal", "judge: %.*s", STR_ARG(text));
    (void)arg;
}

/* One verdict, or why there is none. */
static int judge_once(struct goal *g, struct ladder *l, const struct judge_case *c,
                      struct cancel *cancel, struct judge_verdict *v, struct err *err)
{
    struct provider *provider = g->spec.host.judge(g->spec.host.arg, err);
    CLEANUP(mem_freep) char *state = path_join(g->spec.folder, "judge");
    struct workspace *workspace;
    struct judge_spec spec = {
        .conf = g->spec.conf,
        .provider = provider,
        .toolbox = g->spec.judge_tools,
        .permit = g->spec.permit,
        .spending = g->spec.spending,
        .progress = judge_progress,
        .progress_arg = g,
    };
    int r;

    if (!provider)
        return -1;
    snprintf(l->model, sizeof(l->model), "%s/%.*s", provider->name, STR_ARG(provider->model.name));
    workspace = workspace_new(g->spec.dir, state, g->spec.environ);
    spec.net = g->spec.host.net(g->spec.host.arg);
    spec.workspace = workspace;
    r = judge_ask(&spec, c, cancel, v, err);
    workspace_unref(workspace);
    return r;
}

static int64_t judge_pause(int times)
{
    static const int64_t pauses[] = {2000, 5000, 15000, 30000};
    size_t i = (size_t)times - 1;

    return pauses[i < ARRAY_LEN(pauses) ? i : ARRAY_LEN(pauses) - 1];
}

/* How often in a row, as the memory has it. */
static int judge_failed(struct goal *g, bool is_unread)
{
    int n;

    goal_enter(g);
    n = is_unread ? ++g->memory.judge_unread : ++g->memory.judge_down;
    (void)goal_remember(g, /*err=*/NULL);
    goal_leave(g);
    return n;
}

static void judge_answered(struct goal *g)
{
    goal_enter(g);
    g->memory.judge_unread = 0;
    g->memory.judge_down = 0;
    goal_leave(g);
}

static void judge_is_retried(struct goal *g, const struct err *why, int64_t pause_ms, int attempt)
{
    CLEANUP(buf_release) struct buf data = BUF_INIT(1 << 12);
    struct jw w;

    goal_enter(g);
    goal_tell_begin(g, &w, &data);
    jw_kcstr(&w, "error", why->text);
    jw_ki64(&w, "delay_ms", pause_ms);
    jw_ki64(&w, "attempt", attempt);
    jw_object_end(&w);
    goal_note(g, "retry", buf_str(&data));
    if (!g->waits)
        (void)goal_set_phase(g, "retrying", buf_str(&data), /*err=*/NULL);
    goal_leave(g);
    goal_notice(g, LEVEL_WARNING, "goal: the judge could not be asked (%s); next try in %d s",
                why->text, (int)(pause_ms / 1000));
}

/* Fails closed: without a verdict nothing is met. */
int ladder_ask(struct goal *g, struct ladder *l, struct cancel *cancel, struct err *err)
{
    struct exhibits x;
    struct judge_case c;
    int r;

    exhibits_make(g, &x, l, cancel);
    c = (struct judge_case){
        .objective = buf_str(&l->objective),
        .checks = l->checks.ptr,
        .check_count = l->checks.len,
        .diff_stat = buf_str(&x.stat),
        .diff_hunks = buf_str(&x.hunks),
        .has_baseline = x.has_baseline,
        .objections = buf_str(&x.objections),
        .part_of_check = buf_str(&x.part_of_check),
        .changes = x.changes.ptr,
        .change_count = x.changes.len,
        .changes_left_out = x.changes_left_out,
        .diff_error = buf_str(&x.diff_error),
        .claim = l->claim,
        .items = x.items.ptr,
        .item_count = x.items.len,
        .touched = x.touched.ptr,
        .touched_count = x.touched.len,
        .touched_left_out = x.touched_left_out,
        .left_out = x.left_out.ptr,
        .left_out_count = x.left_out.len,
        .services = buf_str(&x.services),
        .last_reason = buf_str(&x.last_reason),
        .criteria = buf_str(&x.criteria),
    };
    l->by = "judge";
    for (int attempt = 1;; attempt++) {
        struct judge_verdict v = JUDGE_VERDICT_INIT;
        struct err why = {0};
        int64_t pause_ms, asked_ms;
        bool is_unread;
        int times;

        r = judge_once(g, l, &c, cancel, &v, &why);
        if (r == 0) {
            judge_answered(g);
            l->steps = v.steps;
            l->end = v.ok ? LADDER_MET : v.impossible ? LADDER_IMPOSSIBLE : LADDER_UNMET;
            buf_add(&l->reason, buf_str(&v.reason));
            buf_add(&l->criteria, buf_str(&v.criteria));
            judge_verdict_release(&v);
            break;
        }
        asked_ms = v.asked_ms;
        is_unread = v.is_unread;
        judge_verdict_release(&v);
        if (why.code == ERR_CANCELLED || cancel_is_set(cancel)) {
            r = err_set(err, ERR_CANCELLED, "%s", why.text);
            break;
        }
        times = why.code == ERR_QUOTA ? JUDGE_DOWN : judge_failed(g, is_unread);
        if (why.code == ERR_QUOTA || times >= (is_unread ? JUDGE_UNREAD : JUDGE_DOWN)) {
            l->end = LADDER_UNKNOWN;
            l->err = why;
            l->asked_ms = asked_ms;
            r = 0;
            break;
        }
        if (is_unread) { /* it was asked once more: not met, and the next stop asks again */
            buf_addf(&l->reason,
                     "It could not be judged, which counts as not met: %s. Say plainly what holds "
                     "and how that can be seen.",
                     why.text);
            r = 0;
            break;
        }
        pause_ms = judge_pause(times);
        judge_is_retried(g, &why, pause_ms, attempt);
        r = cancel_wait(cancel, pause_ms, err);
        if (r < 0)
            break;
    }
    exhibits_release(&x);
    return r;
}
