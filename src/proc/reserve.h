/*
 * The reserve: a warden that has come back from its job and waits for the next one.
 *
 * The thread that starts an unsandboxed job takes it and sends it the launch directly, so that
 * consecutive commands start without waking the proc thread first, which is told about the job
 * while it is starting. Until then the warden is lent: known as ours, so that it is not mistaken
 * for a stray, and the proc thread does not end. There is at most one, waiting or lent.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

struct launch;
struct mailbox;

struct reserve_warden {
    pid_t pid;              /* 0: none */
    int socket;             /* our end */
    struct mailbox *orders; /* of its loop; a taken one has a reference */
};

/* Proc thread. False: there is already one, and the caller keeps this one. */
bool reserve_put(const struct reserve_warden *w);

/* Any thread. Report a taken one to its loop by an order. False: there is none. */
bool reserve_take(struct reserve_warden *ret);
/* Sends it the launch; false: it was killed. */
bool reserve_launch(const struct reserve_warden *w, const struct launch *l);

/* Proc thread: the lent one has its job, or was ended. */
void reserve_settle(void);
bool reserve_is(pid_t pid); /* waiting or lent */
bool reserve_is_lent(void);

/* Proc thread, at its end: ends a waiting one. False: it is lent, and an order will arrive. */
bool reserve_close(const struct mailbox *orders);

void reserve_end(pid_t pid, int socket); /* kills and reaps it */
