/*
 * The state on the disk after a run of the course, compared with the acknowledged one; for
 * survive.c.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/map.h"
#include "base/str.h"

struct acked;
struct err;

struct kept {
    bool exists;       /* there is a transcript */
    struct map active; /* uuids of the chain that a model gets */
    size_t messages;   /* that a model would get */
    size_t queued;     /* inputs that still wait */
    size_t notices;    /* of them, ends of tasks: one turn may deliver several */
    bool compacts;     /* and one of them is for a compaction */
    size_t torn;       /* lines that are no entry */
    bool is_complete;  /* the last turn was through */
};
void kept_release(struct kept *k);

/*
 * is_exact: nothing failed before the end, it just came. The transcript loads; the request to a
 * model keeps the rules; every acknowledged line is in the chain, or after a boundary in the file;
 * title, things to do and waiting messages are as acknowledged, or as they would have been next.
 */
int kept_check(const char *transcript, const struct acked *a, bool is_exact, struct kept *ret,
               struct err *err);
/* Each file is in one of its versions as a whole, each command ran at most once, and whatever was
 * acknowledged was done. */
int kept_files(const char *work, const struct acked *a, struct err *err);
