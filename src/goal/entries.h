/* What the model reads of the goal tools; made from their .md files. */
#pragma once

extern const char tool_get_goal_md[], tool_get_goal_schema[];
extern const char tool_create_goal_md[], tool_create_goal_schema[];
extern const char tool_update_goal_md[], tool_update_goal_schema[];
