/*
 * Collects from a conversation, fed in order, what the conditions of a scenario's steps can test.
 *
 * Both players of scenarios feed it, whatever the dialect, so that a step means the same for both.
 * An answer is everything the assistant says or calls until the next user message or tool result.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/str.h"
#include "llm/scenario/scenario.h"

struct scenario_viewer {
    struct buf result;
    struct buf prompt;
    struct buf system;
    size_t bytes;
    bool in_answer;
    bool called; /* a tool, in this answer */
};

void viewer_init(struct scenario_viewer *v);
void viewer_release(struct scenario_viewer *v);
void viewer_system(struct scenario_viewer *v, struct str text);
void viewer_user(struct scenario_viewer *v, struct str text);
void viewer_result(struct scenario_viewer *v, struct str text);
void viewer_said(struct scenario_viewer *v, struct str text); /* the assistant; "" counts */
void viewer_called(struct scenario_viewer *v);
/* Lent until the viewer is released. */
struct scenario_view viewer_view(struct scenario_viewer *v, struct str model);
