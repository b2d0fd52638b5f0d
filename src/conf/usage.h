/*
 * Help, man page and shell completions, printed from the option table and the rows of the commands.
 *
 * Nothing here is written twice: an option or command that gets a row appears in all of them. The
 * usage test runs the results through groff and the shells themselves.
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
    const char *name;              /* "auth" */
    const char *args;              /* "login|logout|status [PROVIDER]", or NULL */
    const char *words;             /* "login logout status": what may follow, or NULL */
    bool only_words;               /* what follows is one of them, and nothing else */
    const char *summary;           /* one sentence, no full stop */
    const enum option_id *options; /* what it takes besides the common ones, ended by OPT_COUNT;
                                      NULL: nothing */
};

struct usage {
    const struct usage_command *const *commands; /* in the order of --help */
    size_t count;
    const char *models; /* names offered for "@model", separated by spaces; NULL: none */
};

/* --help, at most `columns` wide (0: 80). command NULL: the whole program; else that command's. */
void usage_help(const struct usage *u, const struct usage_command *command, unsigned columns,
                struct buf *out);

/* The man page tenax.1, in roff. */
void usage_man(const struct usage *u, struct buf *out);

/* The completion script for "bash", "zsh" or "fish"; ERR_BAD_INPUT for any other shell. */
int usage_completion(const struct usage *u, struct str shell, struct buf *out, struct err *err);

/* Whether a command takes an option: those of its row, and the ones every command takes. */
bool usage_takes(const struct usage_command *command, enum option_id id);

/* ERR_BAD_INPUT for an option that this command does not take, a word after one that takes none, or
 * one that nearly matches a possible one. A word without a near match is left to the command, which
 * reports it. */
int usage_check(const struct usage_command *command, const struct args *args, struct err *err);
