/*
 * The user's own commands and skills: Markdown files that become text for the model.
 *
 *   commands   NAME.md in a folder `commands` of any level (conf/places.h); a file in a subfolder
 *              has the folder in its name: commands/web/test.md is /web:test
 *   skills     SKILL.md in a folder of `skills`; the folder's name is the skill's
 *
 * Managed ones win over the user's, those over the project's; tenax's over Claude's, a deeper
 * folder over an upper one, a skill over a command. The name of a built-in command is never taken.
 * Those of a plugin are PLUGIN:NAME. What loses or cannot be used is named in notes. A file whose
 * frontmatter does not parse can be run by the user, but never by the model: the frontmatter might
 * have forbidden that.
 *
 * The folders near files that the session has read count too: a skill of sub/.claude/skills joins
 * when something below sub was read.
 *
 * A list is made once and never changes; callers that want the present one call own_is_fresh() (a
 * stat() for each folder and file) and makes a new one. Any thread.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

#include "base/arena.h"
#include "base/str.h"
#include "base/strv.h"
#include "base/vec.h"
#include "conf/source.h"
#include "llm/effort.h"

struct conf;
struct err;
struct json;
struct plugin;
struct plugins;

#define OWN_MAX_FILE ((size_t)1 << 20)
#define OWN_MAX_COMMANDS 1000
#define OWN_MAX_ENTRIES 5000 /* of folders that are looked through */
#define OWN_MAX_DEPTH 8
#define OWN_MAX_SUMMARY ((size_t)1536) /* as others cut it */

struct own_command {
    struct str name;    /* "web:test" */
    struct str hint;    /* argument-hint */
    struct str summary; /* description, else the first line */
    const char *path;
    const char *dir; /* of a skill: its folder; else where the file is */
    enum source_level level;
    bool is_skill;
    bool is_hidden;              /* user-invocable: false, or switched off */
    bool is_users;               /* the model may neither see nor call it */
    bool is_broken;              /* the frontmatter does not parse: it grants nothing */
    bool is_name_only;           /* listed without its description */
    bool forks;                  /* context: fork: it runs as a subagent */
    struct str agent;            /* the type of that subagent; empty: general-purpose */
    struct str alias;            /* the frontmatter's name, when it differs from the folder's */
    struct str line;             /* for the model: "description - when_to_use" */
    struct strv paths;           /* globs: listed once a matching file was read; none: always */
    const struct plugin *plugin; /* whose it is; NULL: no plugin's */
    const char *near;            /* "sub/.claude/skills" that a file read has brought; NULL: none */
    struct str model;
    enum effort effort;
    struct strv allow, deny;  /* allowed-tools, disallowed-tools: rules */
    struct strv names;        /* of arguments */
    struct str shell;         /* of its commands; empty: bash */
    const struct json *hooks; /* of the frontmatter; NULL: none */
    struct str text;          /* all of the file, in a list that keeps texts; else NULL */
};

struct own_stamp {
    const char *path;
    struct timespec mtime;
    off_t size;
    bool is_folder;
};

struct own_list {
    atomic_int refs;
    struct arena arena; /* of all slices */
    VEC(struct own_command) commands;
    const char *project;           /* its folder, with links followed */
    const struct plugins *plugins; /* of then */
    bool keeps_texts;
    struct strv notes;
    VEC(struct own_stamp) stamps;
    size_t entries;
};

/* keeps_texts: what a command says is what it said then, whatever becomes of its file. near:
 * folders whose own skills count, because files below them were read; NULL: none. */
struct own_list *own_read(const struct conf *conf, const struct strv *near, bool keeps_texts);
bool own_is_fresh(const struct own_list *l, const struct conf *conf, const struct strv *near);
/* The files that say something else in the other list, are new in it or gone; both keep texts. */
void own_changed(const struct own_list *from, const struct own_list *to, struct strv *ret_paths);
struct own_list *own_list_ref(struct own_list *l);
void own_list_unref(struct own_list *l); /* NULL is fine */
void own_list_unrefp(struct own_list **l);
/* By name, else by a skill's alias; NULL: there is none. */
const struct own_command *own_find(const struct own_list *l, struct str name);
/* It grants permissions or brings hooks, so the model must not call it unasked. */
bool own_grants(const struct own_command *c);

/* What a command says, without its frontmatter; read anew unless its list keeps texts. */
int own_body(const struct own_command *c, struct arena *arena, struct str *ret, struct err *err);
