/*
 * Costs. One row per model, in the order of their first answers. Agent thread.
 */
#include "llm/ledger.h"

#include <math.h>

#include "base/arena.h"
#include "llm/model.h"

const char *spent_who_name(enum spent_who who)
{
    static const char *const names[] = {
        [SPENT_MAIN] = "main",   [SPENT_COMPACTION] = "compaction", [SPENT_TOOL] = "tool",
        [SPENT_HOOK] = "hook",   [SPENT_JUDGE] = "judge",           [SPENT_ASIDE] = "aside",
        [SPENT_CHILD] = "child",
    };

    return names[who];
}

struct spend spend_of(enum spent_who who, const struct model *m, const struct llm_usage *u)
{
    struct spend s = {
        .who = who,
        .model = m->name,
        .window = m->window,
        .max_output = m->max_output,
        .usage = *u,
        .usd = NAN,
    };

    (void)model_cost_usd(m, u, &s.usd, /*err=*/NULL);
    return s;
}

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

void ledger_add(struct ledger *l, const struct spend *s)
{
    struct ledger_row *row = ledger_row(l, s->model);
    struct model m;

    if (s->window || !row->window) {
        model_find(STR(""), s->model, &m); /* from the table; the provider is unknown here */
        row->window = s->window ? s->window : m.window;
        row->max_output = s->max_output ? s->max_output : m.max_output;
    }
    llm_usage_add(&row->usage, &s->usage);
    if (isnan(s->usd)) {
        row->unknown = true;
        l->unknown = true;
        return;
    }
    row->usd += s->usd;
    l->usd += s->usd;
}

void ledger_merge(struct ledger *l, const struct ledger *past)
{
    VEC_EACH(&past->rows, it) {
        struct ledger_row *row = ledger_row(l, str_of(it->model));

        llm_usage_add(&row->usage, &it->usage);
        row->usd += it->usd;
        row->unknown = row->unknown || it->unknown;
        row->window = row->window ? row->window : it->window;
        row->max_output = row->max_output ? row->max_output : it->max_output;
    }
    l->usd += past->usd;
    l->unknown = l->unknown || past->unknown;
    l->time_ms += past->time_ms;
    l->api_ms += past->api_ms;
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
