/*
 * Slash commands, and the reader of a session's inputs (agent/input.h): which is a prompt, which a
 * command.
 *
 * They need a host and never a screen; front.h has the extras of an interactive front end. To add
 * one: write slash/<name>.c with its row and its run function, and add it to commands.def and
 * meson.build. Lists (system/init, initialize, /help, docs/commands.md) print the rows; slash_test
 * fails while the docs differ.
 *
 * A command may take its time (a goal's checks are run when it is set), so all of a session's run
 * on one thread, one after the other, and a front end does not wait for them. Input after a command
 * that has not answered yet stays unread in the queue: order is kept. Observers are notified of the
 * end of a command (host_answer()).
 *
 * slash_send(), slash_attend(), slash_finish() and slash_interrupt() may be called from any thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "agent/agent.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"
#include "base/strv.h"
#include "base/vec.h"
#include "llm/effort.h"

struct arena;
struct cancel;
struct conf;
struct goal_argument;
struct host;
struct own_list;
struct slash;
struct slash_front;
struct tool_call;

/* What happens once a command has answered. */
enum slash_after {
    AFTER_NOTHING,
    AFTER_NEW,    /* another session: front.h's go() */
    AFTER_RESUME, /* `session` */
    AFTER_FORK,
    AFTER_REWIND, /* the dialog is opened */
    AFTER_LEAVE,
};

/* One command at work. */
struct slash_call {
    struct slash *slash;
    struct host *host;
    /* The model calls a skill (slash/skill_tool.c): its agent's permissions and folder count. NULL:
     * the user has typed it. */
    const struct tool_call *tool;
    const struct slash_front *front; /* NULL: there is no person to choose and look */
    struct str args;                 /* after the name, trimmed */
    const char *source;              /* "built-in"; whose file it is: "user", "project", … */
    /* Of /goal, when the argument was parsed already; NULL: `args` counts. */
    struct goal_argument *goal;
    bool is_client; /* a program asks (slash_ask()), not the user */
    struct cancel *cancel;
    struct buf text; /* the answer */
    /* The same with colors (SGR), where it has some; for those who show it. */
    struct buf color;
    bool is_markdown; /* the model has written it */
    /* The prompt for the model in place of the typed text; empty: none. Only where the command was
     * not requested by a program. */
    struct buf prompt;
    bool is_skill;     /* the prompt is a skill's, which stays in use */
    bool is_own_words; /* the prompt is what the person has written, not what the command says */
    /* What holds for the turn of that prompt alone, beside all else: permission rules, the model
     * (empty: the session's), the effort (UNSET: the session's). */
    struct strv allow, deny;
    struct strv only; /* what none of these rules matches is denied; empty: nothing is */
    struct str model;
    enum effort effort;
    bool goes_on; /* a turn will begin by itself */
    enum slash_after after;
    struct buf session; /* AFTER_RESUME: its id */
};

struct slash_command {
    const char *name;    /* "goal" */
    const char *aliases; /* "reset new"; NULL: none */
    const char *hint;    /* "[<condition> | clear]"; "" when it takes nothing */
    const char *summary; /* one sentence, no full stop */
    const char *setting; /* false hides it from lists; NULL: always there */
    bool in_terminal;    /* of no use anywhere else */
    bool gives_way;      /* to a command of the user's own that has its name */
    const char *more;    /* for docs/commands.md, Markdown; NULL: the summary says it all */
    /* NULL: the agent takes it up itself, in its turn among inputs (/compact). */
    int (*run)(struct slash_call *call, struct err *err);
};

size_t slash_count(void);
const struct slash_command *slash_at(size_t i);
bool slash_is_listed(const struct slash_command *c, const struct conf *conf);
/* All commands that can be typed now, the listed built-in ones and the user's own; slices are in
 * the arena. Never waits. */
struct slash_item {
    struct str name;
    struct str aliases; /* a blank between two */
    struct str hint, summary;
    bool is_own, is_skill, in_terminal;
};
typedef VEC(struct slash_item) slash_item_vec;
void slash_list(struct slash *s, struct arena *arena, slash_item_vec *ret);
/* "/goal all tests pass" → "goal", "all tests pass"; false: it does not begin with a slash. */
bool slash_split(struct str text, struct str *ret_name, struct str *ret_args);
struct str slash_word(struct str text); /* up to the first blank */
/* The command of the table that a text means ("/goal", "/goal all tests pass"); NULL: there is
 * none of that name. */
const struct slash_command *slash_find(struct str text, struct str *ret_args);

/* The table as Markdown, for docs/commands.md (scripts/commands-docs). */
void slash_write_docs(struct buf *out);
void slash_write_list(struct buf *out); /* for a terminal: names and summaries */

struct slash *slash_new(struct host *h, struct cancel *cancel);
/* An interactive front end is there. Lent; before the first command. */
void slash_set_front(struct slash *s, const struct slash_front *front);
/* None is, but another session can be started in place of this one: how /clear does that. Waits as
 * front.h's go(); -1: this one stays. Before the first command; release is called when no command
 * will use it any more. */
typedef int (*slash_anew_fn)(void *arg, struct err *err);
void slash_set_anew(struct slash *s, slash_anew_fn fn, void *arg, void (*release)(void *arg));
bool slash_can_begin_anew(const struct slash *s);
/* The person's own commands and skills that count now (slash/own_now.h); yours: own_list_unref().
 * Waits for hooks that are asked about changes. */
struct own_list *slash_own(struct slash *s);
/* Their folders that hooks watch for changes; host_reload() runs the hooks. */
void slash_own_folders(struct slash *s, struct strv *ret);
/* Cancels the running command and waits for it; no other one is started, and unread prompts are
 * kept for a resumed session. Before host_free(); NULL is fine. */
void slash_free(struct slash *s);
/* The same for a session that is left for another, which gets the queue: unread input stays in
 * it. */
void slash_leave(struct slash *s);

/* What the user or a client says: a command is run, everything else is for the model. Takes the
 * content of *input, also on failure. */
int slash_send(struct slash *s, struct agent_input *input, struct err *err);
/* A message that could not be read gets a result that says why, in its place among the others. */
void slash_refuse(struct slash *s, struct str text);
/* Reads the unread input in the queue: the session has become able to. The first prompt causes the
 * missing parts of the agent to be made, which takes its time. -1: the one with this uuid could not
 * be passed on; for others there is a notice. */
int slash_attend(struct slash *s, struct str uuid, struct err *err);
/* The command /goal with an argument that was read already; takes its content. */
int slash_goal(struct slash *s, struct goal_argument *goal, struct err *err);
/* A command whose answer is for the caller: fn(arg, …) is called with it, once, on
 * the commands' thread, in the place of host_answer(). err NULL: it was done. It is not done when
 * its turn comes later than in wait_ms (ERR_TIMEOUT); 0: whenever that is. */
typedef void (*slash_answer_fn)(void *arg, const struct slash_call *call, const struct err *err);
int slash_ask(struct slash *s, const struct slash_command *command, struct str args,
              int64_t wait_ms, slash_answer_fn fn, void *arg, struct err *err);
/* Cancels the running command, if there is one; it ends as soon as it can and reports that; the
 * queue continues. False: none is running. Any thread. */
bool slash_interrupt(struct slash *s);
/* host_finish() after all commands. */
void slash_finish(struct slash *s, void (*fn)(void *arg), void *arg);

/* How commands went so far: the last failure's code (ERR_NONE: there was none), and whether one has
 * set turns going. */
struct slash_end {
    enum err_code failed;
    bool goes_on;
};
struct slash_end slash_end(struct slash *s);
