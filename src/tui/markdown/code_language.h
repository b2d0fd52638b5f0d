/*
 * The languages that code is highlighted in: one row each.
 *
 * To add one, write a row in code_language.c; code_test.c checks that every row is well formed.
 */
#pragma once

#include "base/str.h"

enum code_flags {
    CODE_NO_CASE = 1,      /* SELECT is select; the table has small letters */
    CODE_DIRECTIVES = 2,   /* #include */
    CODE_KEYS = 4,         /* a name or string before ":" or "=" is a key */
    CODE_VARIABLES = 8,    /* $name, ${name}, $(name) */
    CODE_LIFETIMES = 16,   /* 'a is no string */
    CODE_SPACED_HASH = 32, /* # begins a comment only where a word could begin */
    CODE_DECORATORS = 64,  /* @name */
    CODE_DASHES = 128,     /* names-may-have-them */
    CODE_TAGS = 256,       /* <name key="value"> */
    CODE_CHANGES = 512,    /* lines that begin with + and - */
    CODE_RAW_LONG = 1024,  /* no escapes in long strings */
    CODE_TARGETS = 2048,   /* name: at the start of a line */
};

struct code_language {
    const char *names; /* after a fence */
    const char *files; /* their extensions */
    const char *whole; /* whole names of files; NULL: none */
    const char *keywords;
    const char *constants;
    const char *line_comments[2];
    const char *block_comment[2]; /* begin, end */
    const char *quotes;           /* of strings that end with their line */
    const char *long_strings[3];  /* what begins and ends strings of many lines */
    unsigned flags;
};

/* NULL: not known. */
const struct code_language *code_language_find(struct str name);
const struct code_language *code_language_of_file(struct str path);
const struct code_language *code_language_at(size_t i); /* NULL after the last */
