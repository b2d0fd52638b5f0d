/*
 * A memory file that is changed: read, then written where its links lead to, with the mode it has,
 * and only if nobody else has written it in between.
 */
#pragma once

#include <stdbool.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "context/instructions.h"

struct memory_file {
    char *path; /* the real one */
    bool exists;
    struct stat stat;
    struct buf text; /* empty: there is no file yet */
};

#define MEMORY_FILE_INIT                                                                           \
    {                                                                                              \
        .text = BUF_INIT(INSTRUCTIONS_MAX_FILE)                                                    \
    }

int memory_file_read(struct memory_file *m, const char *path, struct err *err);
/* ERR_BUSY: it is no longer what was read. ERR_TOO_BIG: the text was cut. */
int memory_file_write(const struct memory_file *m, const struct buf *text, struct err *err);
void memory_file_release(struct memory_file *m);
