/*
 * What a check was seen to do: the programs that it ran and the files that it opened.
 *
 * The sandbox's supervisor writes a record for each program and each file (proc/confine.h); this
 * reads them. Paths in the workspace are relative to it. The lists are sorted, without duplicates.
 * Any thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/str.h"
#include "base/strv.h"

struct json;
struct jw;

#define TRACE_MAX_BYTES ((size_t)64 << 20)

struct trace {
    bool is_seen;         /* false: nothing could be observed here */
    bool is_cut;          /* not everything was recorded */
    struct strv programs; /* outside of the workspace, by their paths */
    struct strv ran;      /* in the workspace: programs, and scripts given to an interpreter */
    struct strv read;     /* in the workspace: files that were opened */
    struct strv loaded; /* those of them that more than a program such as grep or cat opened, which
                         * shows whatever it is given */
    struct strv used;   /* those of them that an interpreter, a compiler or a program of the
                         * workspace opened: not what git or grep merely looked at */
    struct strv made;   /* in the workspace: files that make itself opened */
    struct strv
        outside; /* other files that were opened: of the user, and what governs all programs */
    struct strv system;  /* and those of installed programs */
    struct strv missing; /* in the workspace: files that were looked for in vain */
};

/* Observed places besides the workspace, the folder above it and the home. */
extern const char *const trace_elsewhere[6];

void trace_release(struct trace *t);
/* dir: the workspace as the check saw it. also: where it lies for others; may be the same. room: a
 * private folder of the check that does not count, except for the parts of its home, "<room>/h",
 * that come from the user's. */
void trace_read(struct trace *t, struct str records, const char *dir, const char *also,
                const char *room, const char *home);
/* Adds what links in the workspace lead to: dir as it is now. Waits for the disk. */
void trace_follow(struct trace *t, const char *dir, const char *also);
bool trace_has(const struct strv *list, struct str path);
/* A build tool was among the programs. */
bool trace_builds(const struct trace *t);

void trace_write(const struct trace *t, struct jw *w);
void trace_parse(struct trace *t, const struct json *v);
