/*
 * A change of a memory file: read, then written to the target of its links, with its mode, and only
 * if nothing else has written it in between.
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
/* ERR_BUSY: it differs from the text that was read. ERR_TOO_BIG: the text was cut. */
int memory_file_write(const struct memory_file *m, const struct buf *text, struct err *err);
void memory_file_release(struct memory_file *m);
