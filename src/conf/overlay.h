/*
 * Settings set by a client during a session: documents in which null removes a value.
 */
#pragma once

#include "base/str.h"

struct buf;
struct err;
struct json;

/* Replaces members of `old` (an object, or empty) by those of `change`; null removes one. Below the
 * first level nulls are dropped. ERR_BAD_INPUT: not an object. */
int overlay_merge(struct str old, const struct json *change, struct buf *ret, struct err *err);

/* Calls fn for every value and every null (value NULL) of `change` with its dotted key; stops at
 * the first failure. ERR_BAD_INPUT: not an object, or a name with a dot, which no dotted key can
 * express. */
typedef int (*overlay_fn)(void *arg, const char *key, const struct json *value, struct err *err);
int overlay_each(const struct json *change, overlay_fn fn, void *arg, struct err *err);
