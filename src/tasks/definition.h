/*
 * Definitions of agents: the types that the Agent tool can start.
 *
 *   agents/.../NAME.md in the homes of every level (conf/places.h): frontmatter, then the system
 *   prompt; --agents and the agents of an SDK, as JSON; those that are built in
 *
 * By name, managed ones win over --agents, then the project's (the nearest folder), the user's,
 * those of plugins, the built-in ones; ours over Claude's. A file that cannot be used is left out,
 * with its line in problems; a wrong value is dropped, an unknown key is noted.
 *
 * A list is read once and never changes; definitions_are_fresh() checks whether it is current. Any
 * thread.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/str.h"
#include "base/strv.h"
#include "base/vec.h"
#include "llm/effort.h"

struct buf;
struct conf;
struct err;
struct json;
struct plugins;

#define DEFINITION_MAX_FILE ((size_t)1 << 20)
#define DEFINITION_MAX 1000
#define DEFINITION_MAX_DEPTH 8
#define DEFINITION_MAX_ENTRIES 5000 /* of folders that are looked through */

enum definition_source { /* a higher one wins */
    DEFINITION_BUILT_IN,
    DEFINITION_PLUGIN,
    DEFINITION_USER,
    DEFINITION_PROJECT,
    DEFINITION_FLAG, /* --agents, SDKs */
    DEFINITION_MANAGED,
};
const char *definition_source_name(enum definition_source s); /* "built-in" */

struct definition {
    const char *name;
    struct str description;
    struct str prompt;
    enum definition_source source;
    const char *path; /* NULL: of no file */
    const struct definition *shadowed_by;
    bool is_read_only; /* its calls never change anything */
    bool has_tools;    /* tools names all that it may use */
    struct strv tools, disallowed;
    struct strv starts; /* the types that it may start; empty: all */
    struct str model;   /* empty or "inherit": the parent's */
    enum effort effort;
    struct str mode;    /* permissionMode; or empty */
    int64_t max_steps;  /* 0: no limit */
    bool in_background; /* always */
    bool in_worktree;   /* isolation: worktree */
    bool omits_instructions;
    struct str color, initial_prompt, memory;
    struct strv skills;
    const struct json *hooks, *mcp_servers; /* NULL: none */
};

struct definition_stamp;

struct definitions {
    atomic_int refs;
    struct arena arena;
    VEC(struct definition *) list; /* by name; of one name the one that counts comes first */
    struct strv problems;          /* "path:line: the problem" */
    struct strv notes;             /* the same, of what does no harm */
    VEC(struct definition_stamp) stamps;
    size_t entries;
    const struct plugins *plugins; /* of then */
};

/* more: a JSON object of an SDK's definitions, or empty. ERR_BAD_INPUT: --agents or `more` is no
 * object of definitions. */
int definitions_read(const struct conf *conf, struct str more, bool has_built_in,
                     struct definitions **ret, struct err *err);
bool definitions_are_fresh(const struct definitions *l, const struct conf *conf);
struct definitions *definitions_ref(struct definitions *l);
void definitions_unref(struct definitions *l); /* NULL is fine */
void definitions_unrefp(struct definitions **l);
const struct definition *definitions_find(const struct definitions *l,
                                          struct str name); /* or NULL */

/* One file, for a look at it before it is used: NULL, and the problem in l. */
struct definition *definition_read_file(struct definitions *l, const char *path,
                                        enum definition_source source, bool is_trusted);
/* The same as members of an object: {"description","prompt","tools",…}. */
struct definition *definition_read_json(struct definitions *l, struct str name,
                                        const struct json *v, enum definition_source source);
void definitions_add(struct definitions *l, struct definition *d);

/* "- name: description (Tools: Read, Grep)" */
void definition_write_line(const struct definition *d, struct buf *ret);
