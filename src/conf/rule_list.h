/*
 * Lists of permission rules on the command line: --allowedTools "Bash(git log:*),Edit Read".
 */
#pragma once

#include <stdbool.h>

#include "base/str.h"

struct strv;

/* Names of tools that rules may be about, in one text. */
#define RULE_KNOWN_TOOLS                                                                           \
    "Bash BashOutput KillShell Read Write Edit MultiEdit NotebookEdit Glob Grep TodoWrite "        \
    "WebFetch "                                                                                    \
    "WebSearch AskUserQuestion ExitPlanMode EnterPlanMode Agent Task TaskOutput TaskStop "         \
    "SendMessage Skill SearchExtraTools ExecuteExtraTool Workflow"

/* Splits at commas and blanks that are not in parentheses. */
void rule_list_split(struct str text, struct strv *ret);
/* Whether a text can be nothing but such a list: names of known tools, of MCP servers, and
 * "Tool(…)". */
bool rule_list_is(struct str text);
