/*
 * What the kernel asks the warden about while a call of the job waits.
 *
 * Unix sockets by their paths, for a confined job: the kernel stops each connect(2) of it and has
 * the warden decide.
 *
 * No filter can look at an address, because it lies in the program's memory, where another thread
 * may change it after the look. So no call is ever let through: the warden copies socket and
 * address once, finds out which file is meant as the program sees it, and connects that socket to
 * that very file, if it is one of the list, which the job cannot put anything else in the place of
 * (confine_map_socket()); to others: EACCES. Sockets of other families are
 * connected to the address that was copied.
 *
 * A connect that has to wait longer than some hundredths of a second, because a server does not
 * accept, fails: EAGAIN, or ETIMEDOUT.
 *
 * Files and programs, for an observed job: these calls are recorded (observe.h) and go on. Private
 * to this folder; plain system calls only.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

struct confine_image;

/* In the leader, before other filters: connect(2) is asked for from now on if sockets are listed,
 * and in an observed job what observe.h records. Sends what the warden listens on through
 * image->hand. False: errno says why. */
bool broker_install(const struct confine_image *image);

/* In the warden of a job that asks a lot: question and answer stay on one processor, which need not
 * wake up another. Before Linux 6.6 they do not. */
void broker_hurry(const struct confine_image *image);

/* In the warden: one question, answered. Returns false when there will be no more. */
bool broker_answer(const struct confine_image *image);

/* "/proc/", the number, and a name. */
void broker_proc_path(pid_t pid, const char *name, char ret[static 64]);
/* The process of a thread; 0: none. */
pid_t broker_process_of(pid_t thread);
