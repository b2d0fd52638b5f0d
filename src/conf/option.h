/*
 * The option table: every command-line option of every command, once.
 *
 * Parsing, --help, the man page, the shell completions and "did you mean" all read these rows. To
 * add an option: one line in option.def, one sentence of help; the option test fails while the help
 * is missing or a name is used twice. Both "--name value" and "--name=value" are taken, for every
 * option.
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
    OPTION_MANY = 1,      /* may be given again; all values count */
    OPTION_LIST = 2,      /* a comma-separated list, may be empty */
    OPTION_HIDDEN = 4,    /* not in --help */
    OPTION_MAYBE_ARG = 8, /* the value is optional and only taken from "--name=value" */
};

struct option {
    enum option_id id;
    const char *name; /* "model" */
    char letter;      /* 'p', or 0 */
    const char *arg;  /* "PROVIDER/NAME", or NULL for a switch */
    unsigned flags;
    const char *key; /* the settings key it overrides, or NULL */
    const char *
        values; /* "low medium high": what it takes, or NULL; "@file", "@dir", "@model" for completion */
    const char *help;
};

const struct option *option_table(void); /* OPT_COUNT rows */

struct args {
    struct strv values[OPT_COUNT]; /* empty string for a switch that was given */
    bool given[OPT_COUNT];
    struct strv words; /* what is not an option, in order; all behind "--" */
};

void args_release(struct args *a);

/* ERR_BAD_INPUT for an unknown option ("unknown option --modle; did you mean --model?"), a missing
 * or superfluous value, a value not in the list. */
int args_parse(int argc, char *const *argv, struct args *ret, struct err *err);
const char *args_get(const struct args *a,
                     enum option_id id); /* the last value, NULL when not given */
