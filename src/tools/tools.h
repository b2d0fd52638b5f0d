/*
 * The table of tools. agent/tool.h says how to add one.
 */
#pragma once

#include <stddef.h>

struct tool_entry;

/* In the order in which the model sees them; NULL-terminated. */
const struct tool_entry *const *tools_table(void);
