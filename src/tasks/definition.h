/*
 * Agent definitions: the types that the Agent tool can start.
 *
 *   agents/.../NAME.md in the folders of every level (conf/places.h): frontmatter, then the system
 *   prompt; --agents and the agents of an SDK, as JSON; built-in ones
 *
 * If several have the same name, the order of precedence is: managed, --agents, project (nearest
 * folder first), user, plugins, built-in; and our own folders before Claude's. An invalid file is
 * skipped and recorded in problems; an invalid value is ignored, an unknown key is noted.
 *
 * A list is read once and immutable; definitions_are_fresh() checks whether it is still current.
 * Any thread.
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
#define DEFINITION_MAX_ENTRIES 5000 /* files and folders that are examined */

enum definition_source { /* later ones take precedence */
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
    const char *path; /* NULL if not from a file */
    const struct definition *shadowed_by;
    bool is_read_only;    /* its calls must not change anything */
    bool changes_ignored; /* except files that git ignores, such as what a build makes */
    bool is_worker;       /* the type of coordinator mode */
    bool has_tools;       /* tools lists all tools that it may use */
    struct strv tools, disallowed;
    struct strv starts; /* the types that it may start; empty = all */
    struct str model;   /* empty or "inherit" = the parent's */
    enum effort effort;
    struct str mode;    /* permissionMode; or empty */
    int64_t max_steps;  /* 0 = no limit */
    bool in_background; /* always runs in the background */
    bool in_worktree;   /* isolation: worktree */
    bool omits_instructions;
    struct str color, initial_prompt, memory;
    struct strv skills;
    const struct json *hooks;   /* NULL: none */
    const struct json *servers; /* its own MCP servers, {"name": entry}; NULL: none */
    struct strv server_names;   /* of the session's that it names */
};

struct definition_stamp;

struct definitions {
    atomic_int refs;
    struct arena arena;
    VEC(struct definition *)
    list; /* sorted by name; of several with the same name, the effective one comes first */
    struct strv problems; /* "path:line: the problem" */
    struct strv notes;    /* the same for harmless ones */
    VEC(struct definition_stamp) stamps;
    size_t entries;
    const struct plugins *plugins; /* as of that time */
};

/* more: a JSON object with an SDK's definitions, or empty. ERR_BAD_INPUT: --agents or `more` is not
 * an object of definitions. */
int definitions_read(const struct conf *conf, struct str more, bool has_built_in,
                     struct definitions **ret, struct err *err);
bool definitions_are_fresh(const struct definitions *l, const struct conf *conf);
/* The only type that there is in coordinator mode, and in no other: "worker". */
struct definitions *definitions_of_workers(void);
struct definitions *definitions_ref(struct definitions *l);
void definitions_unref(struct definitions *l); /* NULL is fine */
void definitions_unrefp(struct definitions **l);
const struct definition *definitions_find(const struct definitions *l,
                                          struct str name); /* or NULL */

/* Reads one file to check it. NULL if it is invalid; l has the problem. */
struct definition *definition_read_file(struct definitions *l, const char *path,
                                        enum definition_source source, bool is_trusted);
/* The same from the members of a JSON object: {"description","prompt","tools",…}. */
struct definition *definition_read_json(struct definitions *l, struct str name,
                                        const struct json *v, enum definition_source source);
void definitions_add(struct definitions *l, struct definition *d);

/* "- name: description (Tools: Read, Grep)" */
void definition_write_line(const struct definition *d, struct buf *ret);
