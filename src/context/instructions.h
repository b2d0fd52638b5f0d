/*
 * Instruction files: what people wrote down for agents, CLAUDE.md and AGENTS.md.
 *
 * In this order, all of them, each file once (by device and inode):
 *   managed   <etc>/claude-code/CLAUDE.md, <etc>/tenax/CLAUDE.md or AGENTS.md
 *   user      ~/.claude/CLAUDE.md; $TENAX_HOME/CLAUDE.md or AGENTS.md; when there was none of
 *             these, $CODEX_HOME/AGENTS.md; then ~/.claude/rules (all .md below)
 *   project   from the file system's root down to the start directory, in each folder: CLAUDE.md
 *             and .claude/CLAUDE.md, or where there is neither and the folder is in the checkout
 *             (or is the start directory) AGENTS.override.md or AGENTS.md; then CLAUDE.local.md
 *   rules     .claude/rules (all .md below) of the folders of the checkout
 * Rules that name `paths` wait until a file is read that they apply to, and so do the files of
 * folders below the start directory (except hidden ones and node_modules): instructions_near(). Of
 * these only those count that are older than the session: newer ones may have been written by the
 * model or a command, and are not instructions of a user.
 *
 * A line's `@path` imports another file, relative to the one it stands in, up to
 * INSTRUCTIONS_MAX_DEPTH deep.
 *
 * A repository must not be able to send the user's files away: imports and links of a project file
 * are followed only inside the working folders and the checkout. Files hidden from the model by
 * deny rules Read(…) never count, under any name. Above the checkout only files of our own and
 * root's count (another user's /tmp/CLAUDE.md does not).
 *
 * Unusable files are skipped with a notice, one line each; nothing here fails except by a cancel.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/path_veto.h"
#include "base/strv.h"
#include "base/vec.h"

struct cancel;
struct err;

#define INSTRUCTIONS_MAX_FILE ((size_t)4 << 20)    /* a larger file is left out */
#define INSTRUCTIONS_MAX_TOTAL ((size_t)256 << 10) /* of all; the file that passes it is cut */
#define INSTRUCTIONS_MAX_FILES 500
#define INSTRUCTIONS_MAX_DEPTH 5   /* of imports */
#define INSTRUCTIONS_MAX_RULES 200 /* entries looked at in one rules folder and below */

/* Folders are absolute; NULL: there is none, nothing is looked for. */
struct instructions_spec {
    const char *dir;         /* start directory */
    const char *user_home;   /* of "~/x" */
    const char *claude_home; /* ~/.claude; NULL: the project's .claude folders are left alone too */
    const char *tenax_home;
    const char *codex_home;
    const char *etc; /* NULL: "/etc" */
    /* --setting-sources */
    bool no_user;
    bool no_project;
    bool no_local;
    const struct strv *folders;  /* where imports may lead, beside dir; NULL: none */
    const struct strv *excludes; /* globs (`**` crosses folders) of absolute paths; NULL: none */
    const struct strv *project_excludes; /* the same, but of no file of the user's own */
    struct path_veto veto;
    int64_t since_ms; /* when the session began, by the wall clock; 0: unknown */
};

enum instruction_kind {
    INSTRUCTION_MANAGED,
    INSTRUCTION_USER,
    INSTRUCTION_PROJECT,
    INSTRUCTION_LOCAL,
};

struct instruction {
    enum instruction_kind kind;
    char *path;
    char *importer; /* the path of the file that imports it, or NULL */
    struct buf text;
    uint64_t dev;
    uint64_t ino;
};

/* A rule for certain files. */
struct instruction_rule {
    enum instruction_kind kind;
    char *path;
    struct strv globs; /* of absolute paths */
};

struct instructions {
    VEC(struct instruction) files;
    VEC(struct instruction_rule) rules; /* that wait */
    struct strv looked;                 /* folders, by instructions_near() */
    struct strv notices; /* for the user: "'/w/CLAUDE.md' is a directory, not a file; left out" */
    size_t bytes;        /* of all texts */
};

void instructions_release(struct instructions *in);

/* ERR_CANCELLED; else 0. */
int instructions_find(const struct instructions_spec *spec, struct cancel *cancel,
                      struct instructions *ret, struct err *err);

/* What the model reads: every file with its path. Nothing when there is none. */
void instructions_write(const struct instructions *in, struct buf *ret);

/* The same for what became of them: files that are new or different, and the names of those that
 * are gone. Nothing when all is as it was. */
void instructions_write_news(const struct instructions *before, const struct instructions *now,
                             struct buf *ret);

/* A file was read: the rules of `known` that speak of it and the instruction files of the folders
 * between the start directory and it, as far as neither list has them yet, are added to *io (zeroed
 * at first, and limited like any list), and written to ret for the model. Costs a comparison for
 * each waiting rule when its folder was seen before. ERR_CANCELLED. */
int instructions_near(const struct instructions_spec *spec, const struct instructions *known,
                      const char *path, struct cancel *cancel, struct instructions *io,
                      struct buf *ret, struct err *err);
