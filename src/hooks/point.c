/*
 * point: the table of events.
 */
#include "hooks/point.h"

#include "conf/nearest.h"

#define TIMEOUT_MS ((int64_t)600 * 1000)
#define PROMPT_TIMEOUT_MS ((int64_t)30 * 1000)

static const struct point points[] = {
    [HOOK_SESSION_START] = {POINT_MATCHES | POINT_LISTENS | POINT_SHELL | POINT_LOCAL,
                            BLOCK_TELLS_USER},
    [HOOK_USER_PROMPT_SUBMIT] = {POINT_PROMPTS | POINT_LISTENS | POINT_GUARDED, BLOCK_DENIES,
                                 JUDGED_ENDS, 30 * 1000},
    [HOOK_USER_PROMPT_EXPANSION] = {POINT_MATCHES | POINT_PROMPTS | POINT_LISTENS | POINT_GUARDED,
                                    BLOCK_DENIES, JUDGED_ENDS},
    [HOOK_PRE_TOOL_USE] = {POINT_MATCHES | POINT_CALL | POINT_PROMPTS | POINT_GUARDED, BLOCK_DENIES,
                           JUDGED_ENDS_UNLESS},
    [HOOK_PERMISSION_REQUEST] = {POINT_MATCHES | POINT_CALL | POINT_PROMPTS, BLOCK_NOTHING},
    [HOOK_PERMISSION_DENIED] = {POINT_MATCHES | POINT_CALL | POINT_PROMPTS, BLOCK_NOTHING},
    [HOOK_POST_TOOL_USE] = {POINT_MATCHES | POINT_CALL | POINT_PROMPTS | POINT_GUARDED,
                            BLOCK_DENIES, JUDGED_ENDS_UNLESS},
    [HOOK_POST_TOOL_USE_FAILURE] = {POINT_MATCHES | POINT_CALL | POINT_PROMPTS | POINT_GUARDED,
                                    BLOCK_DENIES, JUDGED_DENIES},
    [HOOK_POST_TOOL_BATCH] = {POINT_PROMPTS | POINT_GUARDED, BLOCK_DENIES, JUDGED_ENDS},
    [HOOK_NOTIFICATION] = {POINT_MATCHES, BLOCK_NOTHING},
    [HOOK_STOP] = {POINT_PROMPTS, BLOCK_DENIES, JUDGED_DENIES},
    [HOOK_STOP_FAILURE] = {POINT_MATCHES, BLOCK_NOTHING},
    [HOOK_SUBAGENT_START] = {POINT_MATCHES, BLOCK_TELLS_USER},
    [HOOK_SUBAGENT_STOP] = {POINT_MATCHES | POINT_PROMPTS, BLOCK_DENIES, JUDGED_DENIES},
    [HOOK_PRE_COMPACT] = {POINT_MATCHES | POINT_GUARDED, BLOCK_DENIES},
    [HOOK_POST_COMPACT] = {POINT_MATCHES, BLOCK_TELLS_USER},
    [HOOK_TASK_CREATED] = {POINT_PROMPTS | POINT_GUARDED, BLOCK_DENIES, JUDGED_DENIES},
    [HOOK_TASK_COMPLETED] = {POINT_PROMPTS, BLOCK_DENIES, JUDGED_DENIES},
    [HOOK_TEAMMATE_IDLE] = {POINT_PROMPTS, BLOCK_DENIES, JUDGED_ENDS_UNLESS},
    [HOOK_INSTRUCTIONS_LOADED] = {POINT_MATCHES, BLOCK_NOTHING},
    [HOOK_CWD_CHANGED] = {POINT_SHELL, BLOCK_TELLS_USER},
    [HOOK_DIRECTORY_ADDED] = {POINT_MATCHES, BLOCK_NOTHING},
    [HOOK_FILE_CHANGED] = {POINT_MATCHES | POINT_SHELL, BLOCK_TELLS_USER},
    [HOOK_CONFIG_CHANGE] = {POINT_MATCHES | POINT_GUARDED, BLOCK_DENIES},
    [HOOK_ELICITATION] = {POINT_MATCHES, BLOCK_DENIES},
    [HOOK_ELICITATION_RESULT] = {POINT_MATCHES, BLOCK_DENIES},
    [HOOK_SESSION_END] = {POINT_MATCHES, BLOCK_TELLS_USER, JUDGED_NOTHING, HOOK_END_MS},
};
_Static_assert(ARRAY_LEN(points) == HOOK_EVENT_COUNT, "every event has its row");

static const char *const later[] = {
    "Setup",          "MessageDisplay", "WorktreeCreate",
    "WorktreeRemove", "PreModelSwitch", "PostModelSwitch",
};

const struct point *point_of(enum hook_event event)
{
    return &points[event];
}

int64_t point_timeout_ms(enum hook_event event, const struct handler_spec *h)
{
    if (h->timeout_ms)
        return h->timeout_ms;
    if (h->type == HANDLER_PROMPT)
        return PROMPT_TIMEOUT_MS;
    return points[event].timeout_ms ? points[event].timeout_ms : TIMEOUT_MS;
}

bool point_comes_later(struct str name)
{
    for (size_t i = 0; i < ARRAY_LEN(later); i++) {
        if (str_is(name, later[i]))
            return true;
    }
    return false;
}

struct str point_nearest(struct str name)
{
    struct nearest n;

    nearest_init(&n, name);
    for (size_t i = 0; i < HOOK_EVENT_COUNT; i++)
        nearest_offer(&n, str_of(hook_event_name((enum hook_event)i)));
    return n.best;
}
