/*
 * A program on a terminal of our own: a pty with libvterm at the other end (tests/glass), in a
 * folder that is removed again. Fails the test by exit(1), with the screen. Main thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <termios.h>

#include "base/str.h"
#include "base/strv.h"

struct glass;

struct play {
    char dir[64]; /* the home; work below it is where the program runs */
    int lock;     /* of it */
    struct strv argv, env;
    pid_t pid;
    int master, slave; /* ours, so that the terminal outlives the program */
    struct termios mode;
    struct glass *glass;
    struct str background; /* told when asked: "rgb:…" */
    size_t asked;          /* bytes in which that was looked for */
    const char *name;      /* for messages */
    int line;
};

#define PLAY_PATIENCE_MS 60000

void play_stage(struct play *p); /* the folder and an environment */
void play_start(struct play *p, int cols, int rows);
/* Reads what comes within so long; false: nothing did. */
bool play_pump(struct play *p, int wait_ms);
void play_type(struct play *p, struct str bytes);
void play_until_read(struct play *p); /* all that was typed */
void play_resize(struct play *p, int cols, int rows);
/* Until the screen or what has scrolled away has the text, or no longer has it. */
void play_wait(struct play *p, struct str text, bool gone);
/* Until nothing has come for so long. */
void play_calm(struct play *p, int quiet_ms);
/* Waits for the end: the code of exit, or -signal. */
int play_end(struct play *p);
/* The mode is as before, the cursor is visible, and no key was printed or left in a file. */
void play_check_end(struct play *p);
void play_stop(struct play *p); /* kills it where it still runs, removes the folder */
_Noreturn void play_fail(struct play *p, const char *fmt, ...) PRINTF_LIKE(2, 3);
