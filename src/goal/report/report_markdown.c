/*
 * report_markdown: the report for people (report.h): the verdict, then its proof, then what it
 * took. A section without anything to say is left out. Any thread.
 */
#include "base/buf.h"
#include "base/clock.h"
#include "goal/report/display.h"
#include "goal/report/markdown.h"
#include "goal/report/report.h"
#include "goal/report/tally.h"
#include "json/json.h"

#define REASON_MAX 600     /* bytes of a reason in a table */
#define VERDICT_MAX 4000   /* of the one that decided */
#define OBJECTIVE_MAX 8000 /* all that a goal may have, and much of one in a file */
#define COMMAND_MAX 300
#define STAT_MAX ((size_t)32 << 10)
#define ROWS_MAX 50 /* of a table */

/* "2026-11-15 12:00:00Z" */
static void add_time(int64_t ms, struct buf *ret)
{
    char iso[25];

    if (ms <= 0) {
        buf_adds(ret, "–");
        return;
    }
    clock_iso(ms, iso);
    buf_addf(ret, "%.10s %.8sZ", iso, iso + 11);
}

/* 1,234,567 */
static void add_number(int64_t n, struct buf *ret)
{
    char digits[32];
    int len = snprintf(digits, sizeof(digits), "%lld", (long long)(n < 0 ? 0 : n));

    for (int i = 0; i < len; i++) {
        if (i && (len - i) % 3 == 0)
            buf_addc(ret, ',');
        buf_addc(ret, digits[i]);
    }
}

static void add_ms(int64_t ms, struct buf *ret)
{
    if (ms < 1000)
        buf_addf(ret, "%lld ms", (long long)(ms < 0 ? 0 : ms));
    else if (ms < 60000)
        buf_addf(ret, "%lld.%lld s", (long long)(ms / 1000), (long long)(ms % 1000 / 100));
    else
        goal_show_elapsed(ms / 1000, ret);
}

/* Which rows of a list are shown: the newest; says how many are not. */
static size_t first_shown(size_t len, size_t all, struct buf *ret)
{
    size_t first = len > ROWS_MAX ? len - ROWS_MAX : 0;
    size_t hidden = all - (len - first);

    if (hidden)
        buf_addf(ret, "The newest %zu of %zu:\n\n", len - first, all);
    return first;
}

/* ---- The sections ---- */

static void add_head(const struct goal_report *r, const struct tally *t, struct buf *ret)
{
    const struct store_goal *g = r->goal;
    bool is_met = g->status == GOAL_COMPLETE;
    const struct tally_verdict *v = is_met && t->met.data ? &t->met : &t->last;
    struct str reason = json_get_str(v->data, "reason");
    struct str why = json_get_str(t->status.data, "why");
    struct str by = json_get_str(v->data, "by");
    const char *state = r->is_past && !is_met ? "cleared" : goal_show_status(g->status);

    buf_addf(ret, "# Goal report: %s\n\n", state);
    buf_addf(ret, "**Verdict: %s.**", is_met ? "the goal is met" : "the goal is not met");
    if (!reason.len)
        reason = g->last_reason;
    if (reason.len) {
        buf_addc(ret, ' ');
        markdown_text(reason, VERDICT_MAX, ret);
    }
    if (by.len) {
        buf_adds(ret, " (decided by ");
        markdown_text(by, 40, ret);
        if (json_get_str(v->data, "model").len) {
            buf_adds(ret, ", ");
            markdown_text(json_get_str(v->data, "model"), 100, ret);
        }
        buf_adds(ret, ", ");
        add_time(v->time_ms, ret);
        buf_addc(ret, ')');
    }
    buf_adds(ret, "\n\n");
    if (!is_met && why.len && !str_eq(why, reason)) {
        buf_addf(ret, "**Why it %s %s:** ", r->is_past ? "was" : "is", goal_show_status(g->status));
        markdown_text(why, VERDICT_MAX, ret);
        buf_adds(ret, "\n\n");
    }
    buf_adds(ret, "## Objective\n\n");
    markdown_quote(r->objective.len ? r->objective : g->objective, OBJECTIVE_MAX, ret);
    buf_addc(ret, '\n');
}

static void add_criteria(const struct tally *t, struct buf *ret)
{
    const struct json *list = json_get(t->criteria.data, "criteria");

    if (!json_len(list))
        return;
    buf_adds(ret, "## Criteria\n\n| Criterion | State | Seen by | At |\n|---|---|---|---|\n");
    JSON_EACH(list, c) {
        struct str by = json_get_str(t->criteria.data, "by");

        buf_adds(ret, "| ");
        markdown_text(json_get_str(c, "text"), REASON_MAX, ret);
        buf_adds(ret, " | ");
        markdown_text(json_get_str(c, "state"), 20, ret);
        buf_adds(ret, " | ");
        markdown_text(by, 40, ret);
        buf_adds(ret, " | ");
        add_time(t->criteria.time_ms, ret);
        buf_adds(ret, " |\n");
    }
    buf_addc(ret, '\n');
}

static void add_check(const struct tally_check *c, struct buf *ret)
{
    bool passed = json_get_bool(c->last, "passed", false);

    buf_adds(ret, "| ");
    markdown_code(c->command, COMMAND_MAX, ret);
    buf_addf(ret, " | %s",
             passed                                       ? "passed"
             : json_get_bool(c->last, "timed_out", false) ? "**timed out**"
                                                          : "**failed**");
    buf_addf(ret, " | %lld | ", (long long)json_get_i64(c->last, "exit_code", -1));
    add_ms(json_get_i64(c->last, "duration_ms", 0), ret);
    buf_adds(ret, " | ");
    add_time(c->time_ms, ret);
    buf_addf(ret, " | %zu (%zu failed)%s | ", c->runs, c->failures,
             c->passed_before ? ", passed before any work" : "");
    markdown_code(str_first(json_get_str(c->last, "output_sha256"), 16), 16, ret);
    buf_adds(ret, " |\n");
}

/* Where the checks of the verdict ran, and what they no longer ran. */
static void add_confirmed(const struct json *verdict, struct buf *ret)
{
    struct str where = json_get_str(verdict, "checked_in");
    size_t n = 0;

    if (!where.len)
        return;
    if (str_is(where, "workspace"))
        buf_adds(ret, "\nThey ran in the workspace only: no clean room confirmed them.\n");
    else
        buf_addf(ret, "\nConfirmed in a clean room (%s).%s\n",
                 str_is(where, "copy") ? "a copy of the workspace" : "an overlay",
                 json_get_bool(verdict, "observed", false)
                     ? ""
                     : " What they ran and read could not be observed.");
    JSON_EACH(json_get(verdict, "not_run"), path) {
        buf_adds(ret, n++ ? ", " : "\nThey ran this when the goal was set, and not at the end: ");
        markdown_code(json_str(path), 100, ret);
    }
    if (n)
        buf_adds(ret, ".\n");
}

static void add_checks(const struct tally *t, struct buf *ret)
{
    if (!t->checks.len)
        return;
    buf_adds(ret, "## Checks\n\nRun by tenax itself; the last result of each.\n\n"
                  "| Command | Result | Exit code | Took | At | Runs | Output (SHA-256) |\n"
                  "|---|---|---:|---:|---|---|---|\n");
    VEC_EACH(&t->checks, c) {
        add_check(c, ret);
    }
    add_confirmed(t->confirmed.data, ret);
    buf_addc(ret, '\n');
}

static void add_changed_files(const struct json *changed, struct buf *ret)
{
    size_t n = 0;

    JSON_EACH(changed, c) {
        if (n++ == 10) {
            buf_addf(ret, " … and %zu more", json_len(changed) - 10);
            return;
        }
        buf_adds(ret, n == 1 ? " Protected: " : ", ");
        markdown_code(json_get_str(c, "path"), 100, ret);
        buf_addc(ret, ' ');
        markdown_text(json_get_str(c, "what"), 20, ret);
    }
}

static void add_refused(const struct tally *t, struct buf *ret)
{
    size_t first;

    if (!t->refused_count)
        return;
    buf_addf(ret, "## Refused\n\n%zu time%s the goal was found not to be met", t->refused_count,
             t->refused_count == 1 ? "" : "s");
    if (t->claims_refused)
        buf_addf(ret, ", %zu of them after the agent had claimed to be done", t->claims_refused);
    buf_adds(ret, ".\n\n");
    first = first_shown(t->refused.len, t->refused_count, ret);
    buf_adds(ret, "| Round | At | By | Claimed | Why |\n|---:|---|---|---|---|\n");
    for (size_t i = first; i < t->refused.len; i++) {
        const struct tally_verdict *v = &t->refused.ptr[i];

        buf_addf(ret, "| %lld | ", (long long)json_get_i64(v->data, "round", 0));
        add_time(v->time_ms, ret);
        buf_adds(ret, " | ");
        markdown_text(json_get_str(v->data, "by"), 40, ret);
        buf_adds(ret, json_get_bool(v->data, "claim", false) ? " | yes | " : " | no | ");
        if (json_get_bool(v->data, "impossible", false))
            buf_adds(ret, "Cannot be met: ");
        markdown_text(json_get_str(v->data, "reason"), REASON_MAX, ret);
        add_changed_files(json_get(v->data, "changed"), ret);
        buf_adds(ret, " |\n");
    }
    buf_addc(ret, '\n');
}

static void add_diff(const struct goal_report *r, const struct tally *t, struct buf *ret)
{
    if (!str_trim(r->diff_stat).len)
        return;
    buf_adds(ret, "## Changes since the goal was set\n\n");
    markdown_fence(r->diff_stat, STAT_MAX, ret);
    if (t->refs.len) {
        buf_addf(ret, "\nVerified steps are kept as %zu git ref%s, the newest ", t->refs.len,
                 t->refs.len == 1 ? "" : "s");
        markdown_code(t->refs.ptr[t->refs.len - 1], 200, ret);
        buf_adds(ret, ".\n");
    }
    buf_addc(ret, '\n');
}

/* How the verdict can be checked again. */
static void add_proof(const struct goal_report *r, const struct tally *t, struct buf *ret)
{
    CLEANUP(buf_release) struct buf command = BUF_INIT(256);
    struct str error = json_get_str(t->proof, "error");

    if (r->goal->status != GOAL_COMPLETE)
        return;
    buf_adds(ret, "## Proof\n\n");
    if (error.len || !t->proof) {
        buf_adds(ret, "No proof was recorded: ");
        markdown_text(error.len ? error : STR("the ledger has none"), REASON_MAX, ret);
        buf_adds(ret, ". The checks cannot be run again for the state of the verdict.\n\n");
        return;
    }
    buf_addf(&command, "tenax goal verify %.*s", STR_ARG(str_clip(r->goal->goal_id, 8)));
    markdown_code(buf_str(&command), 200, ret);
    buf_adds(ret, " runs the checks again for the state of the verdict, which is kept in ");
    markdown_code(json_get_str(t->proof, "folder"), COMMAND_MAX, ret);
    buf_adds(ret, ".\n\n");
}

static void add_cost(double usd, bool unknown, struct buf *ret)
{
    goal_show_usd(usd, ret);
    if (unknown)
        buf_adds(ret, " + unknown");
}

static void add_spends(const struct store_goal *g, const struct tally *t, struct buf *ret)
{
    if (!t->spends.len)
        return;
    buf_adds(ret, "## Who spent what\n\n"
                  "| Who | Tokens | of which output | Cost | Time | Steps |\n"
                  "|---|---:|---:|---:|---:|---:|\n");
    VEC_EACH(&t->spends, s) {
        buf_adds(ret, "| ");
        markdown_text(s->who, 40, ret);
        buf_adds(ret, " | ");
        add_number(s->tokens, ret);
        buf_adds(ret, " | ");
        add_number(s->output_tokens, ret);
        buf_adds(ret, " | ");
        add_cost(s->cost_usd, s->cost_unknown, ret);
        buf_adds(ret, " | ");
        goal_show_elapsed(s->seconds, ret);
        buf_addf(ret, " | %lld |\n", (long long)s->steps);
    }
    if (t->sum.tokens != g->tokens_used) {
        buf_adds(ret, "\nThese rows add up to ");
        add_number(t->sum.tokens, ret);
        buf_adds(ret, " tokens; the goal was charged ");
        add_number(g->tokens_used, ret);
        buf_adds(ret, ".\n");
    }
    buf_addc(ret, '\n');
}

static void add_used_of(int64_t used, int64_t limit, struct buf *ret)
{
    add_number(used, ret);
    if (limit) {
        buf_adds(ret, " of ");
        add_number(limit, ret);
    }
}

static void add_figures(const struct goal_report *r, const struct tally *t, struct buf *ret)
{
    const struct store_goal *g = r->goal;
    struct str referee = json_get_str(t->set, "referee");
    struct str via = json_get_str(t->set, "via");

    buf_adds(ret, "## In figures\n\n| | |\n|---|---|\n| Turns | ");
    add_number(g->iterations + (g->status == GOAL_COMPLETE), ret);
    buf_adds(ret, " |\n| Steps | ");
    add_used_of(g->steps, g->max_turns, ret);
    buf_adds(ret, " |\n| Tokens | ");
    add_used_of(g->tokens_used, g->token_budget, ret);
    buf_adds(ret, " (output: ");
    add_number(g->output_tokens, ret);
    buf_adds(ret, ") |\n| Cost | ");
    add_cost(g->cost_usd, g->cost_unknown, ret);
    if (g->max_cost_usd > 0) {
        buf_adds(ret, " of ");
        goal_show_usd(g->max_cost_usd, ret);
    }
    buf_adds(ret, " |\n| Time at work | ");
    goal_show_elapsed(g->time_used_seconds, ret);
    buf_adds(ret, " |\n| Time waited | ");
    goal_show_elapsed(t->waited_ms / 1000, ret);
    if (g->deadline_ms) {
        buf_adds(ret, " |\n| Deadline | ");
        add_time(g->deadline_ms, ret);
    }
    buf_adds(ret, " |\n| Set | ");
    add_time(g->created_at_ms, ret);
    if (via.len) {
        buf_adds(ret, " by ");
        markdown_text(via, 40, ret);
    }
    buf_adds(ret, " |\n| Last change | ");
    add_time(g->updated_at_ms, ret);
    if (referee.len) {
        buf_adds(ret, " |\n| Referee | ");
        markdown_text(referee, 40, ret);
    }
    if (t->judge_errors)
        buf_addf(ret, " |\n| Verdicts that failed | %zu", t->judge_errors);
    if (t->stale)
        buf_addf(ret, " |\n| Verdicts that came too late | %zu", t->stale);
    if (t->stalls)
        buf_addf(ret, " |\n| Stalls | %zu", t->stalls);
    if (t->retries)
        buf_addf(ret, " |\n| Retries | %zu", t->retries);
    buf_adds(ret, " |\n| Session | ");
    markdown_code(r->session, 100, ret);
    buf_adds(ret, " |\n| Folder | ");
    markdown_code(r->dir, COMMAND_MAX, ret);
    buf_adds(ret, " |\n\n");
}

static void add_waits(const struct tally *t, struct buf *ret)
{
    size_t first;

    if (!t->wait_count)
        return;
    buf_adds(ret, "## Waits\n\n");
    first = first_shown(t->waits.len, t->wait_count, ret);
    buf_adds(ret, "| Since | For | Waited | Until |\n|---|---|---:|---|\n");
    for (size_t i = first; i < t->waits.len; i++) {
        const struct tally_wait *w = &t->waits.ptr[i];

        buf_adds(ret, "| ");
        add_time(w->since_ms, ret);
        buf_adds(ret, " | ");
        markdown_text(w->what.len ? w->what : w->on, REASON_MAX, ret);
        buf_adds(ret, " | ");
        add_ms(w->waited_ms, ret);
        buf_adds(ret, " | ");
        if (w->is_over)
            markdown_text(w->why, REASON_MAX, ret);
        else
            buf_adds(ret, "still waiting");
        buf_adds(ret, " |\n");
    }
    buf_addc(ret, '\n');
}

/* The same words as the log's. */
static void add_course(const struct tally *t, struct buf *ret)
{
    if (!t->course_count)
        return;
    buf_adds(ret, "## Course\n\n");
    for (size_t i = first_shown(t->course.len, t->course_count, ret); i < t->course.len; i++) {
        const struct tally_event *e = &t->course.ptr[i];
        CLEANUP(buf_release) struct buf line = BUF_INIT(8192);

        goal_show_event(e->kind, e->data, &line);
        buf_adds(ret, "- ");
        add_time(e->time_ms, ret);
        buf_adds(ret, ": ");
        markdown_text(buf_str(&line), REASON_MAX, ret);
        buf_addc(ret, '\n');
    }
    buf_addc(ret, '\n');
}

static void add_next(const struct store_goal *g, struct buf *ret)
{
    CLEANUP(buf_release) struct buf next = BUF_INIT(4096);

    if (g->status == GOAL_COMPLETE)
        return;
    goal_show_stop(g, &next);
    if (!next.len)
        buf_adds(&next, "It is still being worked for; this report shows how far it is.");
    buf_adds(ret, "## How to continue\n\n");
    markdown_quote(buf_str(&next), 4096, ret);
    buf_addc(ret, '\n');
}

void goal_report_markdown(const struct goal_report *r, struct buf *ret)
{
    CLEANUP(tally_release) struct tally t = TALLY_INIT;

    tally_read(&t, r->events, r->goal->goal_id, r->now_ms);
    add_head(r, &t, ret);
    if (!r->is_past)
        add_next(r->goal, ret);
    add_criteria(&t, ret);
    add_checks(&t, ret);
    add_refused(&t, ret);
    add_diff(r, &t, ret);
    add_proof(r, &t, ret);
    add_figures(r, &t, ret);
    add_spends(r->goal, &t, ret);
    add_waits(&t, ret);
    add_course(&t, ret);
}
