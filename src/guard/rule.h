/*
 * Permission rules, "Tool" or "Tool(specifier)", and matching them with calls.
 *
 * The syntax is that of the reference: names with globs (`mcp__*`), Bash commands by exact text,
 * prefix (`npm run:*`, `npm run *`) and wildcard, paths like in .gitignore with four anchors
 * (`//abs`, `~/home`, `/source`, `./cwd`), hosts (`domain:*.example.com`) and single parameters
 * (`run_in_background:true`). A rule is parsed once and immutable.
 *
 * The tool describes a call by a struct rule_subject; rules know nothing of tools. Edit rules apply
 * to every tool that writes, Read rules to every tool that reads; a denied Read is a denied write,
 * too.
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
    ABOUT_NOTHING, /* matched only by rules without a specifier */
    ABOUT_COMMAND, /* text: a shell command */
    ABOUT_PATH,    /* text: an absolute path without . and .. */
    ABOUT_HOST,    /* text: a host name */
    ABOUT_NAME,    /* text: the tool's name for its object (a skill, a subagent type) */
};

struct rule_subject {
    struct str tool; /* "Bash" */
    enum rule_about about;
    struct str text;
    bool writes;                        /* ABOUT_PATH: the call changes it */
    const char *real;                   /* ABOUT_PATH: with links resolved; NULL = not known yet */
    const struct json *args;            /* for parameter rules; or NULL */
    const struct rule_command *command; /* ABOUT_COMMAND: the parsed text, if several rules are
                                           checked; NULL = each one parses it */
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
struct str rule_text(const struct rule *r); /* as written */

/* Whether the rule covers the whole tool, so that a deny rule removes it from the model's list. */
bool rule_covers_tool(const struct rule *r, struct str tool);

/* Whether a tool of ours or of Claude Code has this name, or an MCP server might have one. */
bool rule_knows_tool(struct str name);
/* Whether no tool has ever had this name, so that the rule has no effect. *ret_near is the nearest
 * name, or empty. Tools of MCP servers may exist at some time and count as known. */
bool rule_names_nobody(const struct rule *r, struct str *ret_near);

/* Whether it has "(…)" that names files: Read, Edit or Cd. */
bool rule_is_about_paths(const struct rule *r);
bool rule_is_about_reading(const struct rule *r); /* for those: Read */
/* For a rule about paths: the longest literal path that has all its matches, and how many levels
 * below it they are. 0: exactly that path; RULE_ANY_DEPTH: any number. */
#define RULE_ANY_DEPTH SIZE_MAX
const char *rule_reach(const struct rule *r, struct arena *arena, size_t *ret_depth);

/* The host of a rule WebFetch(domain:HOST) as written; empty for other rules. */
struct str rule_host(const struct rule *r);

/* For ABOUT_COMMAND: a deny or ask rule matches if any part of the command does. An allow rule
 * covers one part at a time: see rules_allow_command(). */
bool rule_matches(const struct rule *r, const struct rule_subject *s);
/* The same for Read or, if writes, Edit of an absolute path. */
bool rule_matches_path(const struct rule *r, struct str path, bool writes);

/* Whether every part of the command (shell/shell.h) is matched by one of the rules or needs none
 * (rule_command_is_read_only()). False for text that cannot be parsed with certainty, unless a rule
 * equals it. Files written by redirections are appended as written: the caller must check them as
 * edits. ret_rule is one that was needed, or NULL. */
bool rules_allow_command(struct rule *const *rules, size_t count, const struct rule_subject *s,
                         struct strv *ret_writes, const struct rule **ret_rule);

/* Whether it is a rule for exactly this command. */
bool rule_is_exact(const struct rule *r, struct str text);

/* --- commands ------------------------------------------------------------------------------- */

/* A parsed command, for several questions. The text must outlive it. */
struct rule_command *rule_command_new(struct str text);
void rule_command_free(struct rule_command *c);
void rule_command_freep(struct rule_command **c);

/* Why a rule for a part of it cannot allow it: "a quote is not closed"; or NULL. */
const char *rule_command_doubt(const struct rule_command *c);

/* Whether it only reads: ls, cat, git status, … without redirections or options that write. False
 * in doubt. */
bool rule_command_is_read_only(const struct rule_command *c);
/* Whether a command in it that needs no rule reads a file whose name is known only at run time. */
bool rule_command_hides_paths(const struct rule_command *c);
/* Whether cp, tee, sed -i or another command that changes the files it names has a name that is
 * known only at run time: tee "$X". */
bool rule_command_hides_writes(const struct rule_command *c);
/* Whether it needs the network by its nature, or affects more than files: git push, npm install,
 * docker, sudo, kill. A trial run could only fail. */
bool rule_command_reaches_out(const struct rule_command *c);
/* Whether some part of it is cd, pushd or popd, so that later parts may run elsewhere. */
bool rule_command_moves(const struct rule_command *c);

/* Whether it has git and cd: appends the destination, "/" if unknown. */
bool rule_command_git_moves(const struct rule_command *c, struct strv *ret_dirs);
/* The caller has found that all of these belong to the repository in which it starts: git uses the
 * same settings there. */
void rule_command_stays(struct rule_command *c);

/* mkdir, touch, mv, cp, rm, rmdir, sed -i: allowed by acceptEdits inside working directories if
 * there is no sandbox that shows the effects. Appends the paths it names; false for all other
 * commands. */
bool rule_command_is_file_work(const struct rule_command *c, struct strv *ret_paths);

/* rm or rmdir of /, a folder directly below it, the home, cwd or a folder above it, or of a folder
 * given only by a variable. */
bool rule_command_is_critical(const struct rule_command *c, const char *cwd, const char *home);

/* A word that may be a file name. */
struct rule_file {
    struct str text; /* has no NUL; lent by the command, or in the arena */
    bool writes;     /* it may be written */
    bool filters; /* it only restricts a search (grep --include='*.c'): checked like other words as
                     text, but does not name a file */
    bool quotes;  /* the shell does not expand its braces */
};
struct rule_files { /* a VEC */
    struct rule_file *ptr;
    size_t len;
    size_t cap;
};

/* The words that may name files, as far as this can be determined: all words except known data, and
 * the sources of redirections; those that may be written are marked: words of commands that do not
 * only read (git's are known), and the targets of redirections. After a cd each is relative to the
 * new directory, too. Words with patterns are appended unexpanded: "*.c". For deny rules. */
void rule_command_files(const struct rule_command *c, struct arena *arena, struct rule_files *ret);

/* "npm test *" for "npm test --watch": what "always allow" would add, one rule for each part that
 * needs one. False if there is no reasonable suggestion. */
bool rule_suggest(const struct rule_subject *s, struct strv *ret);
