/*
 * The option table: every command-line option of every command, once.
 *
 * Parsing, --help, the man page, the shell completions and "did you mean" all read these rows. To
 * add an option: one line in option.def, one sentence of help; the option test fails while the help
 * is missing, a name is used twice, or the settings key is not one of keys.def. Both "--name value"
 * and "--name=value" are taken, for every option, and options and words may be mixed in any order.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/str.h"
#include "base/strv.h"

struct err;

enum option_id {
#define OPTION(id, name, letter, arg, flags, key, values, help) OPT_##id,
#include "conf/option.def"
#undef OPTION
    OPT_COUNT,
};

enum option_flags {
    OPTION_MANY = 1,        /* may be given again; all values count */
    OPTION_LIST = 2,        /* a comma-separated list, may be empty */
    OPTION_HIDDEN = 4,      /* not in --help */
    OPTION_MAYBE_ARG = 8,   /* the value is optional and only taken from "--name=value" */
    OPTION_MAYBE_NEXT = 32, /* the value is optional: the next argument unless that is an option */
    OPTION_RULES = 16, /* permission rules or tools, split at commas and spaces outside parentheses;
                          more arguments that can be nothing but rules are taken too */
    OPTION_FOLDERS = 64, /* a folder; more arguments that are folders are taken too */
};

struct option {
    enum option_id id;
    const char *name; /* "model" */
    char letter;      /* 'p', or 0 */
    const char *arg;  /* "PROVIDER/NAME", or NULL for a switch */
    unsigned flags;
    const char *key;    /* the settings key it overrides, or NULL */
    const char *values; /* "low medium high": what it takes, or NULL for anything; "@file", "@dir"
                           and "@model" say what the shell completes */
    const char *help;
};

/* Rows from `first` on belong under this heading, up to the next one. */
struct option_group {
    enum option_id first;
    const char *title;
    bool of_commands; /* only subcommands take them */
};

const struct option *option_table(void);                     /* OPT_COUNT rows */
const struct option_group *option_groups(size_t *ret_count); /* in the order of the table */
bool option_has_values(const struct option *o);              /* a list to choose from */
const struct option *option_find(struct str name);           /* by long name or alias, or NULL */
const struct option *option_find_letter(char letter);        /* or NULL */

struct args {
    /* An empty string for a switch that was given, one entry per element for OPTION_LIST. Without
     * OPTION_MANY only the last use counts. */
    struct strv values[OPT_COUNT];
    bool given[OPT_COUNT];
    struct strv words; /* arguments other than options, in order; all after "--" */
    size_t plain;      /* of them, how many stand before "--" */
};

void args_release(struct args *a);

/* argv[0] is the program's name. ERR_BAD_INPUT for an unknown option ("unknown option --modle; did
 * you mean --model?"), a missing or superfluous value, a value not in the list. */
int args_parse(int argc, char *const *argv, struct args *ret, struct err *err);

/* The last value; "" for a switch or an empty list; NULL when not given. */
const char *args_get(const struct args *a, enum option_id id);
