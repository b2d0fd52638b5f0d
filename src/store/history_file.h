/*
 * $TENAX_HOME/history.jsonl: the user's prompts, one per line, for other programs. tenax itself
 * uses its own table (store.h).
 */
#pragma once

#include <stdint.h>

#include "base/str.h"

struct err;

struct history_line {
    struct str text;
    struct str dir;     /* the folder of the session */
    struct str session; /* its uuid */
    int64_t time_ms;
};

int history_file_add(const char *home, const struct history_line *line, struct err *err);
