/*
 * Signals, read from one signalfd on one small thread.
 *
 * signals_start() runs first in main(), before any other thread: it blocks INT, TERM, HUP, WINCH,
 * TSTP, CONT and CHLD everywhere and ignores PIPE. CHLD is left to proc, the others reach fn.
 * Signals ignored at our start (nohup) stay ignored. Children get the original mask and default
 * dispositions back (proc.h).
 */
#pragma once

#include <signal.h>

struct err;

/* fn(signo, arg) runs on the signal thread; it must not block (set a cancel token, send mail). */
typedef void (*signals_fn)(int signo, void *arg);

int signals_start(signals_fn fn, void *arg, struct err *err);
void signals_stop(void);
/* A temporary receiver that handles signals better (a screen): its function gets them all. NULL:
 * that of signals_start() again, and when this returns the other one is not running and never will.
 * Not from within either. */
void signals_divert(signals_fn fn, void *arg);
/* An additional receiver of one signal (a pty's keeper, of WINCH). NULL: none, under the same
 * promise. */
void signals_watch(int signo, signals_fn fn, void *arg);
/* Stops the process as SIGTSTP does; returns when it is continued. Any thread. */
void signals_suspend(void);
const sigset_t *signals_original(void); /* the mask before signals_start(); else empty */
