/*
 * The format of state.db: its number is stored in the file (PRAGMA user_version), and a file with
 * an older format is upgraded step by step in one transaction.
 */
#pragma once

#include <stdint.h>

/* The n-th string upgrades a database from format n to the next. */
extern const char *const store_formats[];
extern const int64_t store_format_count;
