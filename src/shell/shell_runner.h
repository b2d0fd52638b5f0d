/*
 * Who runs a simple command: what stands in front of it without changing what it is, and programs
 * that run the words behind them.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/str.h"

struct shell_part;
struct shell_word;

/* How many words a wrapper takes that only changes how the rest runs (timeout 5, nice, nohup, time,
 * stdbuf -oL, command, builtin, noglob, bare xargs), with its options; 0: the word at `from` is no
 * wrapper, or not one that is understood to the end. */
size_t shell_wrapper_len(const struct shell_part *p, size_t from);

/* NAME=value, in front of a command, of a variable that changes how output looks and not what is
 * run. */
bool shell_is_safe_assignment(const struct shell_word *w);

/* The same part without safe assignments and wrappers, xargs -0 among them; its words are those of
 * p. fed: xargs gives it more. False when other variables are set, or nothing is left. */
bool shell_part_unwrap(const struct shell_part *p, struct shell_part *ret, bool *ret_fed);
/* Whether this program is what it comes down to. */
bool shell_part_is(const struct shell_part *p, const char *program);

/* The first word without its folder; a shell; a program that runs what follows it (sudo, env,
 * find), shells included. */
struct str shell_base_name(struct str path);
struct str shell_part_program(const struct shell_part *p);
bool shell_name_is_shell(struct str name);
bool shell_part_is_shell(const struct shell_part *p);
bool shell_part_is_runner(const struct shell_part *p);
/* The first word that may be run: behind a runner's name, behind -exec for find, behind what says
 * so to others (docker exec, git bisect run). As many words as there are: none is. */
size_t shell_part_runs_from(const struct shell_part *p);
/* A program that is given text in a language of its own, which can run others: python, awk, vim. */
bool shell_part_is_language(const struct shell_part *p);
/* What is known of a part's program, for all its words. */
struct shell_runner {
    bool language;    /* shell_part_is_language() */
    unsigned options; /* a bit for each kind of option that names what is run */
};
struct shell_runner shell_part_runner(const struct shell_part *p);
/* What of the word with this number the program itself may run, or empty: python's text, the value
 * of git -c and of tar --to-command. */
struct str shell_part_runs_word(const struct shell_part *p, size_t i, struct shell_runner runner);
