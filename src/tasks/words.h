/* Prompts of the built-in agents, made from their .md files. */
#pragma once

extern const char agent_every_agent_md[]; /* the end of every agent's prompt */
extern const char agent_explore_md[];
extern const char agent_general_purpose_md[];
extern const char agent_plan_md[];
extern const char agent_verifier_md[];
