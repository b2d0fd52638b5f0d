/*
 * Where a command that is no session runs programs: the folders of one and its sandbox, without an
 * agent. Main thread.
 */
#pragma once

#include <stdbool.h>

struct conf;
struct err;
struct permit;
struct sandbox;
struct strv;
struct workspace;

struct cmd_place {
    const struct conf *conf; /* lent */
    struct workspace *workspace;
    struct permit *permit; /* for the folders it adds */
    struct sandbox *sandbox;
};

/* insists: nothing runs where nothing confines. notes: for the user. conf outlives it. */
int place_make(struct cmd_place *p, const struct conf *conf, const char *dir, bool insists,
               struct strv *ret_notes, struct err *err);
void place_release(struct cmd_place *p); /* one that was never made is fine */
