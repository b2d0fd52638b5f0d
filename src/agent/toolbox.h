/*
 * The tools of an agent: rows that are offered, schemas parsed, request entries written. Immutable
 * and shared by reference, so that what goes to the model stays the same to the byte; another set
 * of tools is another toolbox (agent_set_toolbox()). A tool may be deferred: it can be found and
 * called, but is no part of the request. Any thread.
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
    const struct tool_entry *const *table; /* NULL-terminated; NULL: none */
    /* Rows that are offered by another toolbox already, and are shared with it: a child's tools are
     * some of its parent's. Those of its answer's form (TOOL_OWED) are left out. NULL: none. */
    struct toolbox *from;
    /* The names that may be used; NULL: all. Those of others (rule_knows_tool()) are passed over,
     * unknown ones are an error. */
    const struct strv *only;
    const struct strv
        *aliases; /* name, the tool that is meant, name, …; NULL: none. One that a
                     row is for is not looked at again. Children have their parent's */
    /* Another choice among the rows; NULL: all. */
    bool (*wants)(void *arg, const struct tool_entry *e);
    void *wants_arg;
    const struct conf *conf;
    const struct provider *provider;
    struct permit *permit; /* NULL: offers everything */
    /* Rows that are made at run time, offered whatever `only` says. They are copied; what their arg
     * points to lives until release() is called, with the last reference to the toolbox, or before
     * a failing toolbox_new() returns. */
    const struct tool_entry *more;
    size_t more_count;
    /* Rows with TOOL_DEFERRED stay out of the request, and the rows that find and execute them are
     * offered: as `only` allows, or always (searches). */
    bool defers, searches;
    void (*release)(void *arg); /* NULL: nothing to release */
    void *release_arg;
};

#define TOOLBOX_MAX 16384 /* tools; more are an error */

/* ERR_BAD_INPUT: an unknown name (with the nearest one) or that two tools have, or a schema that is
 * not usable. ERR_TOO_BIG: too many tools. */
int toolbox_new(const struct toolbox_spec *spec, struct toolbox **ret, struct err *err);
struct toolbox *toolbox_ref(struct toolbox *t);
void toolbox_unref(struct toolbox *t); /* NULL is fine */

/* The row of StructuredOutput: the answer has the form that a script wants, and the turn must not
 * end without it. Its strings live in the arena. ERR_BAD_INPUT: no schema, or one that cannot be
 * checked. */
int tool_structured(struct str schema, struct arena *arena, struct tool_entry *ret,
                    struct err *err);

const struct llm_tool *toolbox_llm(const struct toolbox *t, size_t *ret_count);
/* Deferred ones too. NULL when the session has no such tool; Task is Agent, and aliases count. */
const struct tool_entry *toolbox_find(const struct toolbox *t, struct str name);
const struct json *toolbox_schema(const struct toolbox *t, const struct tool_entry *e);
/* The tool that a turn must not end without (TOOL_OWED); NULL: none. */
const struct tool_entry *toolbox_owed(const struct toolbox *t);
struct str toolbox_nearest(const struct toolbox *t, struct str name); /* or empty */
struct str toolbox_names(const struct toolbox *t); /* JSON array, for system/init */
size_t toolbox_bytes(const struct toolbox *t);     /* of names, texts and schemas in a request */

/* Deferred tools, by server and name; empty where the model cannot search. */
const struct tool_entry *const *toolbox_extra(const struct toolbox *t, size_t *ret_count);
bool toolbox_is_extra(const struct toolbox *t, const struct tool_entry *e);
uint64_t toolbox_serial(const struct toolbox *t); /* no other has the same */
bool toolbox_searches(const struct toolbox *t);   /* it has the rows for that */
/* Of them, in the same order; made when it is first asked for. */
const struct word_index *toolbox_index(struct toolbox *t);
