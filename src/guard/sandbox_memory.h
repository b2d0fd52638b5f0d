/*
 * Remembers between sessions whether the sandbox worked.
 *
 * Only for text: at its start a session tells the model how commands run, without a test just for
 * that. Decisions about commands use a test in this process, whose result is then stored. The file
 * has one line, for one kernel and one user; jobs cannot write it. Internal to the sandbox. Any
 * thread.
 */
#pragma once

#include <stdbool.h>

struct sandbox_memory;

/* Here and below, NULL remembers nothing. */
struct sandbox_memory *sandbox_memory_new(const char *path);
void sandbox_memory_free(struct sandbox_memory *m);

/* False if nothing is stored, or better information is available. */
bool sandbox_memory_recall(struct sandbox_memory *m, bool *ret_works);
/* By a try. That it cannot be written is nothing worth words. */
void sandbox_memory_learn(struct sandbox_memory *m, bool works);
