/* Prompts of the built-in agents, generated from their .md files. */
#pragma once

extern const char agent_every_agent_md[]; /* appended to every agent's prompt */
extern const char agent_explore_md[];
extern const char agent_general_purpose_md[];
extern const char agent_plan_md[];
extern const char agent_verifier_md[];
