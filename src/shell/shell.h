/*
 * Shell commands, taken apart for permission rules.
 *
 * shell_split() parses a text as bash does and lays the simple commands in it side by side: those
 * of lists and pipelines, of subshells, groups, loops, conditions and functions, and those inside
 * substitutions. `certain` says that the text was understood to its end, so that the parts are all
 * there is to run. The grammar is conservative. Not certain are texts with what only the running
 * shell knows (a command's name out of a variable, arithmetic on names, numbers in [[ ]] that are
 * not written out), with what other readings exist of (a line continued inside a word), and what
 * bash itself would refuse. Code that permits something requires certainty; code that forbids looks
 * at every part that was found, and those may be too many rather than too few.
 *
 * The text of a word that expands is a guess, good enough to forbid by: in "x=rm; $x a" the last
 * part is "rm a". Code that permits looks at `expands`.
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
#define SHELL_MAX_DEPTH 32                 /* of substitutions and compound commands */

struct shell_word {
    struct str raw;  /* as written, quotes included */
    struct str text; /* without quotes and escapes; a variable is what the text set it to last */
    bool quoted;
    bool globs;   /* unquoted * ? [ or { */
    bool expands; /* a variable or substitution is in it: text is a guess */
};

struct shell_part {
    VEC(struct shell_word) words;
    size_t first; /* the word after the assignments; words.len: there is none */
    bool defined; /* its name is that of a function of this text: the function's parts count */
};

/* What a variable was set to. */
struct shell_variable {
    struct str name;
    struct str value;
};

struct shell {
    struct arena arena; /* the words */
    bool certain;
    bool broken;     /* no shell would take it, or it was not understood: parts may be missing */
    bool too_big;    /* more than could be looked through: parts are missing */
    const char *why; /* not certain: the obstacle; NULL when certain */
    bool repeats;    /* it has loops or functions: what stands later may run earlier */
    bool loose;      /* the name of some command comes out of a variable */
    VEC(struct shell_part) parts;
    VEC(struct shell_word) writes; /* targets of redirections but /dev/null */
    VEC(struct shell_word) reads;
    VEC(struct shell_word) given;         /* here-strings and bodies of here-documents */
    VEC(struct shell_variable) variables; /* all values in the text, loops included */
    VEC(struct str) functions;            /* names that were defined */
    size_t filled; /* bytes that variables were replaced by: at most SHELL_MAX_TEXT */
};

/* The text must outlive it. Always succeeds. */
void shell_split(struct shell *ret, struct str text);
void shell_release(struct shell *s);

/* The word with this number after `first`; an empty one when there are fewer. */
const struct shell_word *shell_word_at(const struct shell_part *p, size_t i);

bool shell_word_is_option(const struct shell_word *w);
/* Whether the shell could make an option of it that is not seen here. */
bool shell_word_could_be_option(const struct shell_word *w);

/* "NAME=", "NAME+=" at the start of a word as written: how many bytes, or 0. */
size_t shell_assignment_len(struct str raw);
/* A name that no program looks at: setting it changes nothing but what this text does with it. */
bool shell_is_own_variable(struct str name);
