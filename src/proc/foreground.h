/*
 * Runs a program that uses our terminal for a while, such as an editor.
 *
 * Unlike jobs (proc.h) it stays in our process group and session, so that the terminal's signals,
 * including Ctrl-Z and size changes, reach it as they reach us; it is neither watched nor
 * sandboxed. The caller must have released the terminal before. Any thread; waits.
 *
 * Processes that it leaves in their own session, as "emacsclient -a ''" leaves a server, are guests
 * and outlive us. A guest is a process that is our child when the program has ended, or when we
 * end, while no job has lost its warden: then it cannot belong to a job. In doubt it belongs to a
 * job: a process that was not known as a guest before a warden was killed is ended with the
 * warden's job. Clipboard programs, which keep running until another one takes over, are started
 * here for the same reason.
 */
#pragma once

#include <stdbool.h>

struct cancel;
struct err;

struct foreground {
    const char *const *argv; /* argv[0] is looked up in PATH */
    char *const *envp;
    const char *dir; /* NULL = ours */
    /* 0 = it uses the terminal. Otherwise its standard input: it gets no terminal, its own session,
     * and its output is dropped. */
    int input;
    struct cancel *cancel; /* ends it by SIGTERM, if necessary SIGKILL; may be NULL */
};

/* *ret_code: the exit status, or 128 + signal. ERR_NOT_FOUND, ERR_IO. */
int foreground_run(const struct foreground *f, int *ret_code, struct err *err);

/* Whether any is being waited for. Any thread. */
bool foreground_is_running(void);
