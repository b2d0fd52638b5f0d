/*
 * One check's command line and where it leads: shared by those who read commands (protect_check.c)
 * and those who read what programs get their orders from (protect_recipe.c). Private to this
 * folder.
 */
#pragma once

#include <stdbool.h>

#include "base/str.h"
#include "base/strv.h"
#include "goal/protect_find.h"

struct recipe;
struct shell_part;
struct shell_word;

struct search {
    struct protect_find *finder;
    struct str check;
    struct strv folders; /* where its commands may stand, relative to the workspace; "" first */
    int depth;
    int work;          /* texts, recipes and globs so far */
    bool scripts_only; /* the commands are not the check's own: only what they run counts */
};

/* Counts the work that a check makes, which has a limit: what it leads to is not always its
 * author's own. */
bool search_may_go_on(struct search *s);
/* Commands, wherever they are written. */
void search_text(struct search *s, struct str text);
/* cd: the folders that this one is in become more. */
void search_enter(struct search *s, struct str folder);
void search_add(struct search *s, enum found_kind kind, struct str path, const char *what);
/* A file by name, in the folders where commands may stand. must: it is run, or is what a program
 * reads its orders from; else it is an operand, and does not count when git ignores it. */
bool search_file(struct search *s, struct str name, bool must, const char *what);
/* A word as a path; what variables give is not known, but for the folder itself. */
struct str search_word_path(const struct shell_word *w);

/* What a program reads its orders from, with the words it is given. */
void search_recipe(struct search *s, const struct recipe *r, const struct shell_part *p);
