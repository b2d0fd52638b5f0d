/*
 * What the goal store lets in: everything that reaches a statement fits the table. Any thread.
 */
#include "store/goals/goal_check.h"

#include <math.h>

#include "base/err.h"
#include "base/utf8.h"

#define GOAL_MAX_THREAD 200 /* bytes of a session's id */
#define GOAL_MAX_KIND 64    /* bytes */

int goal_check_thread(struct str thread, struct err *err)
{
    if (!thread.len || thread.len > GOAL_MAX_THREAD)
        return err_set(err, ERR_BAD_INPUT, "a goal belongs to a session");
    return 0;
}

int goal_check_objective(struct str objective, struct err *err)
{
    struct str left = str_trim(objective);
    size_t count = 0;

    if (!left.len)
        return err_set(err, ERR_BAD_INPUT, "the goal is empty");
    for (; left.len; count++) {
        size_t n = utf8_decode(left, NULL);

        if (!n)
            return err_set(err, ERR_BAD_INPUT, "the goal is not UTF-8");
        left = str_from(left, n);
    }
    if (count > GOAL_MAX_OBJECTIVE)
        return err_set(err, ERR_TOO_BIG, "the goal has %zu characters; at most %d are taken", count,
                       GOAL_MAX_OBJECTIVE);
    return 0;
}

int goal_check_text(const char *name, struct str text, size_t max_bytes, struct err *err)
{
    if (text.len > max_bytes)
        return err_set(err, ERR_TOO_BIG, "%s of a goal has %zu bytes; at most %zu are kept", name,
                       text.len, max_bytes);
    return 0;
}

static int check_number(const char *name, int64_t n, int64_t least, struct err *err)
{
    if (n < least || n > GOAL_MAX_NUMBER)
        return err_set(err, ERR_BAD_INPUT, "%s cannot be %lld", name, (long long)n);
    return 0;
}

static int check_money(const char *name, double n, bool positive, struct err *err)
{
    if (!isfinite(n) || n < 0 || (positive && n <= 0) || n > (double)GOAL_MAX_NUMBER)
        return err_set(err, ERR_BAD_INPUT, "%s cannot be %g", name, n);
    return 0;
}

int goal_check_row(const struct store_goal *g, struct err *err)
{
    const struct {
        const char *name;
        struct str text;
    } texts[] = {
        {"phase", g->phase},     {"phase_detail", g->phase_detail},
        {"checks", g->checks},   {"last_reason", g->last_reason},
        {"protect", g->protect}, {"baseline", g->baseline},
        {"options", g->options}, {"memory", g->memory},
    };

    if (goal_check_thread(g->thread_id, err) < 0 || goal_check_objective(g->objective, err) < 0)
        return -1;
    if (!id_is_uuid(g->goal_id))
        return err_set(err, ERR_BAD_INPUT, "'%.*s' is no goal_id", STR_ARG(g->goal_id));
    if (g->status >= GOAL_STATUS_COUNT)
        return err_set(err, ERR_BAD_INPUT, "there is no status %d", (int)g->status);
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        if (goal_check_text(texts[i].name, texts[i].text, GOAL_MAX_TEXT, err) < 0)
            return -1;
    }
    if (check_number("token_budget", g->token_budget, 0, err) < 0 ||
        check_number("max_turns", g->max_turns, 0, err) < 0 ||
        check_number("deadline_ms", g->deadline_ms, 0, err) < 0)
        return -1;
    return check_money("max_cost_usd", g->max_cost_usd, /*positive=*/false, err);
}

static int check_limit(const char *name, const struct goal_limit_change *c, struct err *err)
{
    if (c->what != CHANGE_SET && c->what != CHANGE_ADD)
        return 0;
    return check_number(name, c->value, 1, err);
}

int goal_check_update(const struct goal_update *u, struct err *err)
{
    const struct {
        const char *name;
        const struct str *text;
    } texts[] = {
        {"phase", u->phase},     {"phase_detail", u->phase_detail},
        {"checks", u->checks},   {"last_reason", u->last_reason},
        {"protect", u->protect}, {"baseline", u->baseline},
        {"options", u->options}, {"memory", u->memory},
    };

    if (u->objective && goal_check_objective(*u->objective, err) < 0)
        return -1;
    if (u->has_status && u->status >= GOAL_STATUS_COUNT)
        return err_set(err, ERR_BAD_INPUT, "there is no status %d", (int)u->status);
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        if (texts[i].text && goal_check_text(texts[i].name, *texts[i].text, GOAL_MAX_TEXT, err) < 0)
            return -1;
    }
    if (check_limit("token_budget", &u->token_budget, err) < 0 ||
        check_limit("max_turns", &u->max_turns, err) < 0 ||
        check_limit("deadline_ms", &u->deadline_ms, err) < 0 ||
        check_number("add_iterations", u->add_iterations, 0, err) < 0)
        return -1;
    if (u->max_cost != CHANGE_SET && u->max_cost != CHANGE_ADD)
        return 0;
    return check_money("max_cost_usd", u->max_cost_usd, /*positive=*/true, err);
}

int goal_check_charge(const struct goal_charge *c, struct err *err)
{
    if (c->mode > CHARGE_ACTIVE_OR_STOPPED)
        return err_set(err, ERR_BAD_INPUT, "there is no mode %d", (int)c->mode);
    if (check_number("seconds", c->seconds, 0, err) < 0 ||
        check_number("tokens", c->tokens, 0, err) < 0 ||
        check_number("output_tokens", c->output_tokens, 0, err) < 0 ||
        check_number("steps", c->steps, 0, err) < 0)
        return -1;
    return check_money("cost_usd", c->cost_usd, /*positive=*/false, err);
}

int goal_check_event(const struct goal_event *e, struct err *err)
{
    for (; e; e = e->next) {
        if (!e->kind.len || e->kind.len > GOAL_MAX_KIND)
            return err_set(err, ERR_BAD_INPUT, "an event of a goal needs a kind");
        if (goal_check_text("an event", e->data, GOAL_MAX_EVENT, err) < 0)
            return -1;
    }
    return 0;
}
