/*
 * Builds what a step of a scenario looks at from a conversation, told in order.
 *
 * Both players of scenarios tell theirs, whatever the dialect: so a step means the same to them. An
 * answer is everything the assistant says or calls until the user (or a tool) speaks again.
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
