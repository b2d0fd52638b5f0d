/*
 * The words of a command as files, as the shell that runs it would interpret them, with links
 * resolved and patterns expanded. For rules that deny files; nothing is opened.
 *
 * One struct serves one question: what it has examined is assumed not to change.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/str.h"

struct arena;
struct rule_files;
struct workspace;

#define WORD_FILES_LOOKS 32 /* lookups that are cached */

struct word_file {
    struct str path; /* absolute and NUL-terminated; in the arena */
    bool writes;     /* the word may be written */
};

struct word_files {
    struct word_file *ptr; /* the files found: a VEC */
    size_t len;
    size_t cap;
    bool wide; /* some pattern has too many matches to be expanded */
    /* Its own. */
    struct workspace *workspace;
    struct arena *arena;
    struct str cwd;   /* the shell's directory, once needed */
    bool saw_cwd;     /* ... and examined: */
    bool cwd_is_real; /* it has no links */
    struct buf path;  /* the path being examined */
    bool writes;
    struct {
        struct str name; /* relative to the shell's directory */
        bool is_there;   /* it exists and is not a link */
    } looks[WORD_FILES_LOOKS];
    size_t looks_len;
};

/* Both are lent. */
void word_files_init(struct word_files *f, struct workspace *w, struct arena *arena);
void word_files_release(struct word_files *f);

/* Appends absolute paths: as given, and what they resolve to if different. A word with a pattern
 * also stands for the existing files that match. only_writes: omits the others. */
void word_files_add(struct word_files *f, const struct rule_files *words, bool only_writes);
/* The path of one word, without following links, and the shell's directory. In the arena,
 * NUL-terminated. */
struct str word_files_path(struct word_files *f, struct str word);
struct str word_files_cwd(struct word_files *f);
