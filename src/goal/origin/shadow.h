/*
 * Whether a new file of the workspace takes the place of one elsewhere: a module, a header or a
 * program that is found first because its folder is searched first.
 *
 * Which folders are searched is observed: a file that was looked for in vain in the workspace and
 * then read elsewhere names both folders. Python does not look in vain; what is searched is then
 * the workspace itself, the folders of its scripts, and folders that the check names. A package may
 * have a module of any name. Perl asks in a way that is not observed: of its modules only those
 * count that a file of the check names. Any thread; waits for the disk.
 */
#pragma once

#include <stdbool.h>

#include "base/str.h"
#include "base/strv.h"
#include "base/vec.h"

struct buf;
struct map;
struct origin;
struct origin_check;
struct origin_now;
struct trace;

struct shadow {
    const struct origin *o;
    const struct origin_now *now;
    struct str command;
    const struct trace *first, *trace;
    struct map *read;      /* what was read elsewhere, in either run, sources of caches included */
    struct strv at, there; /* searched folders: at[i] of the workspace before there[i] */
    struct strv modules;   /* folders elsewhere with modules of Python */
    struct strv texts;     /* of the check: its command, and files that it uses and that were there
                            * before */
};

/* first: of the first run of this check; all is lent. */
void shadow_find(struct shadow *p, const struct origin *o, const struct origin_now *now,
                 struct str command, const struct trace *first, const struct trace *trace);
void shadow_release(struct shadow *p);
bool shadow_taken(const struct shadow *p, struct str path, struct buf *ret_why);
