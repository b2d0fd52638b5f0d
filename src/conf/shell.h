/*
 * Shell commands, taken apart for permission rules.
 *
 * shell_split() finds the simple commands of a text: what && || ; | |& & and newlines separate, and
 * also those inside substitutions, subshells, groups, loops and here-documents. It is no parser of
 * the whole language and knows that: `certain` says that the text holds nothing but simple commands
 * with quotes, variables, globs and redirections, so that the parts are all there is. Whoever
 * permits something asks for certainty; whoever forbids looks at every part that was found, and
 * those may be too many rather than too few.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/str.h"
#include "base/vec.h"

#define SHELL_MAX_CERTAIN 10000            /* bytes; a longer text is never certain */
#define SHELL_MAX_TEXT ((size_t)256 << 10) /* bytes; a longer one is not looked at */
#define SHELL_MAX_PARTS 20000              /* found in all */
#define SHELL_MAX_DEPTH 16                 /* of substitutions */

struct shell_word {
    struct str raw;  /* as written, quotes included */
    struct str text; /* quotes and escapes taken away, variables left out */
    bool quoted;
    bool expands; /* a variable or substitution is in it */
    bool globs;   /* unquoted * ? [ or { */
};

struct shell_part {
    VEC(struct shell_word) words;
    size_t first; /* the word behind the assignments; words.len: there is none */
};

struct shell {
    struct arena arena; /* the words */
    bool certain;
    bool too_big;    /* more than could be looked through: parts are missing */
    const char *why; /* not certain: what was in the way; NULL when certain */
    VEC(struct shell_part) parts;
    VEC(struct shell_word) writes; /* targets of redirections but /dev/null */
    VEC(struct shell_word) reads;
    VEC(struct shell_word) given; /* here-strings */
};

/* The text must outlive it. Always succeeds. */
void shell_split(struct shell *ret, struct str text);
void shell_release(struct shell *s);

/* The word with this number behind `first`; an empty one when there are fewer. */
const struct shell_word *shell_word_at(const struct shell_part *p, size_t i);

bool shell_word_is_option(const struct shell_word *w);
/* Whether the shell could make an option of it that is not seen here. */
bool shell_word_could_be_option(const struct shell_word *w);

/* "NAME=", "NAME+=" at the start of a word as written: how many bytes, or 0. */
size_t shell_assignment_len(struct str raw);
