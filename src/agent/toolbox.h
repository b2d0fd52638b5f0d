/*
 * The tools of an agent: the rows that are offered, parsed schemas, request entries. Immutable and
 * shared by reference, so that every request has the same bytes; a different set of tools is a
 * different toolbox (agent_set_toolbox()). A deferred tool can be found and called, but is not part
 * of the request. Any thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

struct arena;
struct conf;
struct err;
struct json;
struct llm_tool;
struct permit;
struct provider;
struct strv;
struct tool_entry;
struct toolbox;
struct word_index;

struct toolbox_spec {
    const struct tool_entry *const *table; /* NULL-terminated; may be NULL */
    /* Also take rows from this toolbox and share them: a child's tools are some of its parent's.
     * TOOL_OWED rows are not taken. May be NULL. */
    struct toolbox *from;
    bool shows_built_in; /* built-in rows that `from` defers are part of the request here */
    /* The names to use; NULL = all. Names of tools of other programs (rule_knows_tool()) are
     * ignored, other unknown ones are an error. */
    const struct strv *only;
    const struct strv
        /* Pairs: alias, name of the tool; may be NULL. A row with the alias's own name takes
         * precedence. A child uses its parent's. */
        *aliases;
    /* Selects among the rows; NULL = all. */
    bool (*wants)(void *arg, const struct tool_entry *e);
    void *wants_arg;
    const struct conf *conf;
    const struct provider *provider;
    struct permit *permit; /* NULL = offer everything */
    /* Rows made at run time, offered regardless of `only`. They are copied; their arg must stay
     * valid until release() is called, which happens when the last reference is dropped or before
     * toolbox_new() fails. */
    const struct tool_entry *more;
    size_t more_count;
    /* defers: TOOL_DEFERRED rows are not part of the request, and the rows that find and run them
     * are offered if `only` allows it; searches: offered in any case. */
    bool defers, searches;
    void (*release)(void *arg); /* may be NULL */
    void *release_arg;
};

#define TOOLBOX_MAX 16384 /* tools; more are an error */

/* ERR_BAD_INPUT: a name that is unknown (the message has the nearest one) or used twice, or an
 * invalid schema. ERR_TOO_BIG: too many tools. */
int toolbox_new(const struct toolbox_spec *spec, struct toolbox **ret, struct err *err);
struct toolbox *toolbox_ref(struct toolbox *t);
void toolbox_unref(struct toolbox *t); /* NULL is fine */

/* Makes the row of StructuredOutput, for a script that requires an answer of a certain form: the
 * turn must not end without it. Its strings are in the arena. ERR_BAD_INPUT: not a schema, or one
 * that cannot be checked. */
int tool_structured(struct str schema, struct arena *arena, struct tool_entry *ret,
                    struct err *err);

const struct llm_tool *toolbox_llm(const struct toolbox *t, size_t *ret_count);
/* Also finds deferred tools. NULL if there is none. "Task" means Agent, and aliases are resolved.
 */
const struct tool_entry *toolbox_find(const struct toolbox *t, struct str name);
const struct json *toolbox_schema(const struct toolbox *t, const struct tool_entry *e);
/* The tool that must be called before the turn may end (TOOL_OWED), or NULL. */
const struct tool_entry *toolbox_owed(const struct toolbox *t);
struct str toolbox_nearest(const struct toolbox *t, struct str name); /* or empty */
struct str toolbox_names(const struct toolbox *t); /* JSON array, for system/init */
size_t toolbox_bytes(const struct toolbox *t);     /* of names, texts and schemas in a request */

/* Deferred tools, sorted by server and name; none if the model cannot search. */
const struct tool_entry *const *toolbox_extra(const struct toolbox *t, size_t *ret_count);
bool toolbox_is_extra(const struct toolbox *t, const struct tool_entry *e);
uint64_t toolbox_serial(const struct toolbox *t); /* unique for each toolbox */
bool toolbox_searches(const struct toolbox *t);   /* it has the rows for searching */
/* An index of the deferred tools, in the same order; built at the first call. */
const struct word_index *toolbox_index(struct toolbox *t);
