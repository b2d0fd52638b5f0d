/*
 * The money. A row per model that answered, in the order of their first answers. Agent thread.
 */
#include "agent/ledger.h"

#include <math.h>

#include "agent/tool.h"
#include "base/arena.h"
#include "base/err.h"
#include "llm/model.h"

void ledger_release(struct ledger *l)
{
    VEC_EACH(&l->rows, row) {
        mem_freep(&row->model);
    }
    vec_release(&l->rows);
}

void llm_usage_add(struct llm_usage *to, const struct llm_usage *u)
{
    to->input += u->input;
    to->output += u->output;
    to->cache_read += u->cache_read;
    to->cache_write += u->cache_write;
    to->cache_write_1h += u->cache_write_1h;
    to->thinking += u->thinking;
    to->web_searches += u->web_searches;
    to->known = to->known || u->known;
}

static struct ledger_row *ledger_row(struct ledger *l, struct str model)
{
    struct ledger_row *row;

    VEC_EACH(&l->rows, it) {
        if (str_is(model, it->model))
            return it;
    }
    row = vec_add(&l->rows);
    *row = (struct ledger_row){.model = mem_dup(model.ptr, model.len)};
    return row;
}

static void ledger_book(struct ledger *l, struct ledger_row *row, const struct llm_usage *u,
                        double usd)
{
    llm_usage_add(&row->usage, u);
    if (isnan(usd)) {
        row->unknown = true;
        l->unknown = true;
        return;
    }
    row->usd += usd;
    l->usd += usd;
}

void ledger_add(struct ledger *l, const struct model *m, const struct llm_usage *u)
{
    struct ledger_row *row = ledger_row(l, m->name);
    double usd = NAN;

    row->window = m->window;
    row->max_output = m->max_output;
    (void)model_cost_usd(m, u, &usd, /*err=*/NULL);
    ledger_book(l, row, u, usd);
}

void ledger_add_spend(struct ledger *l, const struct tool_spend *s)
{
    struct ledger_row *row = ledger_row(l, s->model);
    struct model m;

    if (!row->window) {
        model_find(STR(""), s->model, &m); /* as far as the table goes: who gave it is not told */
        row->window = m.window;
        row->max_output = m.max_output;
    }
    ledger_book(l, row, &s->usage, s->usd);
}

static double ledger_input_price(const struct model *m, enum cache_ttl cache)
{
    double write = cache == CACHE_OFF  ? 0
                   : cache == CACHE_1H ? m->price.cache_write_1h
                                       : m->price.cache_write;

    return write > m->price.input ? write : m->price.input; /* unknown is never more */
}

int ledger_allow(const struct ledger *l, double max_usd, const struct model *m,
                 enum cache_ttl cache, int64_t prompt_tokens, int64_t *io_max_tokens,
                 struct err *err)
{
    double left;
    double tokens;

    if (!model_price_known(m))
        return err_set(err, ERR_BUDGET,
                       "--max-budget-usd: the price of %.*s/%.*s is unknown, so the cap cannot be "
                       "kept; add it under \"models\" in settings.json",
                       STR_ARG(m->provider), STR_ARG(m->name));
    left = max_usd - l->usd;
    if (left <= 0)
        return err_set(err, ERR_BUDGET, "--max-budget-usd: %.4g of %.4g USD are spent", l->usd,
                       max_usd);
    left -= (double)prompt_tokens * ledger_input_price(m, cache) / 1e6;
    tokens = m->price.output > 0 ? left / m->price.output * 1e6 : 1e9;
    if (left <= 0 || tokens < 1) {
        if (l->usd > 0)
            return err_set(err, ERR_BUDGET,
                           "--max-budget-usd: %.4g of %.4g USD are spent, and the next call's "
                           "prompt alone would pass it",
                           l->usd, max_usd);
        return err_set(err, ERR_BUDGET,
                       "--max-budget-usd: the prompt alone is expected to cost more than %g",
                       max_usd);
    }
    if (tokens < (double)(*io_max_tokens ? *io_max_tokens : m->default_output))
        *io_max_tokens = (int64_t)tokens;
    return 0;
}

const struct model_spent *ledger_models(const struct ledger *l, struct arena *arena,
                                        size_t *ret_count)
{
    struct model_spent *list = arena_zalloc(arena, (l->rows.len + 1) * sizeof(*list));

    for (size_t i = 0; i < l->rows.len; i++) {
        const struct ledger_row *row = &l->rows.ptr[i];

        list[i] = (struct model_spent){
            .model = arena_str(arena, str_of(row->model)),
            .usage = row->usage,
            .usd = row->unknown ? NAN : row->usd,
            .window = row->window,
            .max_output = row->max_output,
        };
    }
    *ret_count = l->rows.len;
    return list;
}
