/*
 * One look of the judge into the workspace: a tool call that may read there and nowhere else; for
 * src/goal only.
 *
 * Whatever comes back, refusals included, is written as an exhibit: the files of a workspace are as
 * little to be trusted as the words of the agent. Runs on the thread that asks the judge.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct block;
struct buf;
struct cancel;
struct judge_spec;

#define JUDGE_MAX_LOOK ((size_t)8 << 10) /* bytes of a result that are shown */

/* Appends exhibit `number` in at most max_bytes, its title aside. False: it was refused or failed,
 * and the text says why. */
bool judge_look(const struct judge_spec *spec, const struct block *use, struct cancel *cancel,
                size_t number, size_t max_bytes, struct buf *ret);
