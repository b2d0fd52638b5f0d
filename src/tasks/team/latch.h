/*
 * A lock file for one change of the files beside it, between threads and processes.
 *
 *     CLEANUP(latch_give) struct latch latch = LATCH_INIT;
 *     if (latch_take(&latch, "/home/u/.tenax/tasks/x", ".lock", cancel, err) < 0)
 *         return -1;
 *     … read, change, replace …
 *
 * The kernel gives it back if the process is killed. The file stays where it is.
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

/* The folder is made where it is missing. ERR_BUSY after ten seconds, with the process that has
 * it; ERR_CANCELLED; ERR_IO. */
int latch_take(struct latch *l, const char *folder, const char *name, struct cancel *cancel,
               struct err *err);
/* The same without waiting: ERR_BUSY while another one has it. */
int latch_try(struct latch *l, const char *folder, const char *name, struct err *err);
void latch_give(struct latch *l);
