/*
 * The words of a command as files: what each would mean to the shell that runs it, with links
 * followed and patterns filled in. For rules that forbid files; nothing is opened.
 *
 * One serves one question: what it has looked at is taken to stay as it is.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/str.h"

struct arena;
struct rule_files;
struct workspace;

#define WORD_FILES_LOOKS 32 /* that are remembered */

struct word_file {
    struct str path; /* absolute, followed by a NUL; in the arena */
    bool writes;     /* the word may be written */
};

struct word_files {
    struct word_file *ptr; /* the files found: a VEC */
    size_t len;
    size_t cap;
    bool wide; /* some pattern reaches too far to be filled in */
    /* Its own. */
    struct workspace *workspace;
    struct arena *arena;
    struct str cwd;   /* the shell's folder, once it was asked for */
    bool saw_cwd;     /* ... and looked at: */
    bool cwd_is_real; /* no link leads to it */
    struct buf path;  /* the one that is worked on */
    bool writes;
    struct {
        struct str name; /* from the shell's folder on */
        bool is_there;   /* and is no link */
    } looks[WORD_FILES_LOOKS];
    size_t looks_len;
};

/* Both are lent. */
void word_files_init(struct word_files *f, struct workspace *w, struct arena *arena);
void word_files_release(struct word_files *f);

/* Appends absolute paths: as given, and what they lead to when that differs. A word with a pattern
 * in it also stands for the files that are there. only_writes: leaves the others out. */
void word_files_add(struct word_files *f, const struct rule_files *words, bool only_writes);
/* One word, without following links, and the shell's folder. In the arena, each followed by a
 * NUL. */
struct str word_files_path(struct word_files *f, struct str word);
struct str word_files_cwd(struct word_files *f);
