/*
 * Subcommands: one file each with its row at the top, and one line in cmd.c.
 *
 * To add one: write cmd/<name>.c with `const struct command cmd_<name>`, add it to the table in
 * cmd.c. Help, man page and completions print the rows; the usage test fails while a row has no
 * summary. A command's run() returns the exit code.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/mem.h"
#include "base/str.h"
#include "conf/option.h"
#include "conf/usage.h"

struct buf;
struct cancel;
struct conf;
struct err;

enum exit_code {
    EXIT_OK = 0,
    EXIT_FAILED = 1, /* the work could not be done */
    EXIT_USAGE = 2,  /* wrong options or settings: nothing was tried */
    EXIT_GOAL_STOPPED =
        13, /* a goal is paused or was interrupted; goal_exit_code() has the others */
    EXIT_INTERRUPTED = 130, /* SIGINT */
    EXIT_PIPE = 141,        /* the reader of our output went away */
    EXIT_TERMINATED = 143,  /* SIGTERM */
};

/* What every command is given. */
struct cmd {
    struct args args;
    char *dir;             /* where the work is: absolute */
    struct cancel *cancel; /* set by SIGINT and SIGTERM */
};

struct command {
    struct usage_command usage;
    int (*run)(struct cmd *c);
};

extern const struct command cmd_acp;
extern const struct command cmd_app_server;
extern const struct command cmd_auth;
extern const struct command cmd_completion;
extern const struct command cmd_config;
extern const struct command cmd_demo;
extern const struct command cmd_doctor;
extern const struct command cmd_goal;
extern const struct command cmd_help;
extern const struct command cmd_agents;
extern const struct command cmd_hooks;
extern const struct command cmd_man;
extern const struct command cmd_mcp;
extern const struct command cmd_permissions;
extern const struct command cmd_plugin;
extern const struct command cmd_rewind;
extern const struct command cmd_sandbox;
extern const struct command cmd_sessions;
extern const struct command cmd_trust;

/* `tenax -p`: no word names it, an option does. */
int cmd_print(struct cmd *c);
/* `tenax`, `tenax "…"`: an interactive session. */
int cmd_interactive(struct cmd *c);

size_t cmd_count(void);
const struct command *cmd_at(size_t i);
const struct command *cmd_find(struct str name); /* NULL when unknown */

/* Settings for this run; cmd_conf() shows their warnings, or on failure the reason, and gives the
 * exit code (0 is success). */
int cmd_conf_load(struct cmd *c, struct conf **ret, struct err *err);
/* The same for an interactive session: settings of the folder that could do harm count only where
 * it is trusted (host_ask_trust() asks), and whether to continue without an unusable file is asked
 * on the terminal. */
int cmd_conf_load_trusted(struct cmd *c, struct conf **ret, struct err *err);
/* The same for a command that uses what they name (a helper, a key and where it goes) but starts no
 * session: at a terminal only trusted folders count so, and nothing is asked. */
int cmd_conf_load_careful(struct cmd *c, struct conf **ret, struct err *err);
int cmd_conf(struct cmd *c, struct conf **ret);
/* The same for a session in another folder, without a terminal to ask on; trusts: its client has
 * trusted the folder. Any thread. */
int cmd_conf_load_at(const struct cmd *c, const char *dir, bool trusts, struct conf **ret,
                     struct err *err);

/* Waits until standard input can be read: 1, or 0 when timeout_ms (-1: never) have passed, -1 on
 * cancel. */
int cmd_wait_stdin(struct cmd *c, int timeout_ms, struct err *err);
/* One line from standard input. 0 at its end, -1 on cancel or when it is too long. */
int cmd_read_line(struct cmd *c, struct buf *line, struct err *err);

/* The exit code after a cancel: which signal it was. 0 when there was none. */
int cmd_signal_code(void);

/* Output for the user or a pipe (say.c). Registered secrets are masked in all of it. */
void say_error(const struct err *err);
void say(const char *fmt, ...) PRINTF_LIKE(1, 2);       /* "tenax: …" on standard error */
void say_plain(const char *fmt, ...) PRINTF_LIKE(1, 2); /* without the name in front */
/* The same between two escape sequences of ours (or empty strings). */
void say_colored(const char *before, const char *after, const char *fmt, ...) PRINTF_LIKE(3, 4);
/* A line on a terminal that the next one replaces, as does any other output; "" removes it. No
 * effect if standard error is not a terminal. */
void say_status(const char *fmt, ...) PRINTF_LIKE(1, 2);
/* Writes to standard output, a terminal getting control characters made harmless; false when the
 * reader is gone, on cancel (which may be NULL), or when the disk is full, which is reported.
 * *ret_code is then the exit code. */
bool say_out(struct str text, struct cancel *cancel, int *ret_code);
/* The same for lists and other text for people: control characters are made harmless in a pipe,
 * too. */
bool say_live(struct str text, struct cancel *cancel, int *ret_code);

/* The prompt: words of the command line, then piped input (prompt.c). */
int prompt_gather(struct cmd *c, struct buf *ret, struct err *err);
