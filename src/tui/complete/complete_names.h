/*
 * Names to choose from: a list that one thread makes longer while another reads it.
 *
 * Added names never move, so a reader may read names_count() of them without a lock. Bounded; names
 * beyond the limit are left out. Counted references.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

#define NAMES_MAX 1000000
#define NAMES_MAX_BYTES 1024 /* of one; longer ones are left out */

struct names;

struct name {
    const char *ptr;
    uint32_t len;
    uint64_t letters; /* fuzzy_letters() */
};

struct names *names_new(void);
struct names *names_ref(struct names *n);
void names_unref(struct names *n);
/* A file, and the folders it is in, those that were not there yet. False: full. Any thread. */
bool names_add_path(struct names *n, struct str path);
size_t names_count(struct names *n);
const struct name *names_at(const struct names *n, size_t i);
