/*
 * The words of a command as files: what each would mean to the shell that runs it, with links
 * followed and patterns filled in. For whoever forbids files; nothing is opened.
 */
#pragma once

#include <stdbool.h>

#include "base/str.h"
#include "base/strv.h"

struct workspace;

struct word_files {
    struct workspace *workspace; /* lent */
    bool wide;                   /* some pattern reaches too far to be filled in */
    char *cwd;                   /* the shell's folder, once it was asked for */
    bool cwd_is_real;            /* no link leads to it */
    /* Paths from there on that were looked at, the first few: nothing changes within a question. */
    struct strv plain;   /* no links */
    struct strv missing; /* nothing is there */
};

/* Replaces words by absolute paths: as given, and what they lead to when that differs. A word with
 * a pattern in it also stands for the files that are there. */
void word_files_resolve(struct word_files *f, struct strv *words);
/* One word, without following links. Yours to free. */
char *word_files_path(const struct word_files *f, struct str word);
void word_files_release(struct word_files *f);
