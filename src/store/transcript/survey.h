/*
 * Collects names, sizes and times of the transcripts below a home, by project, each project in the
 * order of its directory, which is the fastest order for the disk.
 *
 * Half of the time for a list of sessions goes into checking the files and half into reading the
 * stored data about them, so a separate thread checks while the caller reads. survey_end() helps
 * checking until no file is left.
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
    struct str project; /* empty = all */
    struct cancel *cancel;

    /* Valid after survey_end(). Files that could not be read, or were not reached before a cancel,
     * are missing. */
    VEC(struct survey_file) files;

    struct arena arena; /* owns their project names */
    struct thread *thread;
    struct gate gate;
    bool is_listed;     /* the names are complete; guarded by the gate */
    atomic_size_t next; /* index of the next unchecked file */
};

#define SURVEY_INIT(home_, project_, cancel_)                                                      \
    {                                                                                              \
        .home = (home_), .project = (project_), .cancel = (cancel_), .arena = ARENA_INIT,          \
        .gate = GATE_INIT                                                                          \
    }

void survey_begin(struct session_survey *s);
void survey_end(struct session_survey *s); /* helps, and waits for it */
void survey_release(struct session_survey *s);

/* Sets size, time and inode of a file that was checked in another way. */
void survey_stat(struct survey_file *file, const struct stat *st);
