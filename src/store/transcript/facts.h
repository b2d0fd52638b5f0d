/*
 * Combines the facts that a scan has noted.
 */
#pragma once

#include "store/transcript/load.h"
#include "store/transcript/scan.h"

struct chain;
struct err;

/* From the file's first lines: session, start time, and the first prompt. */
struct head {
    bool is_agent; /* its first message is a sidechain's */
    struct entry_span time;
    struct buf prompt;
};
int head_read(struct head *h, const struct line_source *source, uint64_t max_bytes,
              struct err *err);
void head_release(struct head *h);

/* ret must be zeroed. name: of the file. chain: selects the summaries; NULL = without lines, for a
 * list of sessions. */
void facts_merge(struct load_facts *ret, const struct scan *s, const struct chain *chain,
                 const struct head *head, struct str name);
