/*
 * answer: the output of a slash command, as events. Never waits, because the commands' thread may
 * itself be reading the answers.
 */
#include "host/answer.h"

#include <string.h>

#include "agent/agent.h"
#include "agent/event.h"
#include "base/arena.h"
#include "base/buf.h"
#include "conf/conf.h"
#include "goal/goal.h"
#include "goal/report/row_json.h"
#include "guard/permit.h"
#include "host/events/feed.h"
#include "host/host.h"
#include "json/jw.h"
#include "llm/message.h"

#define ANSWER_MAX_INPUT ((size_t)4 << 20)
#define ANSWER_MAX_GOAL ((size_t)1 << 20)

void answer_add_goal(struct goal *goal, struct event *e)
{
    CLEANUP(buf_release) struct buf json = BUF_INIT(ANSWER_MAX_GOAL);
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    struct store_goal row;
    struct jw w;

    if (goal_exit_code(goal) < 0 || goal_get(goal, &arena, &row, /*err=*/NULL) <= 0)
        return;
    jw_init(&w, &json, JW_CLEAN);
    jw_object(&w);
    goal_row_write_status(&row, &w);
    jw_object_end(&w);
    e->json = arena_str(&e->arena, buf_str(&json));
}

/* The costs are those of the last turn. */
static void answer_copy_costs(const struct turn_report *last, struct event *e,
                              struct turn_report *ret)
{
    struct model_spent *models = arena_alloc(&e->arena, last->model_count * sizeof(*models));

    ret->total_usd = last->total_usd;
    ret->cost_unknown = last->cost_unknown;
    ret->model_count = last->model_count;
    for (size_t i = 0; i < ret->model_count; i++) {
        models[i] = last->models[i];
        models[i].model = arena_str(&e->arena, models[i].model);
    }
    ret->models = models;
}

void answer_end_turn(struct goal *goal, bool of_run, int64_t index, struct event *e)
{
    struct turn_report *r = arena_new(&e->arena, struct turn_report);
    struct goal_ending ending;

    *r = *e->report;
    r->index = index;
    e->report = r;
    answer_add_goal(goal, e);
    if (!goal_ending(goal, &e->arena, &ending))
        return;
    r->goal = (struct turn_goal){
        .status = goal_status_name(ending.status),
        .reason = ending.reason,
        .exit_code = ending.exit_code,
    };
    if (ending.status != GOAL_ACTIVE &&
        (ending.is_own || (of_run && ending.status != GOAL_COMPLETE)))
        r->goal.subtype = ending.subtype;
}

/* Whether it is the same goal in the same state. */
static bool answer_says_same(const struct event *last, const struct goal_ending *ending)
{
    const struct turn_goal *said = last ? &last->report->goal : NULL;

    return said && said->subtype && strcmp(said->status, goal_status_name(ending->status)) == 0 &&
           str_eq(said->reason, ending->reason);
}

void host_settle(struct host *h)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    struct event *last = host_last_turn(h);
    struct goal_ending ending;

    if (goal_ending(host_goal(h), &arena, &ending) && !answer_says_same(last, &ending)) {
        struct event *e = host_event(h, EVENT_TURN_DONE);
        struct turn_report *r = arena_new(&e->arena, struct turn_report);

        if (last)
            answer_copy_costs(last->report, e, r);
        r->end = END_CALLED_OFF;
        r->index = host_count_result(h);
        r->result = last ? arena_str(&e->arena, last->report->result) : STR("");
        r->goal = (struct turn_goal){
            .status = goal_status_name(ending.status),
            .reason = arena_str(&e->arena, ending.reason),
            .exit_code = ending.exit_code,
            .subtype = ending.subtype,
        };
        e->report = r;
        answer_add_goal(host_goal(h), e);
        feed_emit(host_feed(h), e, /*cancel=*/NULL);
    }
    event_unref(last);
}

static void answer_begins(struct host *h)
{
    CLEANUP(buf_release) struct buf provider = BUF_INIT(1024);
    CLEANUP(buf_release) struct buf name = BUF_INIT(1024);
    CLEANUP(buf_release) struct buf tools = BUF_INIT(ANSWER_MAX_INPUT);
    struct event *e = host_event(h, EVENT_TURN_STARTED);
    int64_t window;

    host_model(h, &provider, &name, &window);
    e->model = arena_str(&e->arena, buf_str(&name));
    e->mode = permit_mode_name(permit_mode(host_permit(h)));
    e->text = arena_str(&e->arena, str_of(conf_dir(host_conf(h))));
    host_tools(h, &tools);
    e->json = arena_str(&e->arena, buf_str(&tools));
    e->name = arena_str(&e->arena, conf_get_str(host_conf(h), "outputStyle"));
    host_add_offers(h, e);
    feed_emit(host_feed(h), e, /*cancel=*/NULL);
}

static void answer_input(struct host *h, const struct agent_input *input)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(ANSWER_MAX_INPUT);
    CLEANUP(buf_release) struct buf json = BUF_INIT(8 * ANSWER_MAX_INPUT);
    struct event *e;
    struct jw w;

    if (!input || !input->message)
        return;
    message_text(input->message, &text);
    jw_init(&w, &json, JW_CLEAN);
    jw_object(&w);
    jw_kcstr(&w, "role", "user");
    jw_kstr(&w, "content", buf_str(&text));
    jw_object_end(&w);
    e = host_event(h, EVENT_USER);
    e->user = USER_INPUT;
    e->is_named = input->is_named;
    e->id = arena_str(&e->arena, str_of(input->uuid));
    e->text = arena_str(&e->arena, buf_str(&text));
    e->json = arena_str(&e->arena, buf_str(&json));
    feed_emit(host_feed(h), e, /*cancel=*/NULL);
}

static void answer_name_input(const struct agent_input *input, struct event *e,
                              struct turn_report *ret)
{
    CLEANUP(buf_release) struct buf json = BUF_INIT(1024);

    buf_addf(&json, "[\"%s\"]", input->uuid);
    ret->inputs = arena_str(&e->arena, buf_str(&json));
    ret->first_input = arena_str(&e->arena, str_of(input->uuid));
}

static void answer_ends(struct host *h, const struct host_answer *a)
{
    struct event *e = host_event(h, EVENT_TURN_DONE);
    struct event *last = host_last_turn(h);
    struct turn_report *r = arena_new(&e->arena, struct turn_report);

    r->end = END_COMPLETED;
    r->index = host_count_result(h);
    if (a->input && a->input->is_named)
        answer_name_input(a->input, e, r);
    r->is_error = a->is_error;
    r->result = arena_str(&e->arena, a->text);
    r->error = a->is_error ? r->result : STR("");
    if (last)
        answer_copy_costs(last->report, e, r);
    e->report = r;
    answer_add_goal(host_goal(h), e);
    feed_emit(host_feed(h), e, /*cancel=*/NULL);
    event_unref(last);
}

void host_answer(struct host *h, const struct host_answer *a)
{
    struct event *e = host_event(h, EVENT_COMMAND);
    bool alone = !a->goes_on && !host_in_turn(h);

    e->name = arena_str(&e->arena, str_of(a->command));
    e->text = arena_str(&e->arena, a->text);
    e->data = arena_str(&e->arena, a->color);
    e->is_markdown = a->is_markdown;
    e->is_error = a->is_error;
    e->state = alone ? STATE_IDLE : STATE_RUNNING;
    if (alone)
        answer_begins(h);
    answer_input(h, a->input);
    feed_emit(host_feed(h), e, /*cancel=*/NULL);
    if (alone || (a->counts && !a->goes_on))
        answer_ends(h, a);
}
