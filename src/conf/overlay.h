/*
 * Settings that a client brings while a session runs: documents whose null takes something away.
 */
#pragma once

#include "base/str.h"

struct buf;
struct err;
struct json;

/* The members of `change` in the place of those that `old` (an object, or empty) has; a null takes
 * one away. Below the first level nulls are left out. ERR_BAD_INPUT: no object. */
int overlay_merge(struct str old, const struct json *change, struct buf *ret, struct err *err);

/* Every value of `change` and every null, by its dotted key: value NULL. Stops at the first that
 * fails. ERR_BAD_INPUT: no object, or a name with a dot in it, which no dotted key can say. */
typedef int (*overlay_fn)(void *arg, const char *key, const struct json *value, struct err *err);
int overlay_each(const struct json *change, overlay_fn fn, void *arg, struct err *err);
