/*
 * What programs read their orders from, and how test files are called: knowledge, in tables.
 *
 * Pure functions. To add a program, add a row in recipe.c; recipe_test.c has the examples.
 */
#pragma once

#include <stdbool.h>

#include "base/str.h"

struct recipe {
    const char *programs; /* words */
    const char *files;    /* words: names it reads where it stands or further up; '*' stands for
                           * any part of a name. The first that exists is not always the only one
                           * that counts, so all do. */
    const char *options;  /* words: options whose value is such a file */
    const char *folders;  /* words: options whose value is the folder to stand in */
};

/* By the name of a program, without its folder; NULL: it reads none that are known. Several
 * programs (pytest, jest) are known under their module's name, too: python -m pytest. */
const struct recipe *recipe_of(struct str program);

/* It runs the program that its words name: sudo, env, timeout, npx, … */
bool recipe_is_runner(struct str program);
/* Its first operand is a script: sh, python, node, … */
bool recipe_is_interpreter(struct str program);
/* Its operands are what is looked at or built, not what decides: grep, test, gcc, eslint, … */
bool recipe_inspects(struct str program);
/* Part of the shell: not looked up in PATH. */
bool recipe_is_builtin(struct str program);

/* A name of a file that some program reads its orders from: Makefile, package.json, … */
bool recipe_is_order(struct str name);
/* A test file by the usual names; path relative to the workspace. */
bool recipe_is_test(struct str path);
/* A folder that holds what others wrote or made: node_modules, target, build, .venv, … */
bool recipe_is_output_dir(struct str name);

/* A name and a pattern with '*'. */
bool recipe_name_fits(struct str pattern, struct str name);
