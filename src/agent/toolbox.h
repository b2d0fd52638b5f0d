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

struct toolbox_spec {
    const struct tool_entry *const *table; /* NULL-terminated */
    /* The names that may be used; NULL: all. Those of others (rule_knows_tool()) are passed over,
     * unknown ones are an error. */
    const struct strv *only;
    const struct conf *conf;
    const struct provider *provider;
    struct permit *permit; /* NULL: offers everything */
    /* JSON schema of the answer a script wants: it becomes the tool StructuredOutput, which the
     * model must call to end its turn. Empty: none. */
    struct str output_schema;
};

/* ERR_BAD_INPUT: a name nobody knows (with the nearest one), or a schema that is not usable. */
int toolbox_new(const struct toolbox_spec *spec, struct toolbox **ret, struct err *err);
void toolbox_free(struct toolbox *t);

const struct llm_tool *toolbox_llm(const struct toolbox *t, size_t *ret_count);
/* NULL when the session has no such tool; Task is Agent. */
const struct tool_entry *toolbox_find(const struct toolbox *t, struct str name);
const struct json *toolbox_schema(const struct toolbox *t, const struct tool_entry *e);
/* The row of StructuredOutput; NULL when no schema was given. */
const struct tool_entry *toolbox_structured(const struct toolbox *t);
struct str toolbox_nearest(const struct toolbox *t, struct str name); /* or empty */
struct str toolbox_names(const struct toolbox *t); /* JSON array, for system/init */
size_t toolbox_bytes(const struct toolbox *t);     /* of names, texts and schemas in a request */
