/*
 * The debug log: one line per call into one file, for tracking down a problem.
 *
 * Off until log_open(). A line is one write(2) with O_APPEND, so threads and processes do not mix
 * theirs. Registered secrets (secret.h) never reach the file. Code below `agent` logs here and
 * nowhere else.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>

#include "base/mem.h"

struct err;

extern atomic_bool log_enabled;

/* Appends to path (0600, made when missing). */
int log_open(const char *path, struct err *err);
int log_open_stderr(struct err *err); /* to standard error instead */
void log_close(void);

/* area is the room: log_debug("net", "..."). Arguments are not evaluated while the log is off. */
#define log_debug(area, ...)                                                                       \
    do {                                                                                           \
        if (atomic_load_explicit(&log_enabled, memory_order_relaxed))                              \
            log_write((area), __VA_ARGS__);                                                        \
    } while (0)

void log_write(const char *area, const char *fmt, ...) PRINTF_LIKE(2, 3);
