/*
 * /cost: what the session has used and cost so far, by model.
 */
#include <inttypes.h>
#include <math.h>

#include "agent/event.h"
#include "agent/recall.h"
#include "base/arena.h"
#include "base/err.h"
#include "host/host.h"
#include "slash/answer.h"

static int cost_run(struct slash_call *call, struct err *err);

const struct slash_command slash_cost_entry = {
    .name = "cost",
    .aliases = "usage stats",
    .hint = "",
    .summary = "Show what the session has used and cost so far",
    .run = cost_run,
};

static void say_time(struct slash_call *call, const char *label, int64_t ms)
{
    if (ms < 60000)
        slash_fact(call, label, "%.1f s", (double)ms / 1000);
    else
        slash_fact(call, label, "%" PRId64 " min %" PRId64 " s", ms / 60000, ms / 1000 % 60);
}

static void say_model(struct slash_call *call, const struct model_spent *m)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(1000);

    slash_add_count(&text, m->usage.input);
    buf_adds(&text, " in, ");
    slash_add_count(&text, m->usage.output);
    buf_adds(&text, " out, ");
    slash_add_count(&text, m->usage.cache_read);
    buf_adds(&text, " cache read, ");
    slash_add_count(&text, m->usage.cache_write);
    buf_adds(&text, " cache write");
    if (!isnan(m->usd))
        buf_addf(&text, " ($%.4f)", m->usd);
    slash_sayf(call, INK_CYAN, "  %.*s", STR_ARG(m->model));
    slash_sayf(call, INK_PLAIN, "  %s\n", buf_cstr(&text));
}

/* The earlier costs of a resumed session, from its file. */
static int say_past(struct slash_call *call, struct err *err)
{
    CLEANUP(recall_release) struct recall past = RECALL_INIT;
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    const struct model_spent *models;
    size_t count;

    if (host_recall(call->host, call->cancel, &past, err) < 0 && err->code != ERR_NOT_FOUND)
        return -1;
    err_clear(err);
    models = ledger_models(&past.ledger, &arena, &count);
    if (!count) {
        slash_say(call, INK_PLAIN, STR("Nothing has been used yet.\n"));
        return 0;
    }
    slash_fact(call, "Cost", "$%.4f%s", past.ledger.usd,
               past.ledger.unknown ? " and what a model without known prices has cost" : "");
    say_time(call, "Worked", past.ledger.time_ms);
    say_time(call, "Waited", past.ledger.api_ms);
    slash_say(call, INK_BOLD, STR("Tokens by model\n"));
    for (size_t i = 0; i < count; i++)
        say_model(call, &models[i]);
    return 0;
}

static int cost_run(struct slash_call *call, struct err *err)
{
    struct event *last = host_last_turn(call->host);
    const struct turn_report *r = last ? last->report : NULL;

    if (!r || !r->model_count) {
        event_unref(last);
        return say_past(call, err);
    }
    slash_fact(call, "Cost", "$%.4f%s", r->total_usd,
               r->cost_unknown ? " and what a model without known prices has cost" : "");
    say_time(call, "Worked", r->total_ms);
    say_time(call, "Waited", r->total_api_ms);
    slash_fact(call, "Turns", "%" PRId64, last->turn);
    slash_say(call, INK_BOLD, STR("Tokens by model\n"));
    for (size_t i = 0; i < r->model_count; i++)
        say_model(call, &r->models[i]);
    event_unref(last);
    return 0;
}
