/*
 * report_json: the report for programs (report.h), member by member. Any thread.
 */
#include "base/buf.h"
#include "goal/report/display.h"
#include "goal/report/report.h"
#include "goal/report/row_json.h"
#include "goal/report/tally.h"
#include "json/json.h"
#include "json/jw.h"

#define REASON_MAX ((size_t)8 << 10) /* bytes of one */

static void write_usd(struct jw *w, const char *key, double usd)
{
    jw_key(w, key);
    jw_double(w, usd);
}

/* Empty is null. */
static void write_text(struct jw *w, const char *key, struct str text)
{
    jw_key(w, key);
    if (text.len)
        jw_str(w, text);
    else
        jw_null(w);
}

static void write_verdict(const struct goal_report *r, const struct tally *t, struct jw *w)
{
    bool is_met = r->goal->status == GOAL_COMPLETE;
    const struct tally_verdict *v = is_met && t->met.data ? &t->met : &t->last;
    struct str reason = json_get_str(v->data, "reason");

    jw_key(w, "verdict");
    jw_object(w);
    jw_kbool(w, "met", is_met);
    jw_kcstr(w, "status", goal_status_name(r->goal->status));
    write_text(w, "by", json_get_str(v->data, "by"));
    write_text(w, "model", json_get_str(v->data, "model"));
    write_text(w, "reason", str_clip(reason.len ? reason : r->goal->last_reason, REASON_MAX));
    write_text(w, "why", json_get_str(t->status.data, "why"));
    goal_row_write_limit(w, "time_ms", v->time_ms);
    jw_object_end(w);
}

static void write_criteria(const struct tally *t, struct jw *w)
{
    const struct json *from = t->criteria.data;

    jw_key(w, "criteria");
    jw_array(w);
    JSON_EACH(json_get(from, "criteria"), c) {
        jw_object(w);
        jw_kstr(w, "text", json_get_str(c, "text"));
        jw_kstr(w, "state", json_get_str(c, "state"));
        write_text(w, "by", json_get_str(from, "by"));
        write_text(w, "model", json_get_str(from, "model"));
        jw_ki64(w, "time_ms", t->criteria.time_ms);
        jw_object_end(w);
    }
    jw_array_end(w);
}

static void write_checks(const struct tally *t, struct jw *w)
{
    jw_key(w, "checks");
    jw_array(w);
    VEC_EACH(&t->checks, c) {
        jw_object(w);
        jw_kstr(w, "command", c->command);
        jw_kbool(w, "passed", json_get_bool(c->last, "passed", false));
        jw_ki64(w, "exit_code", json_get_i64(c->last, "exit_code", -1));
        jw_kbool(w, "timed_out", json_get_bool(c->last, "timed_out", false));
        jw_ki64(w, "duration_ms", json_get_i64(c->last, "duration_ms", 0));
        write_text(w, "output_sha256", json_get_str(c->last, "output_sha256"));
        jw_ki64(w, "output_bytes", json_get_i64(c->last, "output_bytes", 0));
        jw_ki64(w, "time_ms", c->time_ms);
        jw_ki64(w, "runs", (int64_t)c->runs);
        jw_ki64(w, "failures", (int64_t)c->failures);
        jw_kbool(w, "passed_before_work", c->passed_before);
        jw_object_end(w);
    }
    jw_array_end(w);
    jw_key(w, "confirmed");
    jw_object(w);
    write_text(w, "in", json_get_str(t->confirmed.data, "checked_in"));
    jw_kbool(w, "observed", json_get_bool(t->confirmed.data, "observed", false));
    jw_kjson(w, "not_run", json_get(t->confirmed.data, "not_run"));
    jw_object_end(w);
}

static void write_refused(const struct tally *t, struct jw *w)
{
    jw_key(w, "refused");
    jw_array(w);
    VEC_EACH(&t->refused, v) {
        jw_object(w);
        jw_ki64(w, "time_ms", v->time_ms);
        jw_ki64(w, "round", json_get_i64(v->data, "round", 0));
        write_text(w, "by", json_get_str(v->data, "by"));
        jw_kbool(w, "claim", json_get_bool(v->data, "claim", false));
        jw_kbool(w, "impossible", json_get_bool(v->data, "impossible", false));
        write_text(w, "reason", str_clip(json_get_str(v->data, "reason"), REASON_MAX));
        if (json_len(json_get(v->data, "changed")))
            jw_kjson(w, "changed", json_get(v->data, "changed"));
        jw_object_end(w);
    }
    jw_array_end(w);
}

static void write_counts(const struct tally *t, struct jw *w)
{
    jw_key(w, "counts");
    jw_object(w);
    jw_ki64(w, "verdicts", (int64_t)t->verdicts);
    jw_ki64(w, "refused", (int64_t)t->refused_count);
    jw_ki64(w, "claims_refused", (int64_t)t->claims_refused);
    jw_ki64(w, "judge_errors", (int64_t)t->judge_errors);
    jw_ki64(w, "stale", (int64_t)t->stale);
    jw_ki64(w, "retries", (int64_t)t->retries);
    jw_ki64(w, "stalls", (int64_t)t->stalls);
    jw_ki64(w, "waits", (int64_t)t->wait_count);
    jw_object_end(w);
}

static void write_spend(const struct tally_spend *s, struct jw *w)
{
    jw_object(w);
    jw_kstr(w, "who", s->who);
    jw_ki64(w, "tokens", s->tokens);
    jw_ki64(w, "output_tokens", s->output_tokens);
    write_usd(w, "cost_usd", s->cost_usd);
    jw_kbool(w, "cost_unknown", s->cost_unknown);
    jw_ki64(w, "seconds", s->seconds);
    jw_ki64(w, "steps", s->steps);
    jw_object_end(w);
}

static void write_tokens(const struct store_goal *g, const struct tally *t, struct jw *w)
{
    jw_key(w, "tokens");
    jw_object(w);
    jw_ki64(w, "used", g->tokens_used);
    jw_ki64(w, "output", g->output_tokens);
    goal_row_write_limit(w, "budget", g->token_budget);
    jw_ki64(w, "charged", t->sum.tokens);
    jw_kbool(w, "charges_match", t->sum.tokens == g->tokens_used);
    jw_key(w, "by");
    jw_array(w);
    VEC_EACH(&t->spends, s) {
        write_spend(s, w);
    }
    jw_array_end(w);
    jw_object_end(w);
}

static void write_figures(const struct store_goal *g, const struct tally *t, struct jw *w)
{
    jw_ki64(w, "turns", g->iterations + (g->status == GOAL_COMPLETE));
    jw_ki64(w, "steps", g->steps);
    write_tokens(g, t, w);
    jw_key(w, "cost");
    jw_object(w);
    write_usd(w, "usd", g->cost_usd);
    jw_kbool(w, "unknown", g->cost_unknown);
    goal_row_write_usd_limit(w, "limit_usd", g->max_cost_usd);
    jw_object_end(w);
    jw_key(w, "time");
    jw_object(w);
    jw_ki64(w, "active_seconds", g->time_used_seconds);
    jw_ki64(w, "waited_ms", t->waited_ms);
    jw_object_end(w);
    jw_key(w, "limits");
    jw_object(w);
    goal_row_write_limit(w, "token_budget", g->token_budget);
    goal_row_write_limit(w, "max_turns", g->max_turns);
    goal_row_write_usd_limit(w, "max_cost_usd", g->max_cost_usd);
    goal_row_write_limit(w, "deadline_ms", g->deadline_ms);
    jw_object_end(w);
}

static void write_waits(const struct tally *t, struct jw *w)
{
    jw_key(w, "waits");
    jw_array(w);
    VEC_EACH(&t->waits, wait) {
        jw_object(w);
        write_text(w, "on", wait->on);
        write_text(w, "what", wait->what);
        jw_ki64(w, "since_ms", wait->since_ms);
        jw_ki64(w, "waited_ms", wait->waited_ms);
        write_text(w, "why", wait->why);
        jw_kbool(w, "over", wait->is_over);
        jw_object_end(w);
    }
    jw_array_end(w);
}

static void write_course(const struct tally *t, struct jw *w)
{
    jw_key(w, "course");
    jw_array(w);
    VEC_EACH(&t->course, e) {
        jw_object(w);
        jw_ki64(w, "time_ms", e->time_ms);
        jw_kstr(w, "kind", e->kind);
        jw_kjson(w, "data", e->data);
        jw_object_end(w);
    }
    jw_array_end(w);
}

static void write_next(const struct store_goal *g, struct jw *w)
{
    CLEANUP(buf_release) struct buf next = BUF_INIT(4096);

    if (g->status == GOAL_COMPLETE)
        return;
    goal_show_stop(g, &next);
    write_text(w, "next", buf_str(&next));
}

void goal_report_json(const struct goal_report *r, struct buf *ret)
{
    CLEANUP(tally_release) struct tally t = TALLY_INIT;
    const struct store_goal *g = r->goal;
    struct jw w;

    tally_read(&t, r->events, g->goal_id, r->now_ms);
    jw_init(&w, ret, JW_CLEAN);
    jw_object(&w);
    jw_kcstr(&w, "type", "goal_report");
    jw_ki64(&w, "version", 1);
    jw_kstr(&w, "session", r->session);
    jw_kstr(&w, "dir", r->dir);
    jw_kstr(&w, "goal_id", g->goal_id);
    jw_kstr(&w, "objective", r->objective.len ? r->objective : g->objective);
    jw_kcstr(&w, "status", goal_status_name(g->status));
    write_text(&w, "referee", json_get_str(t.set, "referee"));
    write_text(&w, "via", json_get_str(t.set, "via"));
    jw_ki64(&w, "set_ms", g->created_at_ms);
    jw_ki64(&w, "updated_ms", g->updated_at_ms);
    if (r->is_past)
        jw_kbool(&w, "past", true);
    write_verdict(r, &t, &w);
    write_criteria(&t, &w);
    write_checks(&t, &w);
    write_refused(&t, &w);
    write_counts(&t, &w);
    write_text(&w, "diff_stat", r->diff_stat);
    jw_kjson(&w, "baseline", json_get(t.set, "baseline"));
    jw_key(&w, "refs");
    jw_array(&w);
    VEC_EACH(&t.refs, ref) {
        jw_str(&w, *ref);
    }
    jw_array_end(&w);
    jw_kjson(&w, "proof", t.proof);
    write_figures(g, &t, &w);
    write_waits(&t, &w);
    write_course(&t, &w);
    if (!r->is_past)
        write_next(g, &w);
    jw_object_end(&w);
}
