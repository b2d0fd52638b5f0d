/*
 * pool: which tools each kind of subagent gets. Any thread.
 */
#include "tasks/pool.h"

#include <string.h>

#include "agent/tool.h"
#include "base/str.h"
#include "base/strv.h"
#include "tasks/definition.h"

/* Tools that talk to the user or belong to the whole session. */
static const char not_for_children[] =
    "AskUserQuestion EnterPlanMode ExitPlanMode Workflow TeamCreate TeamDelete Sleep";

static const char for_background[] =
    "Agent Bash BashOutput Edit EnterWorktree ExitWorktree Glob Grep KillShell LSP Monitor "
    "MultiEdit NotebookEdit Read SendMessage Skill TaskOutput TaskStop TodoWrite WebFetch "
    "WebSearch Write SearchExtraTools ExecuteExtraTool";

/* Additional tools for members of a team. */
static const char for_teammates[] = "ListAgents TaskCreate TaskGet TaskList TaskUpdate";

static const char for_coordinators[] =
    "Agent SendMessage TaskStop TaskOutput ListAgents StructuredOutput";

/* The parent's tools that a kind of pool allows. */
static bool kind_has(const struct pool *p, const struct tool_entry *e)
{
    struct str name = str_of(e->name);

    switch (p->kind) {
    case POOL_MAIN:
    case POOL_FORK:
        return true;
    case POOL_FOREGROUND:
        return !(e->flags & TOOL_REFEREE) && !str_is_word_of(name, not_for_children);
    case POOL_TEAMMATE:
        if (str_is_word_of(name, for_teammates) || (p->plans && str_is(name, "ExitPlanMode")))
            return true;
        break;
    case POOL_COORDINATOR:
        return e->flags & TOOL_REFEREE || str_is_word_of(name, for_coordinators);
    case POOL_BARE_WORKER:
        return str_is_word_of(name, "Bash Read Edit");
    case POOL_WORKER:
        if (str_is_word_of(name, "Agent SendMessage"))
            return false;
        break;
    case POOL_BACKGROUND:
        break;
    }
    return str_starts(name, STR("mcp__")) || str_is_word_of(name, for_background);
}

/* "mcp__srv" and "mcp__srv__*" match all tools of a server. */
static bool names_tool(const struct strv *list, struct str name)
{
    for (size_t i = 0; i < list->len; i++) {
        struct str one = str_of(list->ptr[i]);

        one = str_trim(str_first(one, str_chr(one, '('))); /* a rule's specifier is ignored here */
        if (str_is(one, "Task"))
            one = STR("Agent");
        if (str_eq(one, name))
            return true;
        if (!str_starts(one, STR("mcp__")))
            continue;
        if (str_ends(one, STR("__*")))
            one = str_first(one, one.len - 3);
        if (str_starts(name, one) && str_starts(str_from(name, one.len), STR("__")))
            return true;
    }
    return false;
}

bool pool_has(const struct pool *p, const struct tool_entry *e)
{
    struct str name = str_of(e->name);

    if (p->kind == POOL_FORK)
        return true;
    if (!kind_has(p, e))
        return false;
    if (str_is(name, "Agent") && !p->may_start)
        return false;
    if (!p->type)
        return true;
    /* if it may run commands it may read their output */
    if (e->flags & TOOL_HIDDEN)
        return !p->type->has_tools || names_tool(&p->type->tools, STR("Bash"));
    if (p->type->has_tools && !names_tool(&p->type->tools, name))
        return false;
    return !names_tool(&p->type->disallowed, name);
}

bool pool_wants(void *arg, const struct tool_entry *e)
{
    return pool_has(arg, e);
}

bool pool_refuses(void *arg, const struct tool_entry *e)
{
    const struct pool *p = arg;
    struct str name = str_of(e->name);

    return p->kind == POOL_FORK && (e->flags & TOOL_REFEREE || str_is(name, "Agent") ||
                                    str_is_word_of(name, not_for_children));
}
