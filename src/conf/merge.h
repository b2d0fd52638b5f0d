/*
 * Many settings documents into one.
 *
 * Scalars: the highest source wins. Objects merge by key, lists are joined without duplicates,
 * lowest source first; rows marked KEY_WHOLE are taken whole from the highest source that has them.
 * What check.h left out, and what no row knows, does not come in.
 */
#pragma once

#include <stddef.h>

struct arena;
struct buf;
struct check;
struct map;
struct source;

/* Objects nested deeper than this are not merged but replaced. */
#define MERGE_MAX_DEPTH 32
/* Values below longer paths have no origin. */
#define MERGE_MAX_PATH 512

/* list: lowest first. Writes the merged object as JSON; origins maps each dotted path to where its
 * value came from, "file:line:column", a C string in the arena (for a list or object: the highest
 * source that has a part in it). */
void merge_sources(const struct source *list, size_t count, const struct check *check,
                   struct arena *arena, struct buf *ret_json, struct map *origins);
