/*
 * The inside of the Agent Client Protocol; for src/proto/acp alone.
 *
 * acp.c has the methods and what a connection is; acp_session.c opens, loads, lists and closes
 * sessions; acp_prompt.c runs prompts and ends them; acp_content.c reads their content;
 * acp_update.c turns events into updates; acp_tool.c shows calls of tools; acp_ask.c asks the user;
 * acp_files.c uses the editor's files; acp_options.c has modes, models, efforts and commands. The
 * loop's thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/id.h"
#include "base/map.h"
#include "base/str.h"
#include "base/vec.h"
#include "json/jw.h"
#include "llm/event.h"
#include "proto/rpc/client.h"

struct acp_asked;
struct acp_files;
struct event;
struct json;
struct message;

#define ACP_MAX_TEXT ((size_t)16 << 20)
#define ACP_MAX_DIFF ((size_t)1 << 20)    /* of a text that a diff shows whole */
#define ACP_MAX_OUTPUT ((size_t)30 << 10) /* of a command, shown while it runs */
#define ACP_PROGRESS_MS 250

/* A connection. */
struct acp {
    struct client *client;
    bool is_initialized;
    bool reads_files, writes_files;
    bool shows_terminals, notices, compactions, forms, urls, terminal_login;
};

/* A session/prompt that is not answered. */
struct acp_prompt {
    struct rpc_call *call;
    char uuid[ID_UUID_LEN + 1];
    bool is_taken;     /* the session has it */
    bool has_begun;    /* its turn, or its command */
    bool is_cancelled; /* by the client */
    bool is_command;   /* its text has said how it went */
    struct llm_usage usage;
};

/* A call of a tool that the client knows of. */
struct acp_call {
    struct buf name, input, parent; /* parent: the call that started its agent; or empty */
    struct buf output;              /* as it was shown last, of a terminal */
    struct buf step;                /* its agent, while its step may still be void; else empty */
    bool is_hidden;                 /* shown in another way: a plan */
    bool is_terminal;
    bool is_running, is_done;
    int64_t shown_ms;
};

/* A session as one client sees it. */
struct acp_view {
    struct acp *acp;
    struct client_view *view;
    VEC(struct acp_prompt *) prompts;
    VEC(struct acp_asked *) asked;
    struct map calls;   /* id of a call → struct acp_call */
    struct map seen;    /* ids of messages and inputs that a replay has shown */
    struct buf message; /* id of the one that the main agent is saying */
    bool skips_step;    /* the replay has shown it */
    bool in_turn;
    bool is_running; /* as last reported to the client */
    struct buf user; /* uuid of the input that was heard last */
    struct buf goal, options, mode, title;
    uint64_t goal_from;      /* number of the first event whose goal has not been said */
    struct acp_files *files; /* NULL: the editor has none to lend */
};

struct acp_view *acp_view_of(const struct client_view *v);

/* ---- acp.c ---- */

/* The view that params.sessionId names; NULL: the call was refused. */
struct acp_view *acp_view_for(struct acp *a, struct rpc_call *call);
enum rpc_code acp_code(const struct err *err);

/* ---- acp_update.c ---- */

struct acp_update {
    struct acp_view *view;
    struct buf text;
    struct jw w;
};
/* The caller writes members of the update into the writer returned. */
struct jw *acp_begin(struct acp_update *u, struct acp_view *v, const char *kind);
void acp_end(struct acp_update *u);

void acp_event(struct client_view *view, const struct event *e);
/* The events of a transcript: what they show is remembered, so that events that follow do not show
 * it again. Another replay shows all of it again. */
void acp_replay(struct acp_view *v, struct event *const *events, size_t count);
void acp_say_notice(struct acp_view *v, const char *severity, struct str text);
/* json: as of EVENT_GOAL; each state of it is said once. */
void acp_say_goal(struct acp_view *v, struct str json);
void acp_say_state(struct acp_view *v, bool is_running);
void acp_say_title(struct acp_view *v);

/* ---- acp_tool.c ---- */

struct acp_call *acp_find_call(struct acp_view *v, struct str id);
void acp_forget_call(struct acp_view *v, struct str id);
void acp_free_calls(struct acp_view *v);
void acp_tool_said(struct acp_view *v, const struct event *e);     /* BLOCK_DONE */
void acp_tool_started(struct acp_view *v, const struct event *e);  /* TOOL_STARTED */
void acp_tool_progress(struct acp_view *v, const struct event *e); /* TOOL_PROGRESS */
void acp_tool_done(struct acp_view *v, const struct event *e);     /* TOOL_DONE */
/* The step of this agent holds, or it is void and its calls are, too. */
void acp_tools_settle(struct acp_view *v, const char *agent, bool is_void);
/* Members of a tool call that is not done: id, title, name, kind, input, content, locations. */
void acp_write_call(struct acp_view *v, struct jw *w, struct str id, struct str name,
                    struct str input);
/* A content item of text. */
void acp_write_text(struct jw *w, struct str text);

/* ---- acp_prompt.c ---- */

void acp_prompt(struct acp *a, struct rpc_call *call);
void acp_cancel(struct acp_view *v);
void acp_prompt_taken_back(struct acp_view *v, struct rpc_call *call);
/* Its own input: true, and its turn has begun. */
bool acp_prompt_heard(struct acp_view *v, struct str uuid);
void acp_prompt_turn_started(struct acp_view *v, const struct event *e);
void acp_prompt_command(struct acp_view *v, const struct event *e);
void acp_prompt_turn_done(struct acp_view *v, const struct event *e);
void acp_prompts_free(struct acp_view *v);

/* ---- acp_content.c ---- */

/* -1: something in it cannot be sent. */
int acp_content(const struct json *prompt, struct message **ret, struct err *err);

/* ---- acp_ask.c ---- */

void acp_ask(struct client_view *view, uint64_t id, const struct ask *ask);
void acp_withdrawn(struct client_view *view, int64_t request);
void acp_asked_free(struct acp_view *v);
/* All that is asked is answered with no. */
void acp_asks_refuse(struct acp_view *v);

/* ---- acp_files.c ---- */

void acp_files_lend(struct acp_view *v);
void acp_files_withdraw(struct acp_view *v);
/* Files that had to be read from the disk are named before what comes of it. */
void acp_files_complain(struct acp_view *v);

/* ---- acp_options.c ---- */

void acp_write_modes(struct acp_view *v, struct jw *w);   /* member "modes" */
void acp_write_options(struct acp_view *v, struct jw *w); /* the array */
void acp_say_options(struct acp_view *v);                 /* when they have changed */
void acp_say_commands(struct acp_view *v);
void acp_set_mode(struct acp *a, struct rpc_call *call);
void acp_set_option(struct acp *a, struct rpc_call *call);

/* ---- acp_session.c ---- */

void acp_session_new(struct acp *a, struct rpc_call *call);
void acp_session_load(struct acp *a, struct rpc_call *call);
void acp_session_resume(struct acp *a, struct rpc_call *call);
void acp_session_list(struct acp *a, struct rpc_call *call);
void acp_session_close(struct acp *a, struct rpc_call *call);
void acp_session_delete(struct acp *a, struct rpc_call *call);
