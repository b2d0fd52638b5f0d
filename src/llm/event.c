/*
 * Names of stop reasons in the Messages API and transcripts, and reading of figures.
 */
#include "llm/event.h"

#include "base/mem.h"
#include "json/json.h"
#include "json/jw.h"

static const char *const stop_names[] = {
    [STOP_NONE] = "none",
    [STOP_END_TURN] = "end_turn",
    [STOP_TOOL_USE] = "tool_use",
    [STOP_MAX_TOKENS] = "max_tokens",
    [STOP_SEQUENCE] = "stop_sequence",
    [STOP_PAUSE_TURN] = "pause_turn",
    [STOP_REFUSAL] = "refusal",
    [STOP_CONTEXT_FULL] = "model_context_window_exceeded",
};

const char *llm_stop_name(enum llm_stop stop)
{
    return (size_t)stop < ARRAY_LEN(stop_names) ? stop_names[stop] : "none";
}

enum llm_stop llm_stop_parse(struct str name)
{
    for (size_t i = 1; i < ARRAY_LEN(stop_names); i++) {
        if (str_is(name, stop_names[i]))
            return (enum llm_stop)i;
    }
    return STOP_NONE;
}

bool llm_figure(const struct json *v, int64_t *to)
{
    int64_t n;

    if (!json_i64(v, &n) || n < 0)
        return false;
    *to = n < LLM_FIGURE_MAX ? n : LLM_FIGURE_MAX;
    return true;
}

void llm_usage_write(struct jw *w, const struct llm_usage *u)
{
    jw_object(w);
    jw_ki64(w, "input_tokens", u->input);
    jw_ki64(w, "cache_creation_input_tokens", u->cache_write);
    jw_ki64(w, "cache_read_input_tokens", u->cache_read);
    jw_ki64(w, "output_tokens", u->output);
    jw_key(w, "server_tool_use");
    jw_object(w);
    jw_ki64(w, "web_search_requests", u->web_searches);
    jw_object_end(w);
    jw_kcstr(w, "service_tier", "standard");
    jw_key(w, "cache_creation");
    jw_object(w);
    jw_ki64(w, "ephemeral_1h_input_tokens", u->cache_write_1h);
    jw_ki64(w, "ephemeral_5m_input_tokens", u->cache_write - u->cache_write_1h);
    jw_object_end(w);
    jw_object_end(w);
}

void llm_usage_read(const struct json *v, struct llm_usage *ret)
{
    *ret = (struct llm_usage){0};
    ret->known = llm_figure(json_get(v, "input_tokens"), &ret->input);
    llm_figure(json_get(v, "output_tokens"), &ret->output);
    llm_figure(json_get(v, "cache_read_input_tokens"), &ret->cache_read);
    llm_figure(json_get(v, "cache_creation_input_tokens"), &ret->cache_write);
    llm_figure(json_path(v, "cache_creation.ephemeral_1h_input_tokens"), &ret->cache_write_1h);
    llm_figure(json_path(v, "server_tool_use.web_search_requests"), &ret->web_searches);
}
