/*
 * The tools of teams and their board, for the host. Their texts for the model are in <name>.md in
 * this folder.
 */
#pragma once

#define TEAM_TOOLS(X)                                                                              \
    X(task_create)                                                                                 \
    X(task_get)                                                                                    \
    X(task_list)                                                                                   \
    X(task_update)                                                                                 \
    X(team_create)                                                                                 \
    X(team_delete)

struct tool_entry;

#define X(name)                                                                                    \
    extern const char tool_##name##_md[];                                                          \
    extern const char tool_##name##_schema[];                                                      \
    extern const struct tool_entry tool_##name##_entry;
TEAM_TOOLS(X)
#undef X
