/*
 * The tools, one line each. The order is the model's and part of what providers cache: append.
 */
#include "tools/tools.h"

#include "agent/tool.h"
#include "guard/rule.h"
#include "tools/entries.h"

static const struct tool_entry *const tools[] = {
#define TOOL(name) &tool_##name##_entry,
#include "tools/tools.def"
#undef TOOL
    NULL,
};

const struct tool_entry *const *tools_table(void)
{
    return tools;
}

enum rule_about tool_specifier(struct str tool)
{
    for (const struct tool_entry *const *e = tools; *e; e++) {
        if (str_is(tool, (*e)->name))
            return (*e)->specifier == ABOUT_NOTHING ? ABOUT_NAME : (*e)->specifier;
    }
    return ABOUT_NAME;
}
