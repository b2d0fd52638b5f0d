/*
 * display: how a goal is shown, active or stopped. Everything is a
 * function of the row and two clock readings, so a front end redraws only when its text changes.
 * Any thread.
 */
#include "goal/report/display.h"

#include "base/arena.h"
#include "base/buf.h"
#include "base/clock.h"
#include "json/json.h"

#define LINE_MAX_BYTES 160       /* of a reason on one line */
#define PHASE_MAX_BYTES 80       /* of the awaited thing */
#define OBJECTIVE_MAX_BYTES 1000 /* of an objective in a summary */
#define CRITERIA_MAX 50

const char goal_usage[] =
    "/goal <condition>        work until the condition holds; options: --check CMD, --protect "
    "GLOB,\n"
    "                         --budget 500k, --max-turns N, --max-cost USD, --deadline 2h,\n"
    "                         --referee judge|self|checks, --on-deny block|skip, --auto-resume\n"
    "/goal                    how it stands\n"
    "/goal clear              drop it (also: stop, off, reset, none, cancel)\n"
    "/goal pause · resume     hold it; continue\n"
    "/goal edit               change the objective\n"
    "/goal budget N|+N|none   set, raise or lift the token budget, and continue (also: $5, steps "
    "N,\n"
    "                         deadline 2h)\n"
    "/goal check COMMAND      add a command that must exit with 0; check rm N takes it out\n"
    "/goal protect GLOB       files that must stay as they are; accept [PATH] lets a change be\n"
    "/goal wait WHAT          rest until a process ends, a file comes, a command turns true, a "
    "time\n"
    "/goal next <condition>   a goal for afterwards; queue shows and reorders them\n"
    "/goal log · report       what happened; the report (report <id>: of an older goal)\n"
    "/goal undo               the workspace as it was when the goal was set\n";

/* Parsed only for display; invalid JSON counts as empty. */
static const struct json *parse(struct arena *arena, struct str text)
{
    const struct json *v = NULL;

    if (!text.len || json_parse(arena, text, &v, NULL, NULL) < 0)
        return NULL;
    return v;
}

static bool is_phase(const struct store_goal *g, const char *phase)
{
    return g->status == GOAL_ACTIVE && str_is(g->phase, phase);
}

/* ": pid 4242", or nothing when the phase has no detail. */
static void show_phase_detail(const struct store_goal *g, struct buf *ret)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    const struct json *detail = parse(&arena, g->phase_detail);
    struct str what = json_get_str(detail, "what");

    if (!what.len)
        what = json_get_str(detail, "why");
    if (!what.len)
        return;
    buf_adds(ret, ": ");
    goal_show_line(what, PHASE_MAX_BYTES, ret);
}

static void show_count(int64_t n, const char *noun, struct buf *ret)
{
    buf_addf(ret, "%lld %s%s", (long long)n, noun, n == 1 ? "" : "s");
}

/* Turns that were judged. The evaluation that passed is one, too. */
static int64_t turns_of(const struct store_goal *g)
{
    return g->iterations + (g->status == GOAL_COMPLETE);
}

static void show_turns(const struct store_goal *g, struct buf *ret)
{
    if (turns_of(g) <= 0)
        buf_adds(ret, "not yet evaluated");
    else
        show_count(turns_of(g), "turn", ret);
}

int64_t goal_live_seconds(const struct goal_look *l)
{
    const struct store_goal *g = l->goal;
    int64_t from = l->read_ms > l->turn_ms ? l->read_ms : l->turn_ms;

    if (!g)
        return 0;
    if (g->status != GOAL_ACTIVE || !l->turn_ms || l->plan_mode || is_phase(g, "waiting") ||
        l->now_ms <= from)
        return g->time_used_seconds;
    return g->time_used_seconds + (l->now_ms - from) / 1000;
}

/* ---- A line ---- */

static void show_used_of_budget(const struct store_goal *g, struct buf *ret)
{
    goal_show_tokens(g->tokens_used, ret);
    buf_adds(ret, " / ");
    goal_show_tokens(g->token_budget, ret);
}

/* The limit that was reached, in its own unit. */
static void show_reached(const struct store_goal *g, struct buf *ret)
{
    enum goal_limit limit = LIMIT_TOKENS;
    char time[25];

    if (!goal_limit_is_reached(g, 0, &limit) && !g->token_budget)
        return;
    switch (limit) {
    case LIMIT_TOKENS:
        show_used_of_budget(g, ret);
        buf_adds(ret, " tokens");
        break;
    case LIMIT_COST:
        goal_show_usd(g->cost_usd, ret);
        buf_adds(ret, " / ");
        goal_show_usd(g->max_cost_usd, ret);
        break;
    case LIMIT_TURNS:
        buf_addf(ret, "%lld / %lld steps", (long long)g->steps, (long long)g->max_turns);
        break;
    case LIMIT_DEADLINE:
        clock_iso(g->deadline_ms, time);
        buf_addf(ret, "deadline %.16sZ", time);
        break;
    }
}

static void show_in_parentheses(void (*show)(const struct store_goal *g, struct buf *ret),
                                const struct store_goal *g, struct buf *ret)
{
    size_t start = ret->len;

    buf_adds(ret, " (");
    show(g, ret);
    if (ret->len == start + 2)
        buf_cut(ret, start, 2);
    else
        buf_addc(ret, ')');
}

static void show_outcome(const struct store_goal *g, struct buf *ret)
{
    if (!g->token_budget) {
        goal_show_elapsed(g->time_used_seconds, ret);
        return;
    }
    goal_show_tokens(g->tokens_used, ret);
    buf_adds(ret, " tokens");
}

static void show_active(const struct goal_look *l, struct buf *ret)
{
    const struct store_goal *g = l->goal;

    if (is_phase(g, "waiting") || is_phase(g, "retrying")) {
        buf_add(ret, g->phase);
        show_phase_detail(g, ret);
    } else if (g->token_budget) {
        show_used_of_budget(g, ret);
    } else {
        goal_show_elapsed(goal_live_seconds(l), ret);
    }
}

void goal_show_indicator(const struct goal_look *l, struct buf *ret)
{
    const struct store_goal *g = l->goal;

    if (!g)
        return;
    if (g->status == GOAL_ACTIVE) {
        show_active(l, ret);
        return;
    }
    buf_adds(ret, goal_show_status(g->status));
    if (g->status == GOAL_BUDGET_LIMITED)
        show_in_parentheses(show_reached, g, ret);
    else if (g->status == GOAL_COMPLETE)
        show_in_parentheses(show_outcome, g, ret);
}

void goal_show_pill(const struct goal_look *l, struct buf *ret)
{
    const struct store_goal *g = l->goal;

    if (!g)
        return;
    if (l->plan_mode && g->status == GOAL_ACTIVE)
        buf_adds(ret, "held by plan mode · ");
    show_turns(g, ret);
    if (str_trim(g->last_reason).len) {
        buf_adds(ret, " · ");
        goal_show_line(g->last_reason, LINE_MAX_BYTES, ret);
    }
}

/* ---- The summary ---- */

/* All lines of a text, each indented except the first. */
static void show_objective(struct str text, struct buf *ret)
{
    struct str rest = str_clip(str_trim(text), OBJECTIVE_MAX_BYTES);
    bool cut = rest.len < str_trim(text).len;
    struct str line;

    buf_adds(ret, "Objective:   ");
    for (bool first = true; str_cut(&rest, '\n', &line); first = false) {
        if (!first)
            buf_adds(ret, "\n             ");
        goal_show_line(line, OBJECTIVE_MAX_BYTES, ret);
    }
    buf_adds(ret, cut ? " …\n" : "\n");
}

static void show_criteria(struct str json, struct buf *ret)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    const struct json *list = parse(&arena, json);
    size_t n = 0;

    if (!json_is(list, JSON_ARRAY) || !json_len(list))
        return;
    buf_adds(ret, "Criteria:\n");
    JSON_EACH(list, c) {
        struct str state = json_get_str(c, "state");

        if (n++ == CRITERIA_MAX) {
            buf_addf(ret, "  … and %zu more\n", json_len(list) - CRITERIA_MAX);
            break;
        }
        if (!str_is_word_of(state, "met unmet"))
            state = STR("unknown");
        buf_addf(ret, "  %-9.*s", STR_ARG(state));
        goal_show_line(json_get_str(c, "text"), LINE_MAX_BYTES, ret);
        buf_addc(ret, '\n');
    }
}

/* Commands, as strings or as {"command": …}. */
static void show_checks(struct str json, struct buf *ret)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    size_t n = 0;

    JSON_EACH(parse(&arena, json), c) {
        struct str command = json_is(c, JSON_STRING) ? json_str(c) : json_get_str(c, "command");

        buf_adds(ret, n == 0 ? "Checks:      " : "             ");
        buf_addf(ret, "%zu. ", ++n);
        goal_show_line(command, LINE_MAX_BYTES, ret);
        buf_addc(ret, '\n');
    }
}

static void show_protected(const struct goal_look *l, struct buf *ret)
{
    size_t shown = 0;

    if (!l->protected_names || !l->protected_count)
        return;
    buf_adds(ret, "Protected:   ");
    for (; shown < l->protected_names->len && shown < GOAL_SHOWN_PROTECTED; shown++) {
        buf_adds(ret, shown ? ", " : "");
        goal_show_line(str_of(l->protected_names->ptr[shown]), LINE_MAX_BYTES, ret);
    }
    if (!shown)
        buf_addf(ret, "%zu file%s", l->protected_count, l->protected_count == 1 ? "" : "s");
    else if (shown < l->protected_count)
        buf_addf(ret, " and %zu more", l->protected_count - shown);
    buf_addc(ret, '\n');
}

static void show_usage_lines(const struct goal_look *l, struct buf *ret)
{
    const struct store_goal *g = l->goal;
    char time[25];

    buf_adds(ret, "Time:        ");
    goal_show_elapsed(goal_live_seconds(l), ret);
    if (g->deadline_ms) {
        clock_iso(g->deadline_ms, time);
        buf_addf(ret, ", until %.16sZ at the latest", time);
    }
    buf_adds(ret, "\nTokens:      ");
    goal_show_tokens(g->tokens_used, ret);
    if (g->token_budget) {
        buf_adds(ret, " of ");
        goal_show_tokens(g->token_budget, ret);
        buf_adds(ret, ", ");
        goal_show_tokens(g->token_budget - g->tokens_used, ret);
        buf_adds(ret, " left");
    }
    buf_adds(ret, "\nCost:        ");
    goal_show_usd(g->cost_usd, ret);
    if (g->max_cost_usd > 0) {
        buf_adds(ret, " of ");
        goal_show_usd(g->max_cost_usd, ret);
    }
    if (g->cost_unknown)
        buf_adds(ret, ", and something without a known price");
    buf_addf(ret, "\nSteps:       %lld", (long long)g->steps);
    if (g->max_turns)
        buf_addf(ret, " of %lld", (long long)g->max_turns);
    buf_addc(ret, '\n');
}

static const char *commands_of(enum goal_status s)
{
    switch (s) {
    case GOAL_ACTIVE:
        return "/goal edit · /goal pause · /goal clear (stops early) · /goal log";
    case GOAL_PAUSED:
        return "/goal resume · /goal edit · /goal clear · /goal report";
    case GOAL_BLOCKED:
        return "/goal resume · /goal edit · /goal accept · /goal clear · /goal log · /goal report";
    case GOAL_USAGE_LIMITED:
        return "/goal resume · /goal wait 1h · /goal clear · /goal report";
    case GOAL_BUDGET_LIMITED:
        return "/goal budget +N · /goal edit · /goal clear · /goal report";
    case GOAL_COMPLETE:
        return "/goal <condition> · /goal report · /goal undo · /goal clear";
    case GOAL_STATUS_COUNT:
        break;
    }
    return "/goal clear";
}

void goal_show_summary(const struct goal_look *l, struct str objective, struct str criteria,
                       struct buf *ret)
{
    const struct store_goal *g = l->goal;

    if (!g) {
        buf_adds(ret, "There is no goal. Set one with /goal and what shall hold in the end, such "
                      "as:\n/goal --check 'make test' all tests pass\n\n");
        buf_adds(ret, goal_usage);
        return;
    }
    buf_addf(ret, "Goal:        %s", goal_show_status(g->status));
    if (g->status == GOAL_ACTIVE && g->phase.len) {
        buf_adds(ret, ", ");
        goal_show_line(g->phase, PHASE_MAX_BYTES, ret);
        show_phase_detail(g, ret);
    }
    if (g->status == GOAL_ACTIVE && l->plan_mode)
        buf_adds(ret, "; held until plan mode is left");
    buf_addc(ret, '\n');
    show_objective(objective.len ? objective : g->objective, ret);
    buf_adds(ret, "Turns:       ");
    if (turns_of(g) > 0)
        buf_addf(ret, "%lld", (long long)turns_of(g));
    else
        show_turns(g, ret);
    buf_addc(ret, '\n');
    if (str_trim(g->last_reason).len) {
        buf_adds(ret, "Last check:  ");
        goal_show_line(g->last_reason, LINE_MAX_BYTES, ret);
        buf_addc(ret, '\n');
    }
    show_criteria(criteria, ret);
    show_checks(g->checks, ret);
    show_protected(l, ret);
    show_usage_lines(l, ret);
    if (g->status != GOAL_ACTIVE) {
        goal_show_stop(g, ret);
        buf_addc(ret, '\n');
    }
    buf_addf(ret, "Commands:    %s\n", commands_of(g->status));
}

/* ---- Why it stopped, and how to continue ---- */

static void show_spent(const struct store_goal *g, struct buf *ret)
{
    enum goal_limit limit = LIMIT_TOKENS;

    goal_limit_is_reached(g, 0, &limit);
    buf_addf(ret, "Stopped: the %s is reached", goal_limit_name(limit));
    show_in_parentheses(show_reached, g, ret);
    switch (limit) {
    case LIMIT_TOKENS:
        buf_adds(ret, ". /goal budget +100k gives more and continues; /goal budget none lifts it.");
        break;
    case LIMIT_COST:
        buf_adds(ret,
                 ". /goal budget +$5 gives more and continues; /goal budget cost none lifts it.");
        break;
    case LIMIT_TURNS:
        buf_adds(ret, ". /goal budget steps +200 gives more and continues; /goal budget steps none "
                      "lifts it.");
        break;
    case LIMIT_DEADLINE:
        buf_adds(ret,
                 ". /goal budget deadline 2h sets another and continues; /goal budget deadline "
                 "none lifts it.");
        break;
    }
}

static void show_stop(const struct store_goal *g, struct buf *ret)
{
    bool has_reason = str_trim(g->last_reason).len > 0;

    switch (g->status) {
    case GOAL_ACTIVE:
    case GOAL_STATUS_COUNT:
        return;
    case GOAL_PAUSED:
        if (str_starts(g->last_reason, STR(GOAL_TERMS_LOST))) {
            buf_adds(ret, "Paused: its terms are lost. Set it again with its checks and limits, or "
                          "take it as it is now: /goal accept terms");
            return;
        }
        buf_adds(ret, "Paused; nothing is spent. /goal resume continues where it was.");
        return;
    case GOAL_BLOCKED:
        buf_adds(ret, "Blocked");
        if (has_reason) {
            buf_adds(ret, ": ");
            goal_show_line(g->last_reason, LINE_MAX_BYTES, ret);
        }
        buf_adds(ret, "\nFix this, then use /goal resume; /goal edit changes what is asked for.");
        return;
    case GOAL_USAGE_LIMITED:
        buf_adds(ret, "Stopped: the account's quota is used up");
        if (has_reason) {
            buf_adds(ret, ": ");
            goal_show_line(g->last_reason, LINE_MAX_BYTES, ret);
        }
        buf_adds(ret,
                 ". Use /goal resume once it is there again; --auto-resume does that by itself.");
        return;
    case GOAL_BUDGET_LIMITED:
        show_spent(g, ret);
        return;
    case GOAL_COMPLETE:
        buf_adds(ret, "Achieved after ");
        show_count(turns_of(g), "turn", ret);
        buf_adds(ret, ", ");
        goal_show_elapsed(g->time_used_seconds, ret);
        buf_adds(ret, " and ");
        goal_show_tokens(g->tokens_used, ret);
        buf_adds(ret, " tokens. /goal <condition> sets another.");
        return;
    }
}

/* What stood against the last verdict, with the command that accepts it. */
static void show_changed(const struct store_goal *g, struct buf *ret)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    const struct json *v = NULL;

    if (!g->memory.len || json_parse(&arena, g->memory, &v, NULL, NULL) < 0)
        return;
    JSON_EACH(json_get(v, "changed"), path) {
        const char *quote = str_chr(json_str(path), ' ') < json_str(path).len ? "'" : "";

        buf_adds(ret, "\nIn the way: ");
        goal_show_line(json_str(path), LINE_MAX_BYTES, ret);
        buf_addf(ret, ". To accept it: /goal accept %s", quote);
        goal_show_line(json_str(path), LINE_MAX_BYTES, ret);
        buf_adds(ret, quote);
    }
}

void goal_show_stop(const struct store_goal *g, struct buf *ret)
{
    show_stop(g, ret);
    if (g->status != GOAL_ACTIVE && g->status != GOAL_COMPLETE)
        show_changed(g, ret);
}

bool goal_confirms_replace(const struct store_goal *g)
{
    return g && g->status != GOAL_COMPLETE;
}

enum goal_status goal_edited_status(enum goal_status s)
{
    return s == GOAL_BUDGET_LIMITED || s == GOAL_COMPLETE ? GOAL_ACTIVE : s;
}
