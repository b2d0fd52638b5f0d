/*
 * The tools of one session: rows of the table that are offered, schemas parsed, request entries
 * written. Made once and immutable after, so that what goes to the model stays the same to the
 * byte.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/str.h"

struct conf;
struct err;
struct json;
struct llm_tool;
struct permit;
struct provider;
struct strv;
struct tool_entry;
struct toolbox;

/* table: NULL-terminated. only: the names that may be used (NULL: all; unknown ones fail with
 * ERR_BAD_INPUT and the nearest name). */
int toolbox_new(const struct tool_entry *const *table, const struct strv *only,
                const struct conf *conf, const struct provider *provider, struct permit *permit,
                struct toolbox **ret, struct err *err);
void toolbox_free(struct toolbox *t);

const struct llm_tool *toolbox_llm(const struct toolbox *t, size_t *ret_count);
/* NULL when the session has no such tool; Task is Agent. */
const struct tool_entry *toolbox_find(const struct toolbox *t, struct str name);
const struct json *toolbox_schema(const struct toolbox *t, const struct tool_entry *e);
struct str toolbox_nearest(const struct toolbox *t, struct str name); /* or empty */
struct str toolbox_names(const struct toolbox *t); /* JSON array, for system/init */
size_t toolbox_bytes(const struct toolbox *t);     /* of names, texts and schemas in a request */
