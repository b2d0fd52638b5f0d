/*
 * Lists of permission rules on the command line: --allowedTools "Bash(git log:*),Edit Read".
 */
#pragma once

#include <stdbool.h>

#include "base/str.h"

struct strv;

/* Names of tools that rules may have, in one text. */
#define RULE_KNOWN_TOOLS                                                                           \
    "Bash BashOutput KillShell Read Write Edit MultiEdit NotebookEdit Glob Grep TodoWrite "        \
    "WebFetch "                                                                                    \
    "WebSearch AskUserQuestion ExitPlanMode EnterPlanMode Agent Task TaskOutput TaskStop "         \
    "SendMessage Skill SearchExtraTools ExecuteExtraTool Workflow"

/* Splits at commas and blanks outside of parentheses. */
void rule_list_split(struct str text, struct strv *ret);
/* Whether a text can only be such a list: names of known tools or of MCP servers, and "Tool(…)". */
bool rule_list_is(struct str text);
