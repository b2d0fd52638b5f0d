/*
 * The names of stop reasons, as the Messages API and the transcript spell them; and figures, read.
 */
#include "llm/event.h"

#include "base/mem.h"
#include "json/json.h"

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
