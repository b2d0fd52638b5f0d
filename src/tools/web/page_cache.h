/*
 * Cache of pages that WebFetch has read: 15 minutes, 4 MB per workspace, oldest dropped first. For
 * src/tools only. Any thread.
 */
#pragma once

#include <stdbool.h>

#include "base/str.h"

struct buf;
struct workspace;

/* Appends the text stored for this URL. */
bool page_cache_get(struct workspace *w, struct str url, struct buf *ret);
void page_cache_put(struct workspace *w, struct str url, struct str text);
