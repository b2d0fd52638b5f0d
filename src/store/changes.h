/*
 * Notices that some process has changed the store. store_watch() (store.h) reports what this one
 * does; this covers all, without saying what has changed.
 */
#pragma once

#include <stdint.h>

struct cancel;
struct err;

/* A descriptor for store_changes_wait(); -1 = the folder cannot be watched. */
int store_changes_open(const char *home);
/* Returns after the next change, or earlier: the caller looks itself. With fd -1 it returns now and
 * then. ERR_CANCELLED. */
int store_changes_wait(int fd, struct cancel *cancel, struct err *err);
