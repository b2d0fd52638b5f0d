/*
 * Tools: what a model can do, one row each.
 *
 * A tool is a const struct tool_entry at the top of tools/<name>.c, the words the model reads in
 * tools/<name>.md (the text, then its JSON schema in a fenced block; the build makes tool_<name>_md
 * and tool_<name>_schema of them), and its name in tools/tools.def.
 * tools_test fails while a tool has no text, a schema that does not parse, or the whole table is
 * larger than 12 KB.
 *
 * run() is called on a tool thread and sees only its call. Schema check, hooks, permission, time,
 * cancelling siblings, capping and spilling are done around it (agent/call.c); it knows none of
 * them. It may block as long as it watches call->cancel. It succeeds with a result (is_error says
 * that the text is bad news for the model), or fails with an error whose text goes to the model.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/str.h"
#include "base/vec.h"
#include "guard/rule.h"
#include "guard/tool_flags.h"
#include "llm/event.h"

struct agent_command;
struct arena;
struct asker;
struct cancel;
struct conf;
struct err;
struct extra_source;
struct json;
struct identity;
struct net;
struct permit;
struct provider;
struct referee;
struct sandbox;
struct spawner;
struct spending;
struct team;
struct toolbox;
struct trial;
struct workspace;

#define TOOL_MAX_TEXT ((size_t)32 << 20)    /* of a result before capping */
#define TOOL_MAX_RESULT ((size_t)30 * 1000) /* bytes the model is shown, unless the row says */

struct tool_image {
    const char *media_type; /* "image/png" */
    struct buf bytes;
};

struct tool_result {
    struct buf text; /* BUF_INIT(TOOL_MAX_TEXT) */
    VEC(struct tool_image) images;
    struct buf data; /* JSON for hooks, SDK and transcript (toolUseResult); empty: none */
    bool is_error;
    bool stops_batch; /* killed, timed out or not started: calls running beside it are cancelled */
    bool is_capped;   /* the tool has cut and spilled its text itself */
    bool is_denied;   /* the user denied it (TOOL_PERSON): counts among the denials */
    bool ends_turn;   /* and wants the turn to end */
    /* A skill was called: its text, which the model gets after the results, and what it grants for
     * the rest of the turn; NULL: nothing. */
    struct buf follow;
    struct agent_command *command;
};

#define TOOL_RESULT_INIT                                                                           \
    {                                                                                              \
        .text = BUF_INIT(TOOL_MAX_TEXT), .data = BUF_INIT(TOOL_MAX_TEXT),                          \
        .follow = BUF_INIT(TOOL_MAX_TEXT)                                                          \
    }
void tool_result_release(struct tool_result *r);

struct tool_call {
    const struct tool_entry *entry;
    struct str id;                   /* "toolu_…" */
    const struct identity *identity; /* of the agent; NULL: of none */
    const struct json *args;         /* fits the schema */
    const char *real; /* the path that it is about, as it was permitted; NULL: of none */
    struct workspace *workspace;
    struct permit *permit; /* the mode; plan mode is entered and left through it */
    struct trial *trial;   /* run on trial: nothing is to change (guard/trial.h); NULL: it is not */
    struct sandbox *sandbox; /* where commands run; NULL: they are not confined */
    struct asker *asker;     /* to ask the user; NULL: no one is there */
    const struct conf *conf;
    struct net *net;            /* NULL: this run has no network */
    struct referee *referee;    /* NULL: there is none */
    struct spending *spending;  /* where calls of a model are paid; NULL: they cost nothing */
    struct spawner *spawner;    /* to start agents; NULL: none can be started here */
    struct toolbox *toolbox;    /* that the call was made with; NULL: none */
    struct extra_source *extra; /* where more tools may come from; NULL: nowhere */
    struct team *team;          /* the session's team and its task list; NULL: none */
    const char *model_name; /* "anthropic/claude-sonnet-5", for a tool that asks a model itself */
    struct cancel *cancel;
    bool sees_all; /* a judge looks: ignored, hidden and binary files are shown too */
    /* Progress for the user: replaces the previous text. Any thread. */
    void (*progress)(struct tool_call *call, struct str text);
    /* Asks the hooks of an event of the tool's own ("TaskCreated"), whose input has these members
     * (a JSON object) beside the common ones. 1: a hook objects, with its reason; 0: none; -1.
     * NULL: there are no hooks. */
    int (*hook)(struct tool_call *call, const char *event, struct str members,
                struct buf *ret_reason, struct err *err);
    void *agent; /* of progress() */
};

struct tool_entry {
    const char *name;
    const char *text;   /* tool_<name>_md */
    const char *schema; /* tool_<name>_schema */
    unsigned flags;
    size_t max_result; /* 0: TOOL_MAX_RESULT */

    void *arg; /* of a row that is made at run time: its maker's */

    /* Every function below gets the row, or a call that names it.
     *
     * More flags of this very call (a Bash command that only reads); NULL: none. */
    unsigned (*more_flags)(const struct tool_entry *e, const struct json *args);
    /* What permission rules look at; slices live in the arena. NULL: only the name. */
    void (*about)(const struct tool_entry *e, struct workspace *w, const struct json *args,
                  struct arena *arena, struct rule_subject *ret);
    /* Derived fields for hooks, SDK and permission requests, such as an absolute file_path: appends
     * the args as JSON with them. NULL: the args as they are. What the model sent stays as it is.
     */
    void (*expand)(const struct tool_entry *e, struct workspace *w, const struct json *args,
                   struct buf *ret);
    /* Whether this session offers the tool at all (WebSearch needs a provider that has it). NULL:
     * always. */
    bool (*offered)(const struct tool_entry *e, const struct conf *conf,
                    const struct provider *provider);
    /* Whether run() could work at all, found out by the same checks and without changing anything;
     * called before the user is asked about it. Its errors are those of run(). NULL: nothing to
     * check. */
    int (*check)(struct tool_call *call, struct tool_result *ret, struct err *err);
    int (*run)(struct tool_call *call, struct tool_result *ret, struct err *err);

    /* What the model is shown in place of the schema, where providers do not take it as it is;
     * NULL: the same. */
    const char *shown_schema;
    const char *hint;     /* more text to find it by; NULL: none */
    const char *server;   /* that offers it; NULL: it is our own */
    const char *raw_name; /* the server's name for it; NULL: name */
};

unsigned tool_flags(const struct tool_entry *e, const struct json *args);

/* The usual expand() of tools with a file_path; about() is workspace_about_path(). */
void tool_expand_path(struct workspace *w, const struct json *args, const char *key,
                      struct buf *ret);
/* Where the call's path led to when it was permitted; yours to free. Open it with pinned_open()
 * alone: it may have been replaced by a link since. */
char *tool_real_path(const struct tool_call *call, const char *path);
