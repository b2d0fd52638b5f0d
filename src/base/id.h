/*
 * Random ids, made reproducible by a seed in tests. Safe from any thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

#define ID_UUID_LEN 36

void id_seed(uint64_t seed); /* from here on ids repeat from run to run */
uint64_t id_random(void);
void id_fill(char *out, size_t n);              /* n characters of [0-9A-Za-z], no NUL */
void id_uuid(char out[static ID_UUID_LEN + 1]); /* version 4, lower case */
bool id_is_uuid(struct str s);                  /* of any version, in either case */
struct str id_make(char *out, size_t size, const char *prefix, size_t n); /* "toolu_" + n */
