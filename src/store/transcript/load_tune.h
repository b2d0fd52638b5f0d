/*
 * For tests and benchmarks: how a file is scanned. The result does not depend on it.
 */
#pragma once

#include "store/transcript/load.h"

/* 0 = the default. */
struct load_tune {
    uint64_t part_bytes;
    size_t window_bytes;
    unsigned threads;
};

int load_open_tuned(const char *path, const struct load_spec *spec, struct cancel *cancel,
                    const struct load_tune *tune, struct load **ret, struct err *err);
