/*
 * host_choices: what a session passes on to the one that replaces it. Runs on the thread that frees
 * one and creates the other.
 */
#include "agent/event.h"
#include "base/err.h"
#include "host/host_state.h"
#include "llm/effort.h"
#include "tasks/agents.h"

#define CHOICES_LEAST_USD 1e-9 /* stands for nothing left, since 0 means no limit */

struct host_choices {
    enum permit_mode mode;
    enum effort effort;
    enum thinking thinking;
    int64_t thinking_budget;
    struct buf model; /* empty = as in the settings */
    bool is_replaced; /* prompt was set */
    struct buf system, appended;
    struct buf schema;
    struct buf types, plan_steps; /* that a client has brought */
    struct strv aliases, skills;
    bool has_skills;
    bool coordinates; /* in coordinator mode */
    double left_usd;  /* of the budget; 0 = no limit */
};

/* The rest of the budget, or nearly nothing. */
static double choices_left(struct host *h)
{
    double max_usd = spending_max_usd(h->spending);
    double left = max_usd - spending_usd(h->spending, /*ret_unknown=*/NULL);

    if (!(max_usd > 0))
        return 0;
    return left > CHOICES_LEAST_USD ? left : CHOICES_LEAST_USD;
}

struct host_choices *host_choices(struct host *h)
{
    CLEANUP(buf_release) struct buf provider = BUF_INIT(BUF_NO_LIMIT);
    CLEANUP(buf_release) struct buf name = BUF_INIT(BUF_NO_LIMIT);
    struct host_choices *c = mem_zalloc(sizeof(*c));
    int64_t window;

    c->mode = permit_mode(h->permit);
    c->effort = host_effort(h);
    c->thinking = host_thinking(h, &c->thinking_budget);
    buf_init(&c->model, BUF_NO_LIMIT);
    host_model(h, &provider, &name, &window);
    if (provider.len && !str_is(buf_str(&provider), "scripted"))
        buf_addf(&c->model, "%s/%s", buf_cstr(&provider), buf_cstr(&name));
    c->is_replaced = h->prompt.is_replaced;
    buf_init(&c->system, BUF_NO_LIMIT);
    buf_add(&c->system, buf_str(&h->prompt.system));
    buf_init(&c->appended, BUF_NO_LIMIT);
    buf_add(&c->appended, buf_str(&h->prompt.appended));
    buf_init(&c->schema, BUF_NO_LIMIT);
    buf_add(&c->schema, buf_str(&h->schema));
    buf_init(&c->types, BUF_NO_LIMIT);
    agents_brought(h->agents, &c->types);
    buf_init(&c->plan_steps, BUF_NO_LIMIT);
    buf_add(&c->plan_steps, buf_str(&h->plan_steps));
    strv_add_all(&c->aliases, &h->aliases);
    strv_add_all(&c->skills, &h->skills);
    c->has_skills = h->has_skills;
    c->coordinates = host_coordinates(h);
    c->left_usd = choices_left(h);
    return c;
}

void host_choices_freep(struct host_choices **choices)
{
    struct host_choices *c = *choices;

    if (!c)
        return;
    buf_release(&c->model);
    buf_release(&c->system);
    buf_release(&c->appended);
    buf_release(&c->schema);
    buf_release(&c->types);
    buf_release(&c->plan_steps);
    strv_release(&c->aliases);
    strv_release(&c->skills);
    mem_freep(&c);
}

/* The options may already say the same. */
static void choose_prompt(struct host *h, const struct host_choices *c)
{
    if (c->is_replaced)
        prompt_spec_replace(&h->prompt, buf_str(&c->system));
    if (!str_eq(buf_str(&h->prompt.appended), buf_str(&c->appended))) {
        buf_clear(&h->prompt.appended);
        buf_add(&h->prompt.appended, buf_str(&c->appended));
    }
}

static void choose_mode(struct host *h, const struct host_choices *c)
{
    struct err err = {0};

    if (permit_mode(h->permit) != c->mode && permit_set_mode(h->permit, c->mode, &err) < 0)
        host_notice(h, LEVEL_WARNING, str_of(err.text));
}

static void choose_coordinator(struct host *h, const struct host_choices *c)
{
    struct err err = {0};

    if (host_set_coordinator(h, c->coordinates, &err) < 0)
        host_notice(h, LEVEL_WARNING, str_of(err.text));
}

static void choose_model(struct host *h, const struct host_choices *c)
{
    CLEANUP(buf_release) struct buf name = BUF_INIT(BUF_NO_LIMIT);
    struct err err = {0};

    if (c->model.len && host_set_model(h, buf_str(&c->model), &name, &err) < 0)
        host_notice(h, LEVEL_WARNING, str_of(err.text));
}

static void choose_schema(struct host *h, const struct host_choices *c)
{
    struct err err = {0};

    if (!str_eq(buf_str(&h->schema), buf_str(&c->schema)) &&
        host_set_schema(h, buf_str(&c->schema), &err) < 0)
        host_notice(h, LEVEL_WARNING, str_of(err.text));
}

/* First of all: the session may run as one of these types. */
static void choose_brought(struct host *h, const struct host_choices *c)
{
    struct err err = {0};

    if ((c->types.len && host_bring_types(h, buf_str(&c->types), &err) < 0) ||
        (c->plan_steps.len && host_set_plan(h, buf_str(&c->plan_steps), &err) < 0) ||
        (c->aliases.len && host_set_aliases(h, &c->aliases, &err) < 0) ||
        (c->has_skills && host_set_skills(h, &c->skills, &err) < 0))
        host_notice(h, LEVEL_WARNING, str_of(err.text));
}

void host_choose(struct host *h, const struct host_choices *c, bool has_own_mode)
{
    if (!c)
        return;
    if (c->left_usd > 0)
        spending_limit(h->spending, spending_usd(h->spending, NULL) +
                                        c->left_usd); /* a forked session already has costs */
    choose_brought(h, c);
    if (!has_own_mode) {
        choose_mode(h, c);
        choose_coordinator(h, c);
    }
    choose_model(h, c);
    choose_schema(h, c);
    choose_prompt(h, c);
    host_set_effort(h, c->effort);
    host_set_thinking(h, c->thinking, c->thinking_budget);
}
