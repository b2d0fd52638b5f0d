/*
 * Rows and texts of all tools; for src/tools only. The texts are generated from the .md files.
 */
#pragma once

struct tool_entry;

#define TOOL(name)                                                                                 \
    extern const struct tool_entry tool_##name##_entry;                                            \
    extern const char tool_##name##_md[];                                                          \
    extern const char tool_##name##_schema[];
#include "tools/tools.def"
#undef TOOL
