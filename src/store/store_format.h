/*
 * The format of state.db: its number is kept in the file itself (PRAGMA user_version), and a file
 * of an older one is brought up step by step, all of them in one transaction.
 */
#pragma once

#include <stdint.h>

/* The n-th brings a database from format n to the next; the last one leads to the present. */
extern const char *const store_formats[];
extern const int64_t store_format_count;
