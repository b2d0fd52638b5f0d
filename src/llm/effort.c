/*
 * Names of effort levels, and the nearest one that a model supports. Pure; any thread.
 */
#include "llm/effort.h"

#include "base/mem.h"

static const char *const effort_names[] = {
    [EFFORT_UNSET] = "",      [EFFORT_NONE] = "none",     [EFFORT_MINIMAL] = "minimal",
    [EFFORT_LOW] = "low",     [EFFORT_MEDIUM] = "medium", [EFFORT_HIGH] = "high",
    [EFFORT_XHIGH] = "xhigh", [EFFORT_MAX] = "max",
};

const char *effort_name(enum effort e)
{
    return (size_t)e < ARRAY_LEN(effort_names) ? effort_names[e] : "";
}

bool effort_parse(struct str s, enum effort *ret)
{
    for (size_t i = EFFORT_NONE; i < ARRAY_LEN(effort_names); i++) {
        if (str_is(s, effort_names[i])) {
            *ret = (enum effort)i;
            return true;
        }
    }
    return false;
}

enum effort effort_fit(unsigned set, enum effort want)
{
    if (want == EFFORT_UNSET)
        return EFFORT_UNSET;
    for (int e = want; e > EFFORT_UNSET; e--) {
        if (set & 1u << e)
            return (enum effort)e;
    }
    for (int e = want + 1; e <= EFFORT_MAX; e++) {
        if (set & 1u << e)
            return (enum effort)e;
    }
    return EFFORT_UNSET;
}
