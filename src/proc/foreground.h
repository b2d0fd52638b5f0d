/*
 * A program that has our terminal for a while: an editor.
 *
 * Unlike jobs (proc.h) it stays in our process group and session, so that the terminal's own
 * signals, Ctrl-Z and a new size among them, reach it as they reach us; and it is neither watched
 * nor confined. The caller has given the terminal away before, and finds its mode unchanged. Any
 * thread; waits.
 *
 * Processes that it leaves in a session of their own, as "emacsclient -a ''" starts a server, are
 * guests and outlive us. A guest is a child of ours when the program has ended, or when we end,
 * while no job has lost its warden: then it cannot belong to a job. In doubt jobs come first: a
 * process not known as a guest before a warden was killed is ended with the warden's job. A
 * clipboard's program, which stays until another one is asked, is run here for the same reason.
 */
#pragma once

#include <stdbool.h>

struct cancel;
struct err;

struct foreground {
    const char *const *argv; /* argv[0] is looked up in PATH */
    char *const *envp;
    const char *dir; /* NULL: ours */
    /* 0: it has the terminal. Else its standard input: it then has no terminal and a separate
     * session, and its output is dropped. */
    int input;
    struct cancel *cancel; /* ends it: SIGTERM, and when that is not enough SIGKILL; NULL: none */
};

/* *ret_code: the exit status, or 128 + signal. ERR_NOT_FOUND, ERR_IO. */
int foreground_run(const struct foreground *f, int *ret_code, struct err *err);

/* Whether there is one that is still waited for. Any thread. */
bool foreground_is_running(void);
