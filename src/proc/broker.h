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
 * flock(2) of a confined job, which locks only what the job may write; other files: ENOLCK.
 *
 * Files and programs, for an observed job: these calls are recorded (observe.h) and go on. Private
 * to this folder; plain system calls only.
 */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <sys/types.h>

struct confine_image;
struct seccomp_notif;

/* In the leader, before other filters: from now on flock(2) is asked for, connect(2) if sockets are
 * listed, and in an observed job what observe.h records. Sends what the warden listens on through
 * image->hand. False: errno says why. Where a filter cannot ask at all, a job that needs it for
 * flock(2) alone runs without. */
bool broker_install(const struct confine_image *image);

/* In the warden of a job that asks a lot: question and answer stay on one processor, which need not
 * wake up another. Before Linux 6.6 they do not. */
void broker_hurry(const struct confine_image *image);

/* In the warden: one question, answered. Returns false when there will be no more. */
bool broker_answer(struct confine_image *image);

/* broker_lock.c: answers now, or later by broker_lock_again(), which is to be called after this
 * many milliseconds; -1: no process waits for a lock. */
void broker_lock_answer(const struct confine_image *image, const struct seccomp_notif *asked);
int broker_lock_pause_ms(void);
void broker_lock_again(const struct confine_image *image);

/* ---- for fence.c ---- */

/* The known facts about a connect(2). Descriptors are -1 until they are set. */
struct broker_question {
    pid_t thread;
    int socket; /* a copy of the program's */
    int root;   /* the program's, to find files as it does */
    struct sockaddr_storage at;
    socklen_t len;
};

/* 0, or the errno that the program gets; the caller releases what was opened so far. */
int broker_read(struct broker_question *q, const struct seccomp_notif *asked);
void broker_question_release(struct broker_question *q);
/* The unix socket that was asked for, from the program's root; EACCES: an abstract name. */
int broker_path(const struct broker_question *q, char ret[static PATH_MAX]);
int broker_answer_connect(const struct confine_image *image, const struct seccomp_notif *asked);
int broker_open(int root, const char *path, unsigned resolve);
/* Without waiting for long. */
int broker_connect(int socket, const void *at, socklen_t len);
/* A copy of a descriptor of the program; -1. */
int broker_take_file(pid_t thread, int fd);

/* "/proc/", the number, and a name. */
void broker_proc_path(pid_t pid, const char *name, char ret[static 64]);
/* The process of a thread; 0: none. */
pid_t broker_process_of(pid_t thread);
