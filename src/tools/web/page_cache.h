/*
 * Pages that WebFetch has read lately: 15 minutes, 4 MB per workspace, the oldest go first. For
 * src/tools only. Any thread.
 */
#pragma once

#include <stdbool.h>

#include "base/str.h"

struct buf;
struct workspace;

/* Appends the text that was put under this address. */
bool page_cache_get(struct workspace *w, struct str url, struct buf *ret);
void page_cache_put(struct workspace *w, struct str url, struct str text);
