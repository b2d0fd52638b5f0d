/*
 * The verdict, cheapest and hardest evidence first: checks, protected files, then the judge. What
 * tenax can see itself no model is asked about. Runs on the agent's thread at a stop, or on a
 * tool's for a claim; one at a time (the bench).
 */
#include <inttypes.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "conf/conf.h"
#include "goal/goal_state.h"
#include "goal/snapshot.h"
#include "json/json.h"
#include "json/jw.h"

#define LADDER_MAX_CHANGES 50 /* that are named in the ledger */

void ladder_init(struct ladder *l)
{
    *l = (struct ladder){
        .reason = BUF_INIT(JUDGE_MAX_REASON + CHECK_MAX_COMMAND + 2 * CHECK_TAIL),
        .criteria = BUF_INIT(64 << 10),
        .step = BUF_INIT(16 << 10),
        .objective = BUF_INIT(BUF_NO_LIMIT),
        .now = ORIGIN_NOW_INIT,
        .where = "workspace",
    };
}

void ladder_release(struct ladder *l)
{
    buf_release(&l->reason);
    buf_release(&l->criteria);
    buf_release(&l->step);
    buf_release(&l->objective);
    VEC_EACH(&l->checks, it) {
        check_result_release(it);
    }
    vec_release(&l->checks);
    objections_release(&l->objections);
    strv_release(&l->unrun);
    strv_release(&l->hidden);
    origin_now_release(&l->now);
}

/* ---- 1. Checks ---- */

/* A check that the deadline has ended, which has not passed. */
static bool ladder_is_overdue(struct goal *g, struct ladder *l, const char *command,
                              struct err *err)
{
    bool rang;

    goal_enter(g);
    rang = g->rang;
    goal_leave(g);
    if (!rang || !err || err->code != ERR_CANCELLED)
        return false;
    err_clear(err);
    l->by = "check";
    buf_addf(&l->reason, "The check `%.*s` was ended by the deadline.",
             STR_ARG(str_clip(str_of(command), 1 << 10)));
    return true;
}

/* 1: all hold; 0: one does not, the reason says which; -1. */
static int ladder_check(struct goal *g, struct ladder *l, const struct strv *commands,
                        struct cancel *cancel, struct err *err)
{
    for (size_t i = 0; i < commands->len; i++) {
        struct check_spec spec = {
            .command = str_of(commands->ptr[i]),
            .dir = g->spec.dir,
            .environ = g->spec.environ,
            .sandbox = goal_sandbox(g),
        };
        struct check_result *r = vec_add(&l->checks);

        *r = (struct check_result){0};
        if (check_run(&spec, cancel, r, err) < 0) {
            check_result_release(r);
            l->checks.len--;
            return ladder_is_overdue(g, l, commands->ptr[i], err) ? 0 : -1;
        }
        if (r->passed)
            continue;
        l->by = "check";
        check_explain(r, &l->reason);
        return 0;
    }
    return 1;
}

/* ---- All of it ---- */

/* The state of the workspace before any check has run. Empty if unknown. */
static int ladder_look(struct goal *g, struct ladder *l, const struct origin *o,
                       struct cancel *cancel, struct err *err)
{
    CLEANUP(strv_release) struct strv wrote = STRV_INIT;
    struct err why = {0};
    bool walk;

    goal_enter(g);
    wrote = g->wrote;
    g->wrote = (struct strv)STRV_INIT;
    walk = g->ran;
    g->ran = false;
    goal_leave(g);
    if (!g->snapshot)
        g->snapshot = snapshot_new(g->spec.dir, g->spec.environ);
    if (snapshot_look(g->snapshot, o, walk, &wrote, cancel, l->state, /*ret_whole=*/NULL, &why) ==
        0)
        return 0;
    if (why.code == ERR_CANCELLED)
        return err_set(err, ERR_CANCELLED, "%s", why.text);
    log_debug("goal", "no snapshot: %s", why.text);
    return 0;
}

/* Background commands that have not run for long. They are waited for wherever approval would end
 * the goal: at every stop, and for a claim that needs no more than the agent's word. */
static bool ladder_must_wait(struct goal *g, struct ladder *l, enum goal_referee mode)
{
    int64_t patience = conf_get_i64(g->spec.conf, "goal.backgroundWait", 600) * 1000;
    CLEANUP(buf_release) struct buf names = BUF_INIT(1 << 12);
    int64_t began_ms = 0;

    if ((l->is_claim && !l->is_confirmed && mode != REFEREE_SELF) ||
        !g->spec.host.background(g->spec.host.arg, &names, &began_ms) ||
        clock_mono_ms() - began_ms >= patience)
        return false;
    l->end = LADDER_WAITS;
    buf_addf(&l->reason,
             "background commands still run: %.*s. End your turn, and the goal waits "
             "for it.",
             STR_ARG(str_trim(buf_str(&names))));
    return true;
}

static int ladder_steps(struct goal *g, struct ladder *l, struct cancel *cancel, struct err *err)
{
    CLEANUP(strv_release) struct strv commands = STRV_INIT;
    CLEANUP(buf_release) struct buf protect = BUF_INIT(GOAL_MAX_TEXT);
    struct origin *o = NULL;
    enum goal_referee mode;
    int r;

    goal_enter(g);
    goal_checks(g, &commands);
    buf_add(&protect, g->row.protect);
    buf_add(&l->objective, g->text.len ? buf_str(&g->text) : g->row.objective);
    goal_terms(g, l->terms);
    mode = g->options.referee;
    goal_leave(g);
    l->end = LADDER_UNMET;
    if (mode == REFEREE_CHECKS && !commands.len)
        return err_set(err, ERR_UNSUPPORTED,
                       "checks alone decide, and there is none; /goal check <command> adds one");
    (void)goal_origin(g, buf_str(&protect), &o, /*err=*/NULL);
    if (ladder_look(g, l, o, cancel, err) < 0)
        return -1;
    r = ladder_check(g, l, &commands, cancel, err);
    if (commands.len && r >= 0)
        (void)snapshot_forgive(g->snapshot, o, cancel, /*err=*/NULL);
    if (r <= 0)
        return r;
    r = ladder_confirm(g, l, &commands, buf_str(&protect), cancel, err);
    if (r <= 0)
        return r;
    if (ladder_must_wait(g, l, mode))
        return 0;
    if (mode == REFEREE_CHECKS || (mode == REFEREE_SELF && l->is_claim)) {
        l->by = mode == REFEREE_SELF ? "self" : "checks";
        l->end = LADDER_MET;
        if (mode == REFEREE_SELF)
            buf_add(&l->reason, l->claim.len ? str_clip(l->claim, JUDGE_MAX_REASON)
                                             : STR("the agent says that it is done"));
        else
            buf_addf(&l->reason, "%zu of %zu checks pass", l->checks.len, commands.len);
        return 0;
    }
    if (mode == REFEREE_SELF) {
        l->by = "self"; /* an agent that has not claimed completion continues */
        return 0;
    }
    if (l->is_confirmed) {
        l->by = "judge";
        l->end = LADDER_MET;
        buf_add(&l->reason, buf_str(&g->claim.reason));
        buf_add(&l->criteria, buf_str(&g->claim.criteria));
        return 0;
    }
    r = ladder_ask(g, l, cancel, err);
    if (r == 0 && l->end == LADDER_MET) {
        r = ladder_still_holds(g, l, cancel, err);
        if (r == 0)
            l->end = LADDER_UNMET;
    }
    return r < 0 ? -1 : 0;
}

int ladder_climb(struct goal *g, struct ladder *l, struct cancel *cancel, struct err *err)
{
    int r;

    if (ticket_take(&g->bench, cancel, err) < 0)
        return -1;
    r = ladder_steps(g, l, cancel, err);
    ticket_give(&g->bench);
    if (r < 0 && err && err->code != ERR_CANCELLED) {
        l->end = LADDER_UNKNOWN; /* a check that could not even be started, say */
        l->err = *err;
        err_clear(err);
        r = 0;
    }
    return r;
}

int ladder_content(struct goal *g, struct cancel *cancel, char ret[SHA256_HEX + 1], struct err *err)
{
    CLEANUP(strv_release) struct strv wrote = STRV_INIT;
    CLEANUP(buf_release) struct buf protect = BUF_INIT(GOAL_MAX_TEXT);
    struct origin *o = NULL;
    int r;

    goal_enter(g);
    strv_add_all(&wrote, &g->wrote);
    buf_add(&protect, g->row.protect);
    goal_leave(g);
    if (ticket_take(&g->bench, cancel, err) < 0)
        return -1;
    if (!g->snapshot)
        g->snapshot = snapshot_new(g->spec.dir, g->spec.environ);
    (void)goal_origin(g, buf_str(&protect), &o, /*err=*/NULL);
    r = snapshot_look(g->snapshot, o, /*walk=*/true, &wrote, cancel, ret, /*ret_whole=*/NULL, err);
    ticket_give(&g->bench);
    return r;
}

/* Anything that happens to a file after a claim was accepted voids it, in ignored folders, too. */
int ladder_state(struct goal *g, struct cancel *cancel, char ret[SHA256_HEX + 1], struct err *err)
{
    CLEANUP(origin_now_release) struct origin_now now = ORIGIN_NOW_INIT;
    CLEANUP(buf_release) struct buf protect = BUF_INIT(GOAL_MAX_TEXT);
    struct origin *o = NULL;
    struct sha256 hash;
    char files[SHA256_HEX + 1];
    int r;

    goal_enter(g);
    buf_add(&protect, g->row.protect);
    goal_leave(g);
    if (ticket_take(&g->bench, cancel, err) < 0)
        return -1;
    r = goal_origin(g, buf_str(&protect), &o, err);
    if (r == 0)
        r = origin_look(o, cancel, &now, err);
    ticket_give(&g->bench);
    if (r < 0)
        return -1;
    inventory_digest(&now.files, files);
    sha256_init(&hash);
    sha256_add(&hash, str_of(files));
    for (size_t i = 0; i < now.git.len; i++)
        sha256_add(&hash, str_of(now.git.ptr[i]));
    sha256_end(&hash, ret);
    return 0;
}

/* The output of one that passed is not worth keeping; its hash is. */
static void write_check(struct jw *w, const struct check_result *r)
{
    if (!r->passed) {
        check_write(r, w);
        return;
    }
    jw_object(w);
    jw_kstr(w, "command", str_clip(buf_str(&r->command), 1 << 10));
    jw_kbool(w, "passed", true);
    jw_ki64(w, "exit_code", r->code);
    jw_ki64(w, "duration_ms", r->wall_ms);
    jw_kcstr(w, "output_sha256", r->sha256);
    jw_ki64(w, "output_bytes", (int64_t)r->bytes);
    jw_object_end(w);
}

static void write_names(struct jw *w, const char *key, const struct strv *list)
{
    if (!list->len)
        return;
    jw_key(w, key);
    jw_array(w);
    for (size_t i = 0; i < list->len && i < LADDER_MAX_CHANGES; i++)
        jw_cstr(w, list->ptr[i]);
    jw_array_end(w);
}

void ladder_write(struct goal *g, const struct ladder *l, bool stale, struct buf *ret)
{
    struct jw w;

    goal_tell_begin(g, &w, ret);
    jw_ki64(&w, "round", g->memory.round);
    jw_kcstr(&w, "by", l->by ? l->by : "");
    jw_kbool(&w, "met", l->end == LADDER_MET);
    if (l->end == LADDER_IMPOSSIBLE)
        jw_kbool(&w, "impossible", true);
    jw_kstr(&w, "reason", str_clip(buf_str(&l->reason), 16 << 10));
    jw_kbool(&w, "claim", l->is_claim);
    jw_key(&w, "checks");
    jw_array(&w);
    VEC_EACH(&l->checks, it) {
        write_check(&w, it);
    }
    jw_array_end(&w);
    jw_key(&w, "changed");
    jw_array(&w);
    for (size_t i = 0; i < l->objections.len && i < LADDER_MAX_CHANGES; i++) {
        const struct objection *it = &l->objections.ptr[i];

        jw_object(&w);
        jw_kcstr(&w, "path", it->path);
        jw_kcstr(&w, "what", objection_name(it->what));
        jw_object_end(&w);
    }
    jw_array_end(&w);
    jw_kcstr(&w, "checked_in", l->where);
    jw_kbool(&w, "observed", l->is_observed);
    write_names(&w, "not_run", &l->unrun);
    write_names(&w, "hidden", &l->hidden);
    if (l->criteria.len)
        jw_kraw(&w, "criteria", buf_str(&l->criteria));
    if (l->model[0]) {
        jw_kcstr(&w, "model", l->model);
        jw_ki64(&w, "steps", l->steps);
    }
    if (stale)
        jw_kbool(&w, "stale", true);
    if (l->end == LADDER_UNKNOWN)
        jw_kcstr(&w, "error", l->err.text);
    jw_object_end(&w);
}
