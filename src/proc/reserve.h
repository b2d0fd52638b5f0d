/*
 * The reserve: a warden that has come back from its job and waits for the next one.
 *
 * The thread that starts an unconfined job takes it and sends it the launch directly, so that
 * consecutive commands begin without waking the proc thread first, which learns of the job while it
 * starts already. Until then the warden is lent: known as ours, so that it is not taken for a
 * stray, and the proc thread does not end. There is one at most, waiting or lent.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

struct launch;
struct mailbox;

struct reserve_warden {
    pid_t pid;              /* 0: none */
    int socket;             /* our end */
    struct mailbox *orders; /* of the loop that it belongs to; in a taken one a reference */
};

/* Proc thread. False: there is one already, and this one stays yours. */
bool reserve_put(const struct reserve_warden *w);

/* Any thread. Report a taken one to its loop, by an order. False: none waits. */
bool reserve_take(struct reserve_warden *ret);
/* Sends it the launch; false: it was killed. */
bool reserve_launch(const struct reserve_warden *w, const struct launch *l);

/* Proc thread: the lent one has its job, or was ended. */
void reserve_settle(void);
bool reserve_is(pid_t pid); /* waiting or lent */
bool reserve_is_lent(void);

/* Proc thread, at its end: ends what waits. False: it is lent, and an order is on its way. */
bool reserve_close(const struct mailbox *orders);

void reserve_end(pid_t pid, int socket); /* kills and reaps it */
