/*
 * Permission rules: "Tool" or "Tool(specifier)", and whether one speaks of a call.
 *
 * The language is that of reference settings: names with globs (`mcp__*`), Bash commands by exact
 * text, prefix (`npm run:*`, `npm run *`) and wildcard, paths in the style of .gitignore with four
 * anchors (`//abs`, `~/home`, `/source`, `./cwd`), hosts (`domain:*.example.com`) and single
 * parameters (`run_in_background:true`). A rule is parsed once and never changes.
 *
 * What a call is about is a struct rule_subject, filled in by its tool: rules know nothing of
 * tools. Edit rules speak of every tool that writes, Read rules of every tool that reads; a denied
 * Read is a denied write too.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

struct arena;
struct err;
struct json;
struct rule;
struct rule_command;
struct strv;

enum rule_list {
    RULE_ALLOW,
    RULE_ASK,
    RULE_DENY,
};

enum rule_about {
    ABOUT_NOTHING, /* only rules without a specifier can match */
    ABOUT_COMMAND, /* text: a shell command */
    ABOUT_PATH,    /* text: an absolute path without . and .. */
    ABOUT_HOST,    /* text: a host name */
    ABOUT_NAME,    /* text: what the tool calls its kind of thing (a skill, a subagent type) */
};

struct rule_subject {
    struct str tool; /* "Bash" */
    enum rule_about about;
    struct str text;
    bool writes;                        /* ABOUT_PATH: the call changes it */
    const char *real;                   /* ABOUT_PATH: with its links followed; NULL: not yet */
    const struct json *args;            /* for parameter rules; NULL: none */
    const struct rule_command *command; /* ABOUT_COMMAND: the parsed text, for callers that ask
                                           several rules; NULL: each one parses it again */
};

/* What "(…)" names in rules for this tool, as the tool's row states it (agent/tool.h); ABOUT_NAME
 * for tools that are not ours. The table of tools implements it (tools/tools.c). */
enum rule_about tool_specifier(struct str tool);

/* Where relative rules are anchored. All absolute. */
struct rule_place {
    const char *source; /* folder of "/x": where the rule was written */
    const char *cwd;    /* folder of "x" and "./x" */
    const char *home;   /* of "~/x" */
};

/* ERR_BAD_INPUT with the reason: "Bash(npm: a ')' is missing". */
int rule_parse(struct str text, enum rule_list list, const struct rule_place *place,
               struct rule **ret, struct err *err);
void rule_free(struct rule *r);
struct str rule_text(const struct rule *r); /* as it was written */

/* Whether the rule takes the whole tool, so that a deny removes it from the model's list. */
bool rule_covers_tool(const struct rule *r, struct str tool);

/* Whether a tool of ours or of Claude Code has this name, or may have: one of an MCP server. */
bool rule_knows_tool(struct str name);
/* Whether there is no tool of its name, and never was one: what it says counts for nothing.
 * *ret_near is the nearest name, or empty. Tools of MCP servers come and go, and count as there. */
bool rule_names_nobody(const struct rule *r, struct str *ret_near);

/* Whether it has "(…)" that names files: Read, Edit or Cd. */
bool rule_is_about_paths(const struct rule *r);
bool rule_is_about_reading(const struct rule *r); /* of these: Read */
/* Of a rule about paths: where all that it matches is found, as far as that is written out, and how
 * many levels below. 0: it is the very path; RULE_ANY_DEPTH: any number. */
#define RULE_ANY_DEPTH SIZE_MAX
const char *rule_reach(const struct rule *r, struct arena *arena, size_t *ret_depth);

/* For ABOUT_COMMAND: the whole command of a deny or ask rule matches when any of its parts does. An
 * allow rule speaks of one part at a time: see rules_allow_command(). */
bool rule_matches(const struct rule *r, const struct rule_subject *s);
/* The same for Read or, when it writes, Edit of an absolute path. */
bool rule_matches_path(const struct rule *r, struct str path, bool writes);

/* Every part of the command (shell/shell.h) is matched by one of the rules or is free by itself
 * (rule_command_is_read_only()). False for text that cannot be parsed with certainty, unless a rule
 * equals it. Files that redirections write are appended as they are written: the caller asks for
 * those as for edits. ret_rule is one that was needed, or NULL. */
bool rules_allow_command(struct rule *const *rules, size_t count, const struct rule_subject *s,
                         struct strv *ret_writes, const struct rule **ret_rule);

/* A rule for this very command, whatever is in it. */
bool rule_is_exact(const struct rule *r, struct str text);

/* --- commands ------------------------------------------------------------------------------- */

/* A command taken apart once, for many questions. The text must outlive it. */
struct rule_command *rule_command_new(struct str text);
void rule_command_free(struct rule_command *c);
void rule_command_freep(struct rule_command **c);

/* What keeps a rule for a part of it from allowing it: "a quote is not closed"; NULL: nothing. */
const char *rule_command_doubt(const struct rule_command *c);

/* Changes nothing and reads only: ls, cat, git status, … without redirection or options that write.
 * In doubt false. */
bool rule_command_is_read_only(const struct rule_command *c);
/* Some command in it that needs no rule reads a file whose name only the running shell knows. */
bool rule_command_hides_paths(const struct rule_command *c);
/* cp, tee, sed -i or another command that changes the files it names is given a name that only the
 * running shell knows: tee "$X". */
bool rule_command_hides_writes(const struct rule_command *c);
/* It needs the network by its nature, or acts on what no folder holds: git push, npm install,
 * docker, sudo, kill. A trial run could only fail. */
bool rule_command_reaches_out(const struct rule_command *c);
/* Some part of it is cd, pushd or popd: what runs after it may find itself elsewhere. */
bool rule_command_moves(const struct rule_command *c);

/* git runs in it, and cd: appends the destination, "/" for an unknown one. */
bool rule_command_git_moves(const struct rule_command *c, struct strv *ret_dirs);
/* The caller found that all of these belong to the repository it starts in: git runs with the same
 * settings there. */
void rule_command_stays(struct rule_command *c);

/* mkdir, touch, mv, cp, rm, rmdir, sed -i: what acceptEdits lets through inside working folders
 * where no sandbox shows what a command changes. Appends the paths it names; false when the command
 * is anything else. */
bool rule_command_is_file_work(const struct rule_command *c, struct strv *ret_paths);

/* rm or rmdir of /, a folder right below it, the home, cwd or a folder above it, or of a folder
 * that only a variable names. */
bool rule_command_is_critical(const struct rule_command *c, const char *cwd, const char *home);

/* A word that may be the name of a file. */
struct rule_file {
    struct str text; /* no NUL in it; lent by the command, or in the arena */
    bool writes;     /* it may be written, too */
    bool filters;    /* it only narrows what a search reads (grep --include='*.c'): as a text it
                      * counts like the others, but names no file of the folder */
    bool quotes;     /* the shell leaves its braces alone */
};
struct rule_files { /* a VEC */
    struct rule_file *ptr;
    size_t len;
    size_t cap;
};

/* Its words that may name files, as far as this can be determined: all words except known data, and
 * the sources of redirections; and of these, those that may be written: words of commands that do
 * not only read (git's are known), and the targets of redirections. After a cd each counts there,
 * too. Words with patterns are appended as they are: "*.c". For rules that forbid. */
void rule_command_files(const struct rule_command *c, struct arena *arena, struct rule_files *ret);

/* "npm test *" for "npm test --watch": what "always allow" would add, one rule for each part that
 * needs one. False when there is nothing sensible to suggest. */
bool rule_suggest(const struct rule_subject *s, struct strv *ret);
