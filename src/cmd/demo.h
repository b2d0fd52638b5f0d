/*
 * The offline demo: the story of ./demo for users who have only the program.
 */
#pragma once

struct cancel;
struct cmd;
struct err;

/* A file of docs/examples, built in. */
struct demo_file {
    const char *path; /* "repair/stats.c" */
    const char *text;
};
extern const struct demo_file demo_files[]; /* ends with an empty row */

/* Plays it in the terminal, which the caller has given away, in a temporary folder and home that
 * are removed at the end. Any thread; waits until the user has left it, or the cancel is set.
 * *ret_code: its exit code. */
int demo_play(struct cancel *cancel, int *ret_code, struct err *err);
