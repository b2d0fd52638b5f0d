/*
 * A goal is set: gates, then everything that can be found out before (checks, protected files, the
 * state of the workspace), then the row in one transaction. Whatever fails before that leaves
 * nothing half-set. Any thread.
 */
#include <inttypes.h>
#include <string.h>

#include "agent/permit.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "base/log.h"
#include "base/utf8.h"
#include "conf/conf.h"
#include "goal/display.h"
#include "goal/inside.h"
#include "goal/snapshot.h"
#include "json/json.h"
#include "json/jw.h"
#include "sync/cancel.h"

#define CHANGE_MAX_OBJECTIVE ((size_t)1 << 20) /* bytes, of one that is kept as a file */
#define CHANGE_TITLE 80

static const char *const via_names[] = {
    [VIA_USER] = "user",
    [VIA_MODEL] = "model",
    [VIA_CLIENT] = "client",
    [VIA_NEXT] = "next",
};

/* ---- Gates ---- */

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
        return err_set(err, ERR_DENIED,
                       "goals are for folders you trust: start tenax again here, say yes to the "
                       "trust question, and repeat the command");
    *ret_code = "no_persistence";
    if (!g->spec.is_kept)
        return err_set(err, ERR_UNSUPPORTED,
                       "a goal lives in its session, and this one is not kept: start without "
                       "--no-session-persistence");
    *ret_code = "";
    return 0;
}

static void tell_gate(struct goal *g, const char *code)
{
    CLEANUP(buf_release) struct buf data = BUF_INIT(1 << 10);
    struct jw w;

    goal_tell_begin(g, &w, &data);
    jw_kcstr(&w, "code", code);
    jw_object_end(&w);
    goal_tell(g, "goal_set_failed", buf_str(&data));
}

/* ---- Making a row ---- */

/* Everything that is found out before anything is set. */
struct draft {
    char goal_id[ID_UUID_LEN + 1];
    struct buf text;      /* the objective, whole */
    struct buf objective; /* the row's */
    struct buf checks, protect, baseline, options;
    struct buf file; /* where a long text is kept; empty: nowhere */
    struct ladder first;
    size_t weak, protected_files;
    struct strv weak_checks, notes;
};

static void draft_init(struct draft *d)
{
    *d = (struct draft){
        .text = BUF_INIT(CHANGE_MAX_OBJECTIVE),
        .objective = BUF_INIT(CHANGE_MAX_OBJECTIVE),
        .checks = BUF_INIT(GOAL_MAX_TEXT),
        .protect = BUF_INIT(GOAL_MAX_TEXT),
        .baseline = BUF_INIT(GOAL_MAX_TEXT),
        .options = BUF_INIT(GOAL_MAX_TEXT),
        .file = BUF_INIT(1 << 12),
    };
    ladder_init(&d->first);
    id_uuid(d->goal_id);
}

static void draft_release(struct draft *d)
{
    buf_release(&d->text);
    buf_release(&d->objective);
    buf_release(&d->checks);
    buf_release(&d->protect);
    buf_release(&d->baseline);
    buf_release(&d->options);
    buf_release(&d->file);
    ladder_release(&d->first);
    strv_release(&d->weak_checks);
    strv_release(&d->notes);
}

size_t goal_count_points(struct str s)
{
    size_t n = 0;

    for (size_t i = 0; i < s.len; i++)
        n += ((unsigned char)s.ptr[i] & 0xc0) != 0x80;
    return n;
}

/* A text over the limit is kept as a file, and the objective is one line that refers to it. */
static int draft_text(struct goal *g, struct draft *d, struct str text, bool may_keep,
                      const char **ret_code, struct err *err)
{
    CLEANUP(buf_release) struct buf name = BUF_INIT(1 << 10);
    CLEANUP(mem_freep) char *path = NULL;
    struct str line;
    size_t n;

    text = str_trim(text);
    if (!text.len)
        return err_set(err, ERR_BAD_INPUT, "a goal needs a condition: /goal all tests pass");
    if (!utf8_is_valid(text) || memchr(text.ptr, '\0', text.len))
        return err_set(err, ERR_BAD_INPUT, "the condition is not valid UTF-8 text");
    n = goal_count_points(text);
    buf_add(&d->text, text);
    if (n <= GOAL_MAX_OBJECTIVE) {
        buf_add(&d->objective, text);
        return 0;
    }
    *ret_code = "too_long";
    if (!may_keep || text.len > CHANGE_MAX_OBJECTIVE)
        return err_set(err, ERR_TOO_BIG, "a condition has at most %d characters; this one has %zu",
                       GOAL_MAX_OBJECTIVE, n);
    *ret_code = "";
    buf_addf(&name, "goal-%s.md", d->goal_id);
    path = path_join(g->spec.folder, buf_cstr(&name));
    if (file_mkdirs(g->spec.folder, 0700, err) < 0 || file_replace(path, text, 0600, err) < 0)
        return -1;
    buf_adds(&d->file, path);
    line = str_first(text, str_chr(text, '\n'));
    buf_addf(&d->objective, "%.*s… (%zu characters, kept in %s)", STR_ARG(str_clip(line, 200)), n,
             path);
    return 0;
}

/* Each check once, before any work: one that passes already says little. */
static int draft_checks(struct goal *g, struct draft *d, const struct strv *commands,
                        struct cancel *cancel, struct err *err)
{
    struct jw w;

    if (commands->len > CHECK_MAX)
        return err_set(err, ERR_TOO_BIG, "a goal has at most %d checks", CHECK_MAX);
    jw_init(&w, &d->checks, 0);
    jw_array(&w);
    for (size_t i = 0; i < commands->len; i++) {
        struct check_spec spec = {
            .command = str_of(commands->ptr[i]),
            .dir = g->spec.dir,
            .environ = g->spec.environ,
        };
        struct check_result *r;

        if (!str_trim(spec.command).len)
            return err_set(err, ERR_BAD_INPUT, "a check needs a command");
        if (spec.command.len > CHECK_MAX_COMMAND)
            return err_set(err, ERR_TOO_BIG, "a check has at most %zu bytes", CHECK_MAX_COMMAND);
        r = vec_add(&d->first.checks);
        *r = (struct check_result){0};
        if (check_run(&spec, cancel, r, err) < 0) {
            check_result_release(r);
            d->first.checks.len--;
            return -1;
        }
        if (r->code == 127 || r->code == 126)
            strv_addf(&d->notes, "the check '%s' cannot be run as it is (exit code %d): %.*s",
                      commands->ptr[i], r->code, STR_ARG(str_trim(buf_str(&r->tail))));
        if (r->passed)
            strv_adds(&d->weak_checks, commands->ptr[i]);
        jw_object(&w);
        jw_kcstr(&w, "command", commands->ptr[i]);
        jw_kbool(&w, "weak", r->passed);
        jw_object_end(&w);
    }
    jw_array_end(&w);
    return buf_check(&d->checks, err);
}

static int draft_protect(struct goal *g, struct draft *d, const struct goal_options *o,
                         struct cancel *cancel, struct err *err)
{
    struct protect_spec spec = {
        .dir = g->spec.dir,
        .globs = &o->protect,
        .checks = &o->checks,
        .environ = g->spec.environ,
    };
    CLEANUP(buf_release) struct buf name = BUF_INIT(1 << 10);
    CLEANUP(mem_freep) char *path = NULL;
    char sha256[SHA256_HEX + 1];
    struct protect *p = NULL;
    struct jw w;
    int r;

    jw_init(&w, &d->protect, 0);
    jw_object(&w);
    if (o->protect_none) {
        jw_kbool(&w, "none", true);
        jw_object_end(&w);
        return 0;
    }
    buf_addf(&name, "goal-%s.protect", d->goal_id);
    path = path_join(g->spec.folder, buf_cstr(&name));
    if (file_mkdirs(g->spec.folder, 0700, err) < 0 ||
        protect_take(&spec, cancel, &p, &d->notes, err) < 0)
        return -1;
    d->protected_files = protect_count(p);
    r = protect_write(p, path, sha256, err);
    protect_free(p);
    jw_kcstr(&w, "manifest", path);
    jw_kcstr(&w, "sha256", sha256);
    jw_ki64(&w, "count", (int64_t)d->protected_files);
    jw_key(&w, "globs");
    jw_array(&w);
    for (size_t i = 0; i < o->protect.len; i++)
        jw_cstr(&w, o->protect.ptr[i]);
    jw_array_end(&w);
    jw_object_end(&w);
    return r;
}

static int draft_baseline(struct goal *g, struct draft *d, struct cancel *cancel, struct err *err)
{
    struct baseline b = goal_baseline(g);
    char commit[BASELINE_ID], tree[BASELINE_ID];
    struct err why = {0};
    struct jw w;

    if (baseline_keep(&b, "base", STR("where the goal began"), cancel, commit, tree, &why) < 0) {
        if (why.code == ERR_CANCELLED)
            return err_set(err, ERR_CANCELLED, "%s", why.text);
        if (why.code != ERR_UNSUPPORTED)
            strv_addf(&d->notes, "there will be no diff and no way back: %s", why.text);
        return 0;
    }
    jw_init(&w, &d->baseline, 0);
    jw_object(&w);
    jw_kcstr(&w, "commit", commit);
    jw_kcstr(&w, "tree", tree);
    jw_object_end(&w);
    return 0;
}

static void write_options(struct draft *d, struct str how, int64_t tokens_at_start, struct str via)
{
    char sha256[SHA256_HEX + 1];
    struct jw w;

    jw_init(&w, &d->options, 0);
    jw_object(&w);
    jw_kraw(&w, "how", how.len ? how : STR("{}"));
    jw_ki64(&w, "tokens_at_start", tokens_at_start);
    jw_kstr(&w, "via", via);
    if (d->file.len) {
        sha256_hex(buf_str(&d->text), sha256);
        jw_kstr(&w, "file", buf_str(&d->file));
        jw_kcstr(&w, "sha256", sha256);
    }
    jw_object_end(&w);
}

static void draft_options(struct goal *g, struct draft *d, const struct goal_options *o,
                          enum goal_via via)
{
    CLEANUP(buf_release) struct buf how = BUF_INIT(GOAL_MAX_TEXT);

    goal_options_write(o, &how);
    write_options(d, buf_str(&how), g->session_output, str_of(via_names[via]));
}

/* A file of the old text is no longer named, or it would be the goal again after a restart. */
int goal_reword(struct goal *g, struct str text, bool may_keep, struct buf *ret_objective,
                struct buf *ret_options, const char **ret_code, struct err *err)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    CLEANUP(draft_release) struct draft d;
    const struct json *v = NULL;

    draft_init(&d);
    if (draft_text(g, &d, text, may_keep, ret_code, err) < 0)
        return -1;
    if (g->row.options.len)
        (void)json_parse(&arena, g->row.options, &v, /*ret_info=*/NULL, /*err=*/NULL);
    write_options(&d, json_raw(json_get(v, "how")), json_get_i64(v, "tokens_at_start", 0),
                  json_get_str(v, "via"));
    buf_add(ret_objective, buf_str(&d.objective));
    buf_add(ret_options, buf_str(&d.options));
    return 0;
}

static int check_limits(const struct goal_options *o, int64_t now_ms, struct err *err)
{
    if (o->token_budget < 0 || o->max_turns < 0 || o->max_cost_usd < 0)
        return err_set(err, ERR_BAD_INPUT, "a limit must be more than 0");
    if (o->deadline_ms && o->deadline_ms <= now_ms)
        return err_set(err, ERR_BAD_INPUT, "the deadline has passed already");
    if (o->has_referee && o->referee == REFEREE_CHECKS && !o->checks.len)
        return err_set(err, ERR_BAD_INPUT, "--referee checks needs at least one --check");
    return 0;
}

static void set_event(struct goal *g, const struct draft *d, const struct goal_options *o,
                      enum goal_via via, struct buf *ret)
{
    struct jw w;

    jw_init(&w, ret, 0);
    jw_object(&w);
    jw_ki64(&w, "objective_chars", (int64_t)goal_count_points(buf_str(&d->text)));
    jw_kcstr(&w, "via", via_names[via]);
    jw_kcstr(&w, "referee", goal_referee_name(o->referee));
    jw_key(&w, "checks");
    jw_array(&w);
    VEC_EACH(&d->first.checks, it) {
        jw_object(&w);
        jw_kstr(&w, "command", str_clip(buf_str(&it->command), 1 << 10));
        jw_kbool(&w, "passed", it->passed);
        jw_ki64(&w, "exit_code", it->code);
        jw_ki64(&w, "duration_ms", it->wall_ms);
        jw_kcstr(&w, "output_sha256", it->sha256);
        jw_object_end(&w);
    }
    jw_array_end(&w);
    jw_key(&w, "weak");
    jw_array(&w);
    for (size_t i = 0; i < d->weak_checks.len; i++)
        jw_str(&w, str_clip(str_of(d->weak_checks.ptr[i]), 1 << 10));
    jw_array_end(&w);
    jw_ki64(&w, "protected", (int64_t)d->protected_files);
    jw_key(&w, "baseline");
    if (d->baseline.len)
        jw_raw(&w, buf_str(&d->baseline));
    else
        jw_null(&w);
    jw_key(&w, "limits");
    jw_object(&w);
    jw_ki64(&w, "token_budget", o->token_budget);
    jw_ki64(&w, "max_turns", o->max_turns ? o->max_turns : GOAL_MAX_TURNS);
    jw_key(&w, "max_cost_usd");
    jw_double(&w, o->max_cost_usd);
    jw_ki64(&w, "deadline_ms", o->deadline_ms);
    jw_object_end(&w);
    jw_object_end(&w);
    (void)g;
}

void goal_take_options(struct goal_options *to, const struct goal_options *from)
{
    goal_options_release(to);
    *to = *from;
    to->checks = (struct strv)STRV_INIT;
    to->protect = (struct strv)STRV_INIT;
    strv_add_all(&to->checks, &from->checks);
    strv_add_all(&to->protect, &from->protect);
}

/* What is known of the old one is forgotten, and its end written down. */
void goal_close_old(struct goal *g, bool say_cleared)
{
    CLEANUP(buf_release) struct buf data = BUF_INIT(1 << 10);
    struct jw w;

    if (g->waits)
        goal_end_wait(g, "the goal was replaced or cleared");
    if (g->has && g->row.status != GOAL_COMPLETE && say_cleared) {
        goal_tell_begin(g, &w, &data);
        jw_object_end(&w);
        goal_note(g, "cleared", buf_str(&data));
        goal_attach(g, /*met=*/true, /*sentinel=*/true, STR(""), /*achieved=*/false);
        goal_tell(g, "goal_cleared", buf_str(&data));
    }
    memory_release(&g->memory);
    memory_init(&g->memory);
    evidence_clear(g);
    stall_stop(g);
    g->claim.is_there = false;
    g->directive_due = g->updated_due = g->continuation_due = g->held = g->denied = false;
    buf_clear(&g->woken);
    buf_clear(&g->text);
}

/* The new row is there: everything that hangs on it. */
static void take_new(struct goal *g, const struct draft *d, const struct goal_options *o,
                     struct str event)
{
    CLEANUP(buf_release) struct buf title = BUF_INIT(1 << 10);
    CLEANUP(buf_release) struct buf data = BUF_INIT(1 << 10);
    struct str line;
    struct jw w;

    buf_add(&g->text, buf_str(&d->text));
    goal_take_options(&g->options, o);
    g->tokens_at_start = g->session_output;
    g->spec.host.arm(g->spec.host.arg, g->row.objective);
    goal_attach(g, /*met=*/false, /*sentinel=*/true, STR(""), /*achieved=*/false);
    goal_tell_begin(g, &w, &data);
    jw_kraw(&w, "set", event);
    jw_object_end(&w);
    goal_tell(g, "goal_set", buf_str(&data));
    goal_tell_active(g);
    account_attach(g);
    line = buf_str(&g->text);
    line = str_clip(str_first(line, str_chr(line, '\n')), CHANGE_TITLE);
    buf_add(&title, line);
    g->spec.host.title(g->spec.host.arg, buf_str(&title));
    (void)stall_round(g, &d->first); /* the state that it begins with */
    (void)goal_remember(g, /*err=*/NULL);
}

/* What was set and what will be checked, for the user. */
static void say_set(struct goal *g, const struct draft *d, const struct goal_options *o,
                    struct buf *ret)
{
    struct str text = buf_str(&d->text);
    struct str line = str_clip(str_first(text, str_chr(text, '\n')), 300);

    buf_addf(ret, "Goal set: %.*s%s", STR_ARG(line), line.len < text.len ? "…" : "");
    VEC_EACH(&d->first.checks, it) {
        buf_addf(ret, "\n  check: %s (%s)", buf_cstr(&it->command),
                 it->passed ? "weak: passes before any work" : "fails now, as it should");
    }
    switch (o->referee) {
    case REFEREE_JUDGE:
        buf_addf(ret, "\n  %s judged by a model that looks at the evidence",
                 o->checks.len ? "then" : "it is");
        break;
    case REFEREE_SELF:
        buf_adds(ret, "\n  the agent itself says when it is done");
        break;
    case REFEREE_CHECKS:
        buf_adds(ret, "\n  the checks alone decide");
        break;
    }
    if (d->protected_files)
        buf_addf(ret, "\n  %zu protected file%s", d->protected_files,
                 d->protected_files == 1 ? "" : "s");
    if (o->token_budget) {
        buf_adds(ret, "\n  budget: ");
        goal_show_tokens(o->token_budget, ret);
        buf_adds(ret, " tokens");
    }
    if (o->max_cost_usd > 0)
        buf_addf(ret, "\n  at most $%.2f", o->max_cost_usd);
    for (size_t i = 0; i < d->notes.len; i++)
        buf_addf(ret, "\n  note: %s", d->notes.ptr[i]);
    (void)g;
}

static void make_row(const struct goal *g, const struct draft *d, const struct goal_options *o,
                     struct store_goal *ret)
{
    *ret = (struct store_goal){
        .thread_id = str_of(g->spec.session),
        .goal_id = str_of(d->goal_id),
        .objective = buf_str(&d->objective),
        .status = GOAL_ACTIVE,
        .phase = STR("working"),
        .token_budget = o->token_budget,
        .max_turns = o->max_turns ? o->max_turns : GOAL_MAX_TURNS,
        .max_cost_usd = o->max_cost_usd,
        .deadline_ms = o->deadline_ms,
        .checks = buf_str(&d->checks),
        .protect = buf_str(&d->protect),
        .baseline = buf_str(&d->baseline),
        .options = buf_str(&d->options),
    };
}

/* The permit is held. 1: set; 0: an unfinished one is there (insert). */
static int put_row(struct goal *g, const struct draft *d, const struct goal_options *o,
                   enum goal_via via, struct err *err)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    CLEANUP(buf_release) struct buf data = BUF_INIT(GOAL_MAX_EVENT);
    int64_t now = clock_wall_ms();
    struct goal_event event = {.goal_id = str_of(d->goal_id), .time_ms = now, .kind = STR("set")};
    struct store_goal row, landed = {0};
    int r;

    if (goal_read_row(g, err) < 0)
        return -1;
    make_row(g, d, o, &row);
    set_event(g, d, o, via, &data);
    event.data = buf_str(&data);
    if (g->turn_goal[0])
        (void)account_flush(g, CHARGE_ACTIVE_ONLY, /*err=*/NULL);
    if (via == VIA_MODEL) {
        r = store_goal_insert(g->store, &row, now, &event, &arena, &landed, /*cancel=*/NULL, err);
        if (r <= 0)
            return r;
    } else if (store_goal_replace(g->store, &row, now, &event, &arena, &landed, /*cancel=*/NULL,
                                  err) < 0) {
        return -1;
    }
    goal_close_old(g, via != VIA_NEXT);
    goal_take_row(g, &landed);
    take_new(g, d, o, buf_str(&data));
    return 1;
}

static int make_draft(struct goal *g, struct draft *d, struct str text,
                      const struct goal_options *o, enum goal_via via, struct cancel *cancel,
                      struct goal_answer *ret, struct err *err)
{
    if (goal_gate(g, &ret->code, err) < 0 ||
        draft_text(g, d, text, via != VIA_MODEL, &ret->code, err) < 0 ||
        check_limits(o, clock_wall_ms(), err) < 0)
        return -1;
    if (!file_is_dir(g->spec.dir))
        return err_set(err, ERR_NOT_FOUND, "the folder %s is gone", g->spec.dir);
    if (draft_checks(g, d, &o->checks, cancel, err) < 0 ||
        draft_protect(g, d, o, cancel, err) < 0 || draft_baseline(g, d, cancel, err) < 0)
        return -1;
    lock_take(&g->bench);
    snapshot_free(g->snapshot);
    g->snapshot = snapshot_new(g->spec.dir, g->spec.environ);
    (void)snapshot_look(g->snapshot, /*walk=*/true, &(struct strv){0}, cancel, d->first.state,
                        /*ret_whole=*/NULL, /*err=*/NULL);
    lock_give(&g->bench);
    draft_options(g, d, o, via);
    /* The fingerprint of a round has the checks up to the first that fails. */
    return cancel_check(cancel, err);
}

int goal_set(struct goal *g, struct str text, const struct goal_options *o, enum goal_via via,
             struct cancel *cancel, struct goal_answer *ret, struct err *err)
{
    CLEANUP(draft_release) struct draft d;
    int r;

    draft_init(&d);
    r = make_draft(g, &d, text, o, via, cancel, ret, err);
    if (r == 0) {
        lock_take(&g->permit);
        r = put_row(g, &d, o, via, err);
        if (r > 0)
            g->directive_due = via != VIA_MODEL;
        if (r > 0 && g->row.status != GOAL_ACTIVE)
            r = err_set(err, ERR_BAD_INPUT, "the goal's limits are spent before it begins");
        lock_give(&g->permit);
        if (r == 0)
            r = err_set(err, ERR_BUSY,
                        "this session has an unfinished goal already; only the user can replace "
                        "it");
    } else if (ret->code[0]) {
        tell_gate(g, ret->code);
    }
    if (r < 0)
        return -1;
    say_set(g, &d, o, &ret->text);
    if (via != VIA_MODEL)
        goal_say_turn(g, ret);
    return 0;
}

int goal_create(struct goal *g, struct str objective, int64_t budget, struct cancel *cancel,
                struct goal_answer *ret, struct err *err)
{
    struct goal_options o = {.token_budget = budget};

    return goal_set(g, objective, &o, VIA_MODEL, cancel, ret, err);
}

/* The next of the queue takes its place; the agent goes on with it when it is idle. The permit is
 * held, so its checks are not run before: the first verdict will tell. */
int goal_start_next(struct goal *g, struct err *err)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    CLEANUP(draft_release) struct draft d;
    CLEANUP(goal_options_release) struct goal_options o = {0};
    struct goal_next next = {0};
    const char *code = "";
    int r;

    draft_init(&d);
    r = store_goal_next_take(g->store, str_of(g->spec.session), &arena, &next, /*cancel=*/NULL,
                             err);
    if (r <= 0)
        return r;
    if ((next.options.len && goal_options_read(next.options, &o, err) < 0) ||
        draft_text(g, &d, next.objective, /*may_keep=*/true, &code, err) < 0 ||
        draft_protect(g, &d, &o, g->spec.cancel, err) < 0 ||
        draft_baseline(g, &d, g->spec.cancel, err) < 0)
        return -1;
    goal_write_checks(&o.checks, &d.checks);
    draft_options(g, &d, &o, VIA_NEXT);
    if (put_row(g, &d, &o, VIA_NEXT, err) < 0)
        return -1;
    g->directive_due = true;
    goal_notice(g, LEVEL_INFO, "goal: the next one of the queue begins");
    return 1;
}
