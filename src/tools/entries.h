/*
 * The rows and the words of all tools; for src/tools only. The words are made from the .md files by
 * the build.
 */
#pragma once

struct tool_entry;

#define TOOL(name)                                                                                 \
    extern const struct tool_entry tool_##name##_entry;                                            \
    extern const char tool_##name##_md[];                                                          \
    extern const char tool_##name##_schema[];
#include "tools/tools.def"
#undef TOOL
