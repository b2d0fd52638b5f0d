/*
 * Tools: what a model can do. One row each.
 *
 * A tool consists of a const struct tool_entry at the top of tools/<name>.c; the text for the model
 * in tools/<name>.md, followed by its JSON schema in a fenced block (the build makes tool_<name>_md
 * and tool_<name>_schema of them); and its name in tools/tools.def. tools_test fails if a tool has
 * no text or an invalid schema, or if the whole table is larger than 12 KB.
 *
 * run() is called on a tool thread and sees only its call. Its caller (agent/call/call.c) does the
 * schema check, hooks, permission, time limits, cancelling of parallel calls, and truncation. run()
 * may block as long as it watches call->cancel. It returns 0 with a result (is_error marks an error
 * result), or fails with an error whose text becomes the result.
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
struct sandbox_hosts;
struct spawner;
struct spending;
struct team;
struct toolbox;
struct trial;
struct workspace;

#define TOOL_MAX_TEXT ((size_t)32 << 20)    /* of a result before capping */
#define TOOL_MAX_RESULT ((size_t)30 * 1000) /* default limit of bytes for the model */

struct tool_image {
    const char *media_type; /* "image/png" */
    struct buf bytes;
};

struct tool_result {
    struct buf text; /* BUF_INIT(TOOL_MAX_TEXT) */
    VEC(struct tool_image) images;
    struct buf data; /* JSON for hooks, SDK and transcript (toolUseResult); may be empty */
    bool is_error;
    bool stops_batch; /* killed, timed out or not started: parallel calls are cancelled */
    bool is_capped;   /* the tool has already truncated its text */
    bool is_denied;   /* the user denied it (TOOL_PERSON); counted as a denial */
    bool ends_turn;   /* and the turn is to end */
    /* Of a skill: its text, which the model gets after the results, and what it grants for the rest
     * of the turn; or NULL. */
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
    const struct identity *identity; /* of the agent; NULL if no agent made the call */
    const struct json *args;         /* matches the schema */
    const char *real; /* the resolved path that was permitted; NULL if the call has none */
    struct workspace *workspace;
    struct permit *permit; /* for the permission mode; also enters and leaves plan mode */
    struct trial *
        trial; /* set during a trial run, which must not change anything (guard/trial.h); or NULL */
    struct sandbox *sandbox;     /* where commands run; NULL = unconfined */
    struct sandbox_hosts *hosts; /* that a command reaches beside those of the settings; gets the
                                    refused ones; or NULL */
    struct asker *asker;         /* to ask the user; NULL if there is no user */
    const struct conf *conf;
    struct net *net;            /* NULL = no network in this run */
    struct referee *referee;    /* may be NULL */
    struct spending *spending;  /* account for the tool's model calls; NULL = not counted */
    struct spawner *spawner;    /* to start agents; NULL if that is not possible */
    struct toolbox *toolbox;    /* the toolbox of the call; or NULL */
    struct extra_source *extra; /* source of more tools; or NULL */
    struct team *team;          /* the session's team and task list; or NULL */
    const char *model_name;     /* "anthropic/claude-sonnet-5", for tools that call a model */
    struct cancel *cancel;
    bool sees_all; /* show ignored, hidden and binary files too (for a judge) */
    /* Reports progress to the user; replaces the previous text. Any thread. */
    void (*progress)(struct tool_call *call, struct str text);
    /* Runs the hooks of an event of this tool ("TaskCreated"); members: a JSON object that is
     * merged into the hooks' input. 1: a hook objects, with its reason; 0: none does; -1: error.
     * NULL = no hooks. */
    int (*hook)(struct tool_call *call, const char *event, struct str members,
                struct buf *ret_reason, struct err *err);
    void *agent; /* for progress() and hook() */
};

struct tool_entry {
    const char *name;
    const char *text;   /* tool_<name>_md */
    const char *schema; /* tool_<name>_schema */
    unsigned flags;
    size_t max_result; /* 0 = TOOL_MAX_RESULT */
    /* What "(…)" names in permission rules for this tool (guard/rule.h). 0 = a name. */
    enum rule_about specifier;

    void *arg; /* for rows made at run time: belongs to their maker */

    /* The functions below get the row, or a call that points to it.
     *
     * Returns additional flags for these arguments (a Bash command that only reads). NULL = none.
     */
    unsigned (*more_flags)(const struct tool_entry *e, const struct json *args);
    /* Gets the facts that permission rules match; slices are in the arena. NULL = only the name. */
    void (*about)(const struct tool_entry *e, struct workspace *w, const struct json *args,
                  struct arena *arena, struct rule_subject *ret);
    /* Appends the arguments as JSON with derived fields, such as an absolute file_path, for hooks,
     * SDK and permission requests. The model's own input is not changed. NULL = no derived fields.
     */
    void (*expand)(const struct tool_entry *e, struct workspace *w, const struct json *args,
                   struct buf *ret);
    /* Whether this session offers the tool (WebSearch needs a provider that supports it). NULL =
     * always. */
    bool (*offered)(const struct tool_entry *e, const struct conf *conf,
                    const struct provider *provider);
    /* Called before the user is asked: whether run() can work. Makes the same checks as run(),
     * fails with the same errors, and changes nothing. NULL = no checks. */
    int (*check)(struct tool_call *call, struct tool_result *ret, struct err *err);
    int (*run)(struct tool_call *call, struct tool_result *ret, struct err *err);

    /* The schema shown to the model where providers reject the real one; NULL = the real one. */
    const char *shown_schema;
    const char *hint;     /* additional text for searches; or NULL */
    const char *server;   /* name of the MCP server that offers it; NULL = our own */
    const char *raw_name; /* the server's name for the tool; NULL = name */
    const char *must_ask; /* why the user is asked about each call, whatever rules, hooks and mode
                           * allow; NULL = there is no reason */
    bool may_go_unasked;  /* must_ask: where nobody can be asked it is only a warning */
};

unsigned tool_flags(const struct tool_entry *e, const struct json *args);

/* The expand() of tools with a file_path; their about() is workspace_about_path(). */
void tool_expand_path(struct workspace *w, const struct json *args, const char *key,
                      struct buf *ret);
/* The resolved path of the call as it was permitted; free it. Open it only with pinned_open(),
 * since a link may have replaced it. */
char *tool_real_path(const struct tool_call *call, const char *path);
