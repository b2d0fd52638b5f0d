/*
 * The transcripts below a home as the disk has them: names, sizes, times; in the order of their
 * projects and ids, as rows come from the store (store.h).
 *
 * Half of what a list of sessions costs is to look at the files, and half to read what is
 * remembered of them, so that a thread of its own does the one while the caller does the other.
 */
#pragma once

#include <stdint.h>

#include "base/arena.h"
#include "base/id.h"
#include "base/str.h"
#include "base/vec.h"

struct cancel;
struct stat;
struct thread;

struct survey_file {
    struct str project;
    char id[ID_UUID_LEN + 1];
    int64_t size, mtime_ns, inode;
};

struct survey {
    const char *home;
    struct str project; /* empty: all */
    struct cancel *cancel;

    /* The thread's until survey_end(). What could not be read, or came after a cancel, is not
     * there. */
    struct arena arena; /* of their projects */
    VEC(struct survey_file) files;
    struct thread *thread;
};

#define SURVEY_INIT(home_, project_, cancel_)                                                      \
    {                                                                                              \
        .home = (home_), .project = (project_), .cancel = (cancel_), .arena = ARENA_INIT           \
    }

void survey_begin(struct survey *s);
void survey_end(struct survey *s); /* waits for it */
void survey_release(struct survey *s);

/* Size, time and inode of a file that was looked at otherwise. */
void survey_stat(struct survey_file *file, const struct stat *st);
