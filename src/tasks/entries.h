/* Texts of the task tools for the model, generated from their .md files, and their rows. */
#pragma once

#include "agent/tool.h"

extern const char tool_agent_md[], tool_agent_schema[];
extern const char tool_list_agents_md[], tool_list_agents_schema[];
extern const char tool_send_message_md[], tool_send_message_schema[];
extern const char tool_task_output_md[], tool_task_output_schema[];
extern const char tool_task_stop_md[], tool_task_stop_schema[];

/* Rows of the tools; arg is a struct agents. */
extern const struct tool_entry tool_agent_entry;
void tool_agent_about(const struct tool_entry *e, struct workspace *w, const struct json *args,
                      struct arena *arena, struct rule_subject *ret);
extern const struct tool_entry tool_list_agents_entry;
extern const struct tool_entry tool_send_message_entry;
extern const struct tool_entry tool_task_output_entry;
extern const struct tool_entry tool_task_stop_entry;
