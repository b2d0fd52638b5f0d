/*
 * Signals, read from a signalfd on a small thread.
 *
 * signals_start() must be the first call in main(), before any other thread: it blocks INT, TERM,
 * HUP, WINCH, TSTP, CONT and CHLD everywhere and ignores PIPE. CHLD is left to proc, the others are
 * passed to fn. Signals that were ignored at start (nohup) stay ignored. Children get the original
 * mask and default dispositions (proc.h).
 */
#pragma once

#include <signal.h>

struct err;

/* Runs on the signal thread and must not block (set a cancel token, send mail). */
typedef void (*signals_fn)(int signo, void *arg);

int signals_start(signals_fn fn, void *arg, struct err *err);
void signals_stop(void);
/* Redirects all signals to a temporary receiver (a screen). NULL restores that of signals_start();
 * on return the other one is not running and will not be called. Must not be called from either. */
void signals_divert(signals_fn fn, void *arg);
/* Adds a receiver of one signal (WINCH, for the owner of a pty). NULL removes it, with the same
 * guarantee. */
void signals_watch(int signo, signals_fn fn, void *arg);
/* Stops the process as SIGTSTP does; returns when it is continued. Any thread. */
void signals_suspend(void);
const sigset_t *signals_original(void); /* the mask before signals_start(); else empty */
