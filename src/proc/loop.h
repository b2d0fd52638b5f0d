/*
 * The proc thread: one epoll loop for all jobs. For this folder only.
 *
 * Other threads send it orders through a mailbox. It starts with the first job and ends in
 * loop_stop(); a later job starts it again.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "sync/mailbox.h"

struct err;
struct job_fd;
struct loop;
struct proc;
struct zygote;

enum order_what {
    ORDER_START,
    ORDER_WRITE,
    ORDER_CLOSE_INPUT,
    ORDER_RESIZE,
    ORDER_SIGNAL,
    ORDER_END,
    ORDER_KILL,
    ORDER_KEEP,
    ORDER_RESUME,
    ORDER_GUESTS,   /* without a job: a foreground program has ended */
    ORDER_SHUTDOWN, /* no job */
};

struct order {
    struct mail mail;
    enum order_what what;
    struct proc *proc; /* a reference */
    bool obeyed;       /* START: otherwise freeing it reports that to proc_start() */
    struct buf bytes;  /* WRITE */
    int a;             /* RESIZE: rows, SIGNAL: number */
    int b;             /* RESIZE: columns */
};

int loop_start(struct err *err); /* does nothing when it runs */
/* Takes the order; frees it if no loop runs. */
void loop_send(struct order *order);
void loop_stop(void);

/* Below: proc thread only. */
#define LOOP_READ_BYTES ((size_t)64 * 1024)
char *loop_scratch(struct loop *loop); /* LOOP_READ_BYTES, for the caller until it returns */
struct zygote *loop_zygote(struct loop *loop);
int64_t loop_now_ms(void); /* real time, also under a virtual clock */
void loop_watch(struct loop *loop, struct job_fd *f, uint32_t events); /* adds or changes */
void loop_unwatch(struct loop *loop, struct job_fd *f); /* a hangup is not reported, either */
void loop_close(struct loop *loop, struct job_fd *f);
