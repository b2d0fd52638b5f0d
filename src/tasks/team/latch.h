/*
 * A lock file that protects changes of other files, between threads and processes.
 *
 *     CLEANUP(latch_give) struct latch latch = LATCH_INIT;
 *     if (latch_take(&latch, "/home/u/.tenax/tasks/x", ".lock", cancel, err) < 0)
 *         return -1;
 *     … read, change, replace …
 *
 * The kernel releases it if the process is killed. The file is never removed.
 */
#pragma once

struct cancel;
struct err;

struct latch {
    int fd;
};
#define LATCH_INIT                                                                                 \
    {                                                                                              \
        -1                                                                                         \
    }

/* Creates the folder if necessary. ERR_BUSY after ten seconds, naming the process that holds the
 * lock; ERR_CANCELLED; ERR_IO. */
int latch_take(struct latch *l, const char *folder, const char *name, struct cancel *cancel,
               struct err *err);
/* The same without waiting: ERR_BUSY if it is held. */
int latch_try(struct latch *l, const char *folder, const char *name, struct err *err);
void latch_give(struct latch *l);
