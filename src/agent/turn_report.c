/*
 * The report at the end of a turn: one event with everything that a script may need. Agent thread.
 */
#include "agent/agent_state.h"
#include "agent/journal.h"
#include "base/clock.h"
#include "base/err.h"
#include "json/jw.h"
#include "llm/fault.h"
#include "llm/pace.h"

void turn_tell_failure(struct agent *a, struct turn *t, const char *category, const char *text)
{
    CLEANUP(hook_outcome_release) struct hook_outcome o = HOOK_OUTCOME_INIT;
    CLEANUP(buf_release) struct buf json = BUF_INIT(BUF_NO_LIMIT);
    struct err err = {0};
    struct jw w;

    if (!agent_hook_wanted(a, HOOK_STOP_FAILURE, str_of(category)))
        return;
    jw_init(&w, &json, 0);
    agent_hook_begin(a, &w, HOOK_STOP_FAILURE);
    jw_kcstr(&w, "error", category);
    jw_kcstr(&w, "error_details", text);
    jw_kcstr(&w, "last_assistant_message", text); /* the error text, since there is no answer */
    jw_object_end(&w);
    (void)agent_hook_run(a, HOOK_STOP_FAILURE, str_of(category), buf_str(&json), /*call=*/NULL,
                         t->cancel, &o, &err);
}

static void turn_report_total(struct agent *a, struct arena *arena, struct turn_report *ret)
{
    struct spending_total total;

    spending_report(a->spec.spending, arena, &total);
    ret->total_ms = total.time_ms;
    ret->total_api_ms = total.api_ms;
    ret->total_usd = total.usd;
    ret->cost_unknown = total.is_unknown;
    ret->models = total.models;
    ret->model_count = total.model_count;
}

void agent_record_spends(struct agent *a)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    struct turn_report r = {.end = a->last_end};
    struct journal *journal = a->spec.journal;
    struct err err = {0};

    /* If the last turn is still open, waiting to be resumed, this must not look like its end. */
    if (!spending_is_unreported(a->spec.spending) || !journal || a->left_open)
        return;
    turn_report_total(a, &arena, &r);
    if (journal->turn_done(journal, &r, &err) < 0)
        agent_notice(a, LEVEL_ERROR, "%s", err.text);
}

static void turn_write_heard(const struct turn *t, struct event *e, struct turn_report *ret)
{
    CLEANUP(buf_release) struct buf json = BUF_INIT(AGENT_MAX_TEXT);
    struct jw w;

    jw_init(&w, &json, JW_CLEAN);
    jw_array(&w);
    for (size_t i = 0; i < t->heard.len; i++)
        jw_cstr(&w, t->heard.ptr[i]);
    jw_array_end(&w);
    ret->inputs = arena_str(&e->arena, buf_str(&json));
    if (t->heard.len)
        ret->first_input = arena_str(&e->arena, str_of(t->heard.ptr[0]));
}

/* The category of an answer that cannot be used, for programs. */
static const char *turn_model_category(const struct turn *t)
{
    if (t->stop == STOP_MAX_TOKENS && t->err.code == ERR_TOO_BIG)
        return "max_output_tokens";
    return t->stop == STOP_REFUSAL ? "invalid_request" : "unknown";
}

void turn_report(struct agent *a, struct turn *t, enum turn_end end)
{
    struct event *e = agent_event(a, EVENT_TURN_DONE);
    struct turn_report *r = arena_new(&e->arena, struct turn_report);
    CLEANUP(buf_release) struct buf denials = BUF_INIT(AGENT_MAX_TEXT + 2);
    bool api = end == END_API_ERROR || end == END_PROMPT_TOO_LONG;
    struct journal *journal = a->spec.journal;
    struct err err = {0};

    turn_write_heard(t, e, r);
    buf_addf(&denials, "[%.*s]", STR_ARG(buf_str(&t->denials)));
    r->end = a->last_end = end;
    r->is_error = end != END_COMPLETED && end != END_HOOK_STOPPED &&
                  end != END_STOP_HOOK_PREVENTED && end != END_CALLED_OFF &&
                  end != END_TOOL_DEFERRED;
    r->error = arena_str(&e->arena, r->is_error ? str_of(t->err.text) : buf_str(&t->note));
    r->result = api ? r->error : arena_str(&e->arena, t->last_text);
    r->category = api                      ? str_of(fault_name(t->err.code, t->is_overloaded))
                  : end == END_MODEL_ERROR ? str_of(turn_model_category(t))
                                           : STR("");
    r->api_status = api ? t->api_status : 0;
    r->stop = t->stop;
    r->duration_ms = clock_mono_ms() - t->start_ms;
    r->duration_api_ms = t->api_ms;
    r->worked_ms = r->duration_ms - pace_asked(a->pace, clock_mono_ms());
    spending_add_time(a->spec.spending, r->worked_ms,
                      /* api_ms was added with each step */ 0); /* booked with each step */
    turn_report_total(a, &e->arena, r);
    pace_end(a->pace, a->turn, &r->pace);
    r->steps = t->steps;
    spending_take_beside(a->spec.spending, &r->usage);
    llm_usage_add(&r->usage, &t->usage);
    r->denials = arena_str(&e->arena, buf_str(&denials));
    r->deferred = arena_str(&e->arena, buf_str(&t->deferred));
    r->structured = arena_str(&e->arena, buf_str(&t->final_args));
    r->queued = inputs_waiting(a->inputs);
    if (t->is_notices)
        r->notice_run = arena_cstr(&e->arena, str_of(t->run));
    e->report = r;
    agent_write_hooks(a, /*stop=*/NULL);
    if (journal && journal->turn_done(journal, r, &err) < 0)
        agent_notice(a, LEVEL_ERROR, "%s", err.text);
    agent_emit(a, e, /*cancel=*/a->spec.cancel);
}
