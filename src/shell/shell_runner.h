/*
 * What runs a simple command: prefixes that do not change its meaning, and programs that run the
 * words after them.
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

/* NAME=value, in front of a command, of a variable that changes the look of output and not the
 * program. */
bool shell_is_safe_assignment(const struct shell_word *w);

/* The same part without safe assignments and wrappers, xargs -0 among them; its words are those of
 * p. fed: xargs gives it more. False when other variables are set, or nothing is left. */
bool shell_part_unwrap(const struct shell_part *p, struct shell_part *ret, bool *ret_fed);
/* Whether this program is what it comes down to. */
bool shell_part_is(const struct shell_part *p, const char *program);

/* The first word without its folder. */
struct str shell_base_name(struct str path);
struct str shell_part_program(const struct shell_part *p);

/* A shell; it takes commands from its input when no file is named. */
bool shell_part_is_shell(const struct shell_part *p);
/* A program that runs a text it is given as one word: sh -c, eval, su -c, ssh, watch. */
bool shell_part_runs_text(const struct shell_part *p);
/* Where a program that it runs may be named: after sudo, env and similar, after -exec for find,
 * after such words of others (docker exec, git bisect run). words.len: it runs none. ret_names is
 * how many words in a row may be the program, options and their values aside: of "ssh host rm x"
 * the second one is. */
size_t shell_part_runs_from(const struct shell_part *p, size_t *ret_names);
