/*
 * A goal's terms in the transcript, so that losing the store loses none of them.
 *
 * Two kinds of lines that other programs skip: "goal-terms" has the terms in full with their
 * digest, on disk before a goal counts as set and again whenever they change; "goal-used" has the
 * status and the costs. When the session is resumed they are compared with the row: a row that is
 * gone is restored from them, and one that differs stops the goal until the user has looked at it.
 * The goal is held; any thread.
 */
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "goal/goal_state.h"
#include "goal/report/display.h"
#include "json/json.h"
#include "json/jw.h"
#include "store/transcript/entry.h"
#include "store/transcript/transcript.h"

#define LINE_MAX ((size_t)16 << 20)

/* ---- Writing ---- */

/* Beside the session's folder. */
static void transcript_of(const struct goal *g, struct buf *ret)
{
    buf_addf(ret, "%s.jsonl", g->spec.folder);
}

static void line_begin(const struct goal *g, enum entry_kind kind, struct jw *w, struct buf *line)
{
    char time[25];

    entry_time(clock_wall_ms(), time);
    jw_init(w, line, 0);
    entry_begin_fact(w, kind);
    jw_kcstr(w, "sessionId", g->spec.session);
    jw_kstr(w, "timestamp", str_make(time, strlen(time)));
    jw_kcstr(w, "cwd", g->spec.dir);
    jw_kstr(w, "goalId", g->row.goal_id);
}

static int line_put(const struct goal *g, struct jw *w, struct buf *line, bool durable,
                    struct err *err)
{
    CLEANUP(buf_release) struct buf path = BUF_INIT(BUF_NO_LIMIT);

    jw_object_end(w);
    buf_addc(line, '\n');
    if (buf_check(line, err) < 0)
        return -1;
    transcript_of(g, &path);
    return transcript_add_line(buf_cstr(&path), buf_str(line), durable, err);
}

/* The transcript was removed: its messages are lost, the goal is not. */
static bool is_transcript_gone(const struct goal *g)
{
    CLEANUP(buf_release) struct buf path = BUF_INIT(BUF_NO_LIMIT);

    transcript_of(g, &path);
    return !file_exists(buf_cstr(&path));
}

/* A fork's file is copied whole with its first message; before that no line goes there. */
static bool may_write(const struct goal *g)
{
    return g->spec.is_kept && !(g->spec.is_fork && is_transcript_gone(g));
}

static void write_terms(const struct goal *g, struct jw *w)
{
    const struct store_goal *row = &g->row;

    jw_key(w, "terms");
    jw_object(w);
    jw_kstr(w, "objective", row->objective);
    if (terms_text(g).len)
        jw_kstr(w, "text", terms_text(g));
    jw_kstr(w, "checks", row->checks);
    jw_kstr(w, "protect", row->protect);
    jw_kstr(w, "baseline", row->baseline);
    jw_kstr(w, "options", row->options);
    jw_ki64(w, "token_budget", row->token_budget);
    jw_ki64(w, "max_turns", row->max_turns);
    jw_key(w, "max_cost_usd");
    jw_double(w, row->max_cost_usd);
    jw_ki64(w, "deadline_ms", row->deadline_ms);
    jw_kstr(w, "judge", buf_str(&g->judge));
    jw_ki64(w, "created_at_ms", row->created_at_ms);
    jw_object_end(w);
}

int terms_keep(struct goal *g, struct err *err)
{
    CLEANUP(buf_release) struct buf line = BUF_INIT(LINE_MAX);
    char digest[SHA256_HEX + 1];
    struct jw w;

    if (!g->has || g->lost.len || !may_write(g))
        return 0;
    goal_terms(g, digest);
    if (strcmp(digest, g->kept_terms) == 0)
        return 0;
    line_begin(g, ENTRY_GOAL_TERMS, &w, &line);
    jw_kcstr(&w, "digest", digest);
    write_terms(g, &w);
    if (line_put(g, &w, &line, /*durable=*/true, err) < 0)
        return -1;
    memcpy(g->kept_terms, digest, sizeof(digest));
    g->kept_used = (struct goal_used){0};
    terms_keep_used(g);
    return 0;
}

int terms_keep_cleared(struct goal *g, struct err *err)
{
    CLEANUP(buf_release) struct buf line = BUF_INIT(LINE_MAX);
    struct jw w;

    if (!may_write(g))
        return 0;
    line_begin(g, ENTRY_GOAL_TERMS, &w, &line);
    jw_kbool(&w, "cleared", true);
    g->kept_terms[0] = '\0';
    return line_put(g, &w, &line, /*durable=*/true, err);
}

static struct goal_used used_now(const struct goal *g)
{
    return (struct goal_used){
        .is_there = true,
        .status = g->row.status,
        .tokens = g->row.tokens_used,
        .steps = g->row.steps,
        .iterations = g->row.iterations,
    };
}

void terms_keep_used(struct goal *g)
{
    CLEANUP(buf_release) struct buf line = BUF_INIT(LINE_MAX);
    const struct store_goal *row = &g->row;
    struct goal_used now = used_now(g);
    struct err err = {0};
    struct jw w;

    if (!g->has || !g->kept_terms[0] || memcmp(&now, &g->kept_used, sizeof(now)) == 0 ||
        !may_write(g))
        return;
    if (is_transcript_gone(g)) {
        g->kept_terms[0] = '\0';
        (void)terms_keep(g, &err); /* comes here again */
        return;
    }
    line_begin(g, ENTRY_GOAL_USED, &w, &line);
    jw_kcstr(&w, "status", goal_status_name(row->status));
    jw_kstr(&w, "reason", str_clip(row->last_reason, 1 << 10));
    jw_ki64(&w, "tokens_used", row->tokens_used);
    jw_ki64(&w, "output_tokens", row->output_tokens);
    jw_ki64(&w, "steps", row->steps);
    jw_ki64(&w, "time_used_seconds", row->time_used_seconds);
    jw_key(&w, "cost_usd");
    jw_double(&w, row->cost_usd);
    jw_kbool(&w, "cost_unknown", row->cost_unknown);
    jw_ki64(&w, "iterations", row->iterations);
    if (line_put(g, &w, &line, /*durable=*/false, &err) == 0)
        g->kept_used = now;
}

/* ---- Reading ---- */

/* What the transcript has of the session's goal. */
struct kept {
    struct arena arena;
    bool is_there;    /* a line with terms, whole */
    bool is_cleared;  /* or one that says that the goal was cleared */
    bool is_damaged;  /* a damaged line */
    bool is_complete; /* the newest status */
    struct store_goal row;
    struct str text, judge;
    char digest[SHA256_HEX + 1];
};

static void read_used(struct str line, struct kept *k)
{
    const struct json *v = NULL;
    struct store_goal *row = &k->row;

    row->status = GOAL_ACTIVE;
    if (!line.len || json_parse_copy(&k->arena, line, &v, /*ret_info=*/NULL, /*err=*/NULL) < 0 ||
        !str_eq(json_get_str(v, "goalId"), row->goal_id))
        return;
    (void)goal_status_parse(json_get_str(v, "status"), &row->status);
    k->is_complete = row->status == GOAL_COMPLETE;
    row->last_reason = json_get_str(v, "reason");
    row->tokens_used = json_get_i64(v, "tokens_used", 0);
    row->output_tokens = json_get_i64(v, "output_tokens", 0);
    row->steps = json_get_i64(v, "steps", 0);
    row->time_used_seconds = json_get_i64(v, "time_used_seconds", 0);
    (void)json_double(json_get(v, "cost_usd"), &row->cost_usd);
    row->cost_unknown = json_get_bool(v, "cost_unknown", false);
    row->iterations = json_get_i64(v, "iterations", 0);
}

static void read_kept(const struct goal *g, struct kept *k)
{
    const struct json *v = NULL, *t;
    struct store_goal *row = &k->row;

    *k = (struct kept){.row.thread_id = str_of(g->spec.session), .row.phase = STR("working")};
    if (!g->spec.terms.len)
        return;
    if (json_parse_copy(&k->arena, g->spec.terms, &v, /*ret_info=*/NULL, /*err=*/NULL) < 0) {
        k->is_damaged = true;
        return;
    }
    t = json_get(v, "terms");
    row->goal_id = json_get_str(v, "goalId");
    k->is_cleared = json_get_bool(v, "cleared", false);
    if (k->is_cleared)
        return;
    row->objective = json_get_str(t, "objective");
    k->text = json_get_str(t, "text");
    row->checks = json_get_str(t, "checks");
    row->protect = json_get_str(t, "protect");
    row->baseline = json_get_str(t, "baseline");
    row->options = json_get_str(t, "options");
    row->token_budget = json_get_i64(t, "token_budget", 0);
    row->max_turns = json_get_i64(t, "max_turns", 0);
    (void)json_double(json_get(t, "max_cost_usd"), &row->max_cost_usd);
    row->deadline_ms = json_get_i64(t, "deadline_ms", 0);
    row->created_at_ms = row->updated_at_ms = json_get_i64(t, "created_at_ms", 0);
    k->judge = json_get_str(t, "judge");
    terms_digest(row, k->text, k->judge, k->digest);
    k->is_there = str_is(json_get_str(v, "digest"), k->digest) && row->goal_id.len;
    k->is_damaged = !k->is_there;
    read_used(g->spec.used, k);
}

/* ---- When a session is resumed ---- */

static void say_lost(struct goal *g, struct strv *ret_notes, const char *what)
{
    buf_clear(&g->lost);
    buf_addf(&g->lost, GOAL_TERMS_LOST ": %s", what);
    strv_addf(ret_notes,
              "the goal is paused: %s. Set it again with its checks and limits, or accept it as it "
              "is now: /goal accept terms",
              buf_cstr(&g->lost));
}

/* Paused, even if the row says complete. */
static void pause_lost(struct goal *g)
{
    (void)goal_set_status(g, GOAL_PAUSED, /*from=*/0, buf_str(&g->lost), "engine", /*err=*/NULL);
}

/* The row is gone: it comes back whole. */
static void restore_row(struct goal *g, struct kept *k, struct strv *ret_notes)
{
    struct goal_event event = {.kind = STR("restored"), .data = STR("{\"from\":\"transcript\"}")};
    struct err err = {0};

    if (k->is_complete)
        return; /* nothing is left to do; and a line alone completes no goal */
    if (store_goal_restore(g->store, &k->row, clock_wall_ms(), &event, g->spec.cancel, &err) < 0) {
        strv_addf(ret_notes, "the goal of this transcript could not be restored: %s", err.text);
        return;
    }
    goal_take_row(g, &k->row);
    strv_adds(ret_notes,
              "the store had lost this session's goal; its terms and what it has used were "
              "restored from the transcript");
}

/* "checks, limits" */
static void compare_terms(const struct goal *g, const struct kept *k, struct buf *ret)
{
    const struct store_goal *row = &g->row;
    const struct {
        const char *name;
        bool same;
    } rows[] = {
        {"the goal itself", str_eq(row->goal_id, k->row.goal_id)},
        {"objective", str_eq(row->objective, k->row.objective)},
        {"checks", str_eq(row->checks, k->row.checks)},
        {"protection", str_eq(row->protect, k->row.protect)},
        {"baseline", str_eq(row->baseline, k->row.baseline)},
        {"options", str_eq(row->options, k->row.options)},
        {"limits", row->token_budget == k->row.token_budget && row->max_turns == k->row.max_turns &&
                       row->max_cost_usd == k->row.max_cost_usd &&
                       row->deadline_ms == k->row.deadline_ms},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        if (!rows[i].same)
            buf_addf(ret, "%s%s", ret->len ? ", " : "", rows[i].name);
    }
}

/* What the row says was spent is never less than what the transcript saw. */
static void raise_used(struct goal *g, const struct kept *k)
{
    struct goal_event event = {.kind = STR("restored"), .data = STR("{\"from\":\"transcript\"}")};
    struct store_goal row = g->row;

#define RAISE(name) row.name = row.name < k->row.name ? k->row.name : row.name
    RAISE(tokens_used);
    RAISE(output_tokens);
    RAISE(steps);
    RAISE(time_used_seconds);
    RAISE(cost_usd);
    RAISE(iterations);
    row.cost_unknown = row.cost_unknown || k->row.cost_unknown;
    if (row.tokens_used == g->row.tokens_used && row.steps == g->row.steps &&
        row.time_used_seconds == g->row.time_used_seconds && row.cost_usd == g->row.cost_usd)
        return;
    if (store_goal_restore(g->store, &row, clock_wall_ms(), &event, g->spec.cancel,
                           /*err=*/NULL) == 0)
        goal_take_row(g, &row);
}

/* The row is there, and so are the terms of the transcript. */
static void adopt_both(struct goal *g, const struct kept *k, struct strv *ret_notes)
{
    CLEANUP(buf_release) struct buf differs = BUF_INIT(1 << 10);
    CLEANUP(buf_release) struct buf why = BUF_INIT(1 << 10);

    if (k->is_cleared)
        buf_adds(&differs, "the transcript says that it was cleared");
    else
        compare_terms(g, k, &differs);
    if (differs.len) {
        buf_addf(&why, "the stored goal is not the one of the transcript (%s)", buf_cstr(&differs));
        say_lost(g, ret_notes, buf_cstr(&why));
        pause_lost(g);
        return;
    }
    raise_used(g, k);
    /* Killed between the two, or written by another program: it is judged again. */
    if (g->row.status == GOAL_COMPLETE && !k->is_complete) {
        (void)goal_set_status(g, GOAL_ACTIVE, 1u << GOAL_COMPLETE,
                              STR("the transcript does not say that it is complete"), "engine",
                              /*err=*/NULL);
        strv_adds(ret_notes, "the store calls the goal complete and the transcript does not, so it "
                             "is judged again");
    }
}

/* The settings that say where requests go and with which key were others when the goal was set: a
 * file that was changed since would send the key elsewhere. */
static bool is_judged_elsewhere(const struct goal *g, const struct kept *k)
{
    const struct goal_host *host = &g->spec.host;
    CLEANUP(buf_release) struct buf now = BUF_INIT(16 << 10);
    struct str mark = STR(GOAL_JUDGE_SETTINGS);
    struct str then = str_from(k->judge, str_find(k->judge, mark));

    if (!host->judge_name || !then.len)
        return false;
    host->judge_name(host->arg, &now);
    return !str_eq(str_from(buf_str(&now), str_find(buf_str(&now), mark)), then);
}

/* A long text's file that is gone or was changed is written again. */
static void restore_text(const struct kept *k)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    CLEANUP(buf_release) struct buf text = BUF_INIT(LINE_MAX);
    const struct json *v = NULL;
    const char *path;

    if (!k->text.len || json_parse(&arena, k->row.options, &v, /*ret_info=*/NULL, NULL) < 0 ||
        !json_get_str(v, "file").len)
        return;
    path = arena_cstr(&arena, json_get_str(v, "file"));
    if (file_slurp(path, LINE_MAX, &text, /*err=*/NULL) == 0 &&
        str_eq(str_trim(buf_str(&text)), k->text))
        return;
    (void)file_replace(path, k->text, 0600, /*err=*/NULL);
}

void terms_adopt(struct goal *g, bool anchor_has_terms, struct strv *ret_notes)
{
    struct kept k;

    read_kept(g, &k);
    if (k.is_there)
        restore_text(&k);
    if (k.is_there) {
        buf_clear(&g->judge);
        buf_add(&g->judge, k.judge);
        memcpy(g->kept_terms, k.digest, sizeof(k.digest));
    }
    if (!g->has && k.is_there)
        restore_row(g, &k, ret_notes);
    else if (!g->has && !k.is_cleared && (k.is_damaged || anchor_has_terms))
        say_lost(g, ret_notes,
                 "neither the store nor the transcript has the checks, protection and limits of "
                 "this session's goal");
    else if (g->has && (k.is_there || k.is_cleared))
        adopt_both(g, &k, ret_notes);
    if (g->has && k.is_there && !g->lost.len && g->row.status != GOAL_COMPLETE &&
        is_judged_elsewhere(g, &k)) {
        say_lost(g, ret_notes,
                 "the settings that say where requests go, or with which key, have changed since "
                 "the goal was set");
        pause_lost(g);
    }
    if (g->has && k.is_damaged && g->row.status != GOAL_COMPLETE)
        strv_adds(ret_notes, "the goal's terms in the transcript are damaged; those of the store "
                             "are used");
    arena_release(&k.arena);
}

void terms_are_kept(struct goal *g)
{
    if (!g->kept_terms[0])
        goal_terms(g, g->kept_terms);
    g->kept_used = used_now(g);
}

int terms_accept(struct goal *g, struct err *err)
{
    const struct goal_host *host = &g->spec.host;

    buf_clear(&g->lost);
    buf_clear(&g->judge); /* where it is not known, whichever there is then */
    if (host->judge_name)
        host->judge_name(host->arg, &g->judge);
    g->kept_terms[0] = '\0';
    return terms_keep(g, err);
}
