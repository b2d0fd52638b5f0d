/*
 * The transcripts below a home as the disk has them: names, sizes, times; project by project, and
 * in each in the order of its folder, in which the disk is quickest to say more about them.
 *
 * Half of the cost of a list of sessions is to check the files, and half to read the stored data
 * about them, so that a separate thread does the one while the caller does the other. The first to
 * finish helps: survey_end() checks files, too, until none is left.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/id.h"
#include "base/str.h"
#include "base/vec.h"
#include "sync/thread.h"

struct cancel;
struct stat;

struct survey_file {
    struct str project;
    char id[ID_UUID_LEN + 1];
    int64_t size, mtime_ns, inode;
};

struct session_survey {
    const char *home;
    struct str project; /* empty: all */
    struct cancel *cancel;

    /* Not to be read before survey_end(). What could not be read, or came after a cancel, is not
     * there. */
    VEC(struct survey_file) files;

    struct arena arena; /* of their projects */
    struct thread *thread;
    struct gate gate;
    bool is_listed;     /* by the gate's leave: the names are there */
    atomic_size_t next; /* the first file not taken yet */
};

#define SURVEY_INIT(home_, project_, cancel_)                                                      \
    {                                                                                              \
        .home = (home_), .project = (project_), .cancel = (cancel_), .arena = ARENA_INIT,          \
        .gate = GATE_INIT                                                                          \
    }

void survey_begin(struct session_survey *s);
void survey_end(struct session_survey *s); /* helps, and waits for it */
void survey_release(struct session_survey *s);

/* Size, time and inode of a file that was looked at otherwise. */
void survey_stat(struct survey_file *file, const struct stat *st);
