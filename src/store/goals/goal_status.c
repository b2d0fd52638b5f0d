/*
 * The names of a goal's statuses, as the table, clients and transcripts have them. Any thread.
 */
#include "store/goals/goals.h"

static const char *const status_names[] = {
#define X(id, name) [GOAL_##id] = name,
    GOAL_STATUSES(X)
#undef X
};

const char *goal_status_name(enum goal_status s)
{
    return s < GOAL_STATUS_COUNT ? status_names[s] : "";
}

bool goal_status_parse(struct str name, enum goal_status *ret)
{
    for (size_t i = 0; i < ARRAY_LEN(status_names); i++) {
        if (str_is(name, status_names[i])) {
            *ret = (enum goal_status)i;
            return true;
        }
    }
    return false;
}
