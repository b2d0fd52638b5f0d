/*
 * What the last try to confine something came to, kept between sessions.
 *
 * For text only: at the start of a session the model learns how commands run, without another test
 * just for that. Actual decisions about commands use a test of this process, whose outcome is then
 * remembered. The file has one line, for one kernel and one user; jobs cannot write it. Private to
 * the sandbox. Any thread.
 */
#pragma once

#include <stdbool.h>

struct sandbox_memory;

/* NULL stands for a memory of nothing, here and below. */
struct sandbox_memory *sandbox_memory_new(const char *path);
void sandbox_memory_free(struct sandbox_memory *m);

/* False: nothing is remembered, or better information is available. */
bool sandbox_memory_recall(struct sandbox_memory *m, bool *ret_works);
/* By a try. That it cannot be written is nothing worth words. */
void sandbox_memory_learn(struct sandbox_memory *m, bool works);
