/*
 * The tools, one line each. The order is the model's and part of what providers cache: append.
 */
#include "tools/tools.h"

#include "agent/tool.h"
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
