/*
 * What the name of a file says about it: knowledge, in tables.
 *
 * The names of tests and of build and runner configuration decide which files are protected when a
 * goal is set; the names of caches and build output decide which ones a clean room hides. Nothing
 * here opens a file. To add a name, add a word in names.c; names_test.c has the examples.
 */
#pragma once

#include <stdbool.h>

#include "base/str.h"

enum name_kind {
    NAME_PLAIN,
    NAME_TEST,     /* a test, a fixture, an expectation, a script that checks */
    NAME_RUNNER,   /* configuration of a test runner, or a module that it loads by itself */
    NAME_BUILD,    /* a build file: Makefile, CMakeLists.txt, … */
    NAME_ORDERS,   /* package.json, Cargo.toml, …: all of it but the dependencies */
    NAME_SETTINGS, /* included or extended by others: *.mk, *.cmake, tsconfig*.json, .env */
};

/* path: relative to the workspace. */
enum name_kind name_kind(struct str path);

/* A cache or the output of a compiler, whatever git says about it: __pycache__, node_modules, *.o.
 */
bool name_is_derived(struct str path);
/* It or a folder on the way to it begins with a dot. */
bool name_is_hidden(struct str path);
/* Such a file that programs read their settings from: .cargo/config.toml, .toolrc. */
bool name_is_hidden_settings(struct str path);
/* It lies in a folder of installed packages: node_modules, .venv, … */
bool name_is_installed(struct str path);

struct str name_base(struct str path); /* its last part */

/* Programs, by the name without its folder. */
bool name_is_interpreter(struct str program); /* its first operand is a script */
bool name_is_builder(struct str program);     /* make, cargo, gcc, …: it makes what it needs */
bool name_is_reader(struct str program);      /* it shows or compares whatever it is given */
bool name_is_make(struct str program);        /* every file that it opens itself is a makefile */

/* The source of a Python cache file ("a/__pycache__/b.cpython-311.pyc" → "a/b.py"); false: it is
 * none. */
struct buf;
bool name_of_source(struct str path, struct buf *ret);

/* A name and a pattern with at most two '*'. */
bool name_fits(struct str pattern, struct str name);
