/*
 * Generates help, man page and shell completions from the option table and the rows of the
 * commands.
 *
 * An option or command with a row appears in all of them. The usage test runs the results through
 * groff and the shells.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/str.h"
#include "conf/option.h"

struct args;
struct buf;
struct err;

struct usage_command {
    const char *name;    /* "auth" */
    const char *args;    /* "login|logout|status [PROVIDER]", or NULL */
    const char *words;   /* "login logout status": possible next words, or NULL */
    bool only_words;     /* only these words are allowed */
    const char *summary; /* one line for the list of commands: "Store, list or delete API keys" */
    const char *details; /* whole sentences, for the command's own help and the manual; or NULL */
    const enum option_id
        *options; /* options besides the common ones, terminated by OPT_COUNT; or NULL */
};

struct usage {
    const struct usage_command *const *commands; /* in the order of --help */
    size_t count;
    const char *models; /* names offered for "@model", separated by spaces; or NULL */
};

/* --help, at most `columns` wide (0 = 80), for one command; NULL = for the whole program. */
void usage_help(const struct usage *u, const struct usage_command *command, unsigned columns,
                struct buf *out);

/* The man page tenax.1, in roff. */
void usage_man(const struct usage *u, struct buf *out);

/* The completion script for "bash", "zsh" or "fish"; ERR_BAD_INPUT for any other shell. */
int usage_completion(const struct usage *u, struct str shell, struct buf *out, struct err *err);

/* Whether a command takes an option: those of its row, and the ones every command takes. */
bool usage_takes(const struct usage_command *command, enum option_id id);

/* ERR_BAD_INPUT for an option that the command does not accept, a word after a command that takes
 * none, or a word that is nearly a possible one. Other unknown words are left to the command, which
 * reports them. */
int usage_check(const struct usage_command *command, const struct args *args, struct err *err);
