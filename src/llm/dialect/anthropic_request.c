/*
 * A request to the Messages API, except its messages (anthropic_messages.c).
 *
 * There are at most four cache marks: on the last tool, on the system text, and on the last block
 * of the previous and the current user turn. The third is where the previous request wrote its
 * cache entry, so that it is found no matter how many blocks a turn adds. Runs on the agent's
 * thread.
 */
#include "base/buf.h"
#include "base/mem.h"
#include "json/jw.h"
#include "llm/dialect/anthropic.h"
#include "llm/dialect/dialect.h"
#include "llm/dialect/wire.h"
#include "llm/message.h"
#include "llm/model.h"

#define MIN_BUDGET 1024
#define DEFAULT_MAX_TOKENS 8192

const char *anthropic_cache_mark(const struct llm_request *req)
{
    return req->cache == CACHE_1H ? "{\"type\":\"ephemeral\",\"ttl\":\"1h\"}"
                                  : "{\"type\":\"ephemeral\"}";
}

static void write_mark(struct jw *w, const struct llm_request *req)
{
    if (req->cache != CACHE_OFF)
        jw_kraw(w, "cache_control", str_of(anthropic_cache_mark(req)));
}

static void write_domains(struct jw *w, const char *key, const struct strv *domains)
{
    if (!domains || !domains->len)
        return;
    jw_key(w, key);
    jw_array(w);
    for (size_t i = 0; i < domains->len; i++)
        jw_cstr(w, domains->ptr[i]);
    jw_array_end(w);
}

static void write_search(struct jw *w, const struct llm_search *search)
{
    jw_object(w);
    jw_kcstr(w, "type", "web_search_20250305");
    jw_kcstr(w, "name", "web_search");
    if (search->max_uses)
        jw_ki64(w, "max_uses", search->max_uses);
    write_domains(w, "allowed_domains", search->allowed);
    write_domains(w, "blocked_domains", search->blocked);
    jw_object_end(w);
}

static void write_tools(struct jw *w, const struct llm_request *req)
{
    if (!req->tool_count && !req->search)
        return;
    jw_key(w, "tools");
    jw_array(w);
    for (size_t i = 0; i < req->tool_count; i++) {
        const struct llm_tool *t = &req->tools[i];

        jw_object(w);
        jw_kstr(w, "name", t->name);
        if (t->description.len) {
            jw_key(w, "description");
            wire_description(w, t);
        }
        jw_key(w, "input_schema");
        wire_tool_schema(w, t);
        if (i + 1 == req->tool_count)
            write_mark(w, req);
        jw_object_end(w);
    }
    if (req->search)
        write_search(w, req->search);
    jw_array_end(w);
}

static void write_system(struct jw *w, const struct llm_request *req)
{
    if (!str_trim(req->system).len)
        return;
    jw_key(w, "system");
    jw_array(w);
    jw_object(w);
    jw_kcstr(w, "type", "text");
    jw_key(w, "text");
    wire_system(w, req);
    write_mark(w, req);
    jw_object_end(w);
    jw_array_end(w);
}

static int64_t max_tokens(const struct llm_request *req)
{
    int64_t n = wire_max_tokens(req);
    int64_t cap = req->model->max_output;

    if (!n) /* the API requires it */
        n = cap > 0 ? cap : DEFAULT_MAX_TOKENS;
    return cap > 0 && n > cap ? cap : n;
}

enum think {
    THINK_UNSAID, /* send nothing: the model's default */
    THINK_DISABLED,
    THINK_ADAPTIVE,
    THINK_BUDGET,
};

static bool is_forced(const struct llm_request *req)
{
    return req->tool_count && (req->choice == CHOICE_ANY || req->choice == CHOICE_NAMED);
}

static const struct block *first_sent(const struct llm_request *req, const struct message *m)
{
    for (size_t i = 0; i < m->len; i++) {
        if (anthropic_is_sent(req, &m->blocks[i]))
            return &m->blocks[i];
    }
    return NULL;
}

static bool has_result(const struct message *m)
{
    for (size_t i = 0; i < m->len; i++) {
        if (m->blocks[i].kind == BLOCK_TOOL_RESULT)
            return true;
    }
    return false;
}

/*
 * Whether a turn that continues with results of calls began without thinking: the thinking was
 * another model's and is dropped, or there was none. With a thinking budget the API rejects such a
 * request, so that a fallback model in the middle of a turn would never answer.
 */
static bool goes_on_without_thought(const struct llm_request *req)
{
    const struct block *first = NULL; /* of the model's part of this turn */
    size_t i = req->message_count;
    bool results;

    do {
        results = false;
        while (i > 0 && req->messages[i - 1]->role == ROLE_USER)
            results |= has_result(req->messages[--i]);
        while (results && i > 0 && req->messages[i - 1]->role == ROLE_ASSISTANT) {
            const struct block *b = first_sent(req, req->messages[--i]);

            first = b ? b : first;
        }
    } while (results);
    return first && first->kind != BLOCK_THINKING && first->kind != BLOCK_REDACTED_THINKING;
}

static enum think how_to_think(const struct llm_request *req)
{
    /* A forced call and thinking are mutually exclusive. */
    bool off = req->thinking == THINKING_OFF || req->effort == EFFORT_NONE || is_forced(req);

    switch (req->model->thinking) {
    case MODEL_THINKS_ADAPTIVE: /* some of them think by default */
        return off ? THINK_DISABLED : THINK_ADAPTIVE;
    case MODEL_THINKS_ALWAYS: /* "disabled" is rejected; only the summary is optional */
        return req->show_thinking ? THINK_ADAPTIVE : THINK_UNSAID;
    case MODEL_THINKS_BUDGET:
        off = off || max_tokens(req) <= MIN_BUDGET || goes_on_without_thought(req);
        return off ? THINK_UNSAID : THINK_BUDGET;
    default:
        return THINK_UNSAID;
    }
}

/* At least 1024 and less than max_tokens, which includes it. */
static int64_t think_budget(const struct llm_request *req)
{
    static const int64_t by_effort[] = {
        [EFFORT_UNSET] = 16384, [EFFORT_MINIMAL] = 2048, [EFFORT_LOW] = 4096,
        [EFFORT_MEDIUM] = 8192, [EFFORT_HIGH] = 16384,   [EFFORT_XHIGH] = 24576,
        [EFFORT_MAX] = 32768,
    };
    int64_t max = max_tokens(req);
    int64_t n = by_effort[req->effort];

    if (req->thinking == THINKING_BUDGET && req->thinking_budget > 0)
        n = req->thinking_budget;
    if (n >= max)
        n = max - 1;
    return n < MIN_BUDGET ? MIN_BUDGET : n;
}

static void write_thinking_mode(struct jw *w, const struct llm_request *req)
{
    static const char *const names[] = {"", "disabled", "adaptive", "enabled"};
    enum think how = how_to_think(req);

    if (how == THINK_UNSAID)
        return;
    jw_key(w, "thinking");
    jw_object(w);
    jw_kcstr(w, "type", names[how]);
    if (how == THINK_BUDGET)
        jw_ki64(w, "budget_tokens", think_budget(req));
    /* Models with a budget always show it. */
    if (how == THINK_ADAPTIVE && req->show_thinking)
        jw_kcstr(w, "display", "summarized");
    jw_object_end(w);
}

static enum effort effort_to_send(const struct llm_request *req)
{
    unsigned set = req->model->efforts & ~(1u << EFFORT_NONE | 1u << EFFORT_MINIMAL);
    enum effort want = req->effort == EFFORT_NONE ? EFFORT_UNSET : req->effort;

    /* Without thinking the highest levels are rejected. */
    if (how_to_think(req) == THINK_DISABLED && want > EFFORT_HIGH)
        want = EFFORT_HIGH;
    return effort_fit(set, want);
}

static void write_output_config(struct jw *w, const struct llm_request *req)
{
    enum effort effort = effort_to_send(req);

    if (effort == EFFORT_UNSET && !req->output_schema.len)
        return;
    jw_key(w, "output_config");
    jw_object(w);
    if (effort != EFFORT_UNSET)
        jw_kcstr(w, "effort", effort_name(effort));
    if (req->output_schema.len) {
        jw_key(w, "format");
        jw_object(w);
        jw_kcstr(w, "type", "json_schema");
        jw_key(w, "schema");
        wire_schema(w, req->output_schema);
        jw_object_end(w);
    }
    jw_object_end(w);
}

static void write_choice(struct jw *w, const struct llm_request *req)
{
    static const char *const names[] = {[CHOICE_AUTO] = "auto",
                                        [CHOICE_NONE] = "none",
                                        [CHOICE_ANY] = "any",
                                        [CHOICE_NAMED] = "tool"};
    enum tool_choice choice = req->choice;

    if (!req->tool_count)
        return;
    /* A model that always thinks cannot be forced to call a tool. */
    if (is_forced(req) && req->model->thinking == MODEL_THINKS_ALWAYS)
        choice = CHOICE_AUTO;
    if (choice == CHOICE_AUTO && !req->no_parallel_calls)
        return;
    jw_key(w, "tool_choice");
    jw_object(w);
    jw_kcstr(w, "type", names[choice]);
    if (choice == CHOICE_NAMED)
        jw_kstr(w, "name", req->choice_name);
    if (req->no_parallel_calls && choice != CHOICE_NONE)
        jw_kbool(w, "disable_parallel_tool_use", true);
    jw_object_end(w);
}

int anthropic_body(const struct llm_request *req, struct buf *out, struct err *err)
{
    size_t start = out->len;
    struct jw w;

    (void)buf_room(out, wire_head_room(req));
    jw_init(&w, out, JW_CLEAN);
    jw_object(&w);
    jw_kstr(&w, "model", model_wire_name(req->model));
    jw_ki64(&w, "max_tokens", max_tokens(req));
    jw_kbool(&w, "stream", !req->no_stream);
    write_thinking_mode(&w, req);
    write_output_config(&w, req);
    if (req->user_id.len) {
        jw_key(&w, "metadata");
        jw_object(&w);
        jw_kstr(&w, "user_id", req->user_id);
        jw_object_end(&w);
    }
    write_choice(&w, req);
    write_tools(&w, req);
    write_system(&w, req);
    if (anthropic_messages(&w, req, err) < 0)
        return -1;
    jw_object_end(&w);

    return wire_check(out, start, err);
}
