/*
 * The inside of the app-server; for src/proto/codex alone.
 *
 * codex_server.c has the methods and the connection; codex_thread.c starts, resumes and forks
 * threads; codex_turn.c starts, steers and interrupts turns and reports what happens in them,
 * codex_diff.c the files that they change;
 * codex_ask.c asks for approvals; codex_goal.c has thread/goal, codex_goal_elsewhere.c that of
 * threads of other processes, which codex_goal_follow.c follows; codex_list.c has the lists;
 * items.c what a turn is made of. The loop's thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/id.h"
#include "base/str.h"
#include "base/strv.h"
#include "base/vec.h"
#include "json/jw.h"
#include "llm/event.h"
#include "proto/codex/items.h"
#include "proto/rpc/client.h"
#include "store/store.h"

struct codex_asked;
struct codex_follow;
struct diff_file;
struct event;
struct json;
struct store_goal;

#define CODEX_MAX_TEXT ((size_t)64 << 20)
#define CODEX_MAX_LEFT 1000
#define CODEX_VERSION "0.169.0" /* what clients take for the version of Codex */

/* A connection. */
struct codex {
    struct client *client;
    bool is_initialized;
    struct buf name;   /* of the client */
    struct strv muted; /* notifications that it does not want */
    struct strv left;  /* threads that it has unsubscribed from */
    struct codex_follow *follow;
};

/* A thread as one client sees it. */
struct codex_view {
    struct codex *app;
    struct client_view *view;
    struct items items;
    VEC(struct codex_asked *) asked;
    struct buf status;  /* as last reported */
    struct buf goal;    /* the same, JSON; empty: none reported yet */
    uint64_t goal_from; /* number of the first event whose goal is not reported by an answer */
    struct buf started; /* id of a turn that was answered for and has not begun; or empty */
    bool is_waiting_for_approval, is_waiting_for_input;
    bool denies_asks; /* approvalPolicy "never" */
    bool is_ephemeral;
    bool in_turn;
    bool has_failed; /* the last turn */
    bool owes_usage; /* of `last`: not reported yet */
    struct llm_usage total, last;
    VEC(struct diff_file *) changed; /* by the turn that runs */
    struct buf diff;                 /* as last reported */
    const char *policy, *sandbox;    /* as they were chosen; NULL: by the settings */
};

struct codex_view *codex_view_of(const struct client_view *v);

/* ---- codex_server.c ---- */

/* The view of params.threadId; NULL: the call was refused. */
struct codex_view *codex_view_for(struct codex *a, struct rpc_call *call);
/* params.threadId; false: there is none or it is no UUID, and the call was refused. */
bool codex_thread_id(struct rpc_call *call, struct str *ret);
/* "missing field `x`" */
void codex_refuse_missing(struct rpc_call *call, const char *field);
enum rpc_code codex_code(const struct err *err);
/* Unless the client does not want it. */
void codex_notify(struct codex *a, const char *method, const struct buf *params);
/* {"threadId": …: the caller writes the rest, and codex_end() sends it. */
struct codex_note {
    struct codex_view *view;
    const char *method;
    struct buf text;
    struct jw w;
};
struct jw *codex_begin(struct codex_note *n, struct codex_view *v, const char *method);
void codex_end(struct codex_note *n);

/* ---- codex_thread.c ---- */

void codex_thread_start(struct codex *a, struct rpc_call *call);
void codex_thread_resume(struct codex *a, struct rpc_call *call);
void codex_thread_fork(struct codex *a, struct rpc_call *call);
void codex_thread_unsubscribe(struct codex *a, struct rpc_call *call);
void codex_thread_name_set(struct codex *a, struct rpc_call *call);
void codex_thread_compact(struct codex *a, struct rpc_call *call);
/* The client has it no longer; a notice follows when it is closed. Frees the view. */
void codex_leave(struct client_view *v);
void codex_closed(struct client *c, struct str session);
/* Policies of a request, applied to the thread: -1 and the reason. */
int codex_apply(struct codex_view *v, const struct json *params, struct err *err);

struct codex_thread {
    const struct store_session *row; /* its stored data; NULL: none */
    const char *id, *path, *provider, *model, *effort;
    struct str cwd, forked_from;
    bool is_ephemeral;
    const char *status;        /* JSON */
    const struct items *turns; /* NULL: they are not told */
};
void codex_write_thread(struct jw *w, const struct codex_thread *t);
const char *codex_status_of(const struct codex_view *v, struct buf *room);

/* ---- codex_turn.c ---- */

void codex_turn_start(struct codex *a, struct rpc_call *call);
void codex_turn_steer(struct codex *a, struct rpc_call *call);
void codex_turn_interrupt(struct codex *a, struct rpc_call *call);
void codex_interrupt(struct codex_view *v);
void codex_event(struct client_view *view, const struct event *e);
void codex_say_status(struct codex_view *v);
void codex_items_init(struct codex_view *v);

/* ---- codex_diff.c ---- */

/* An item has ended: reports the diff of the turn if it has changed. */
void codex_diff_say(struct codex_view *v, const struct codex_turn *t, const struct codex_item *it);
void codex_diff_clear(struct codex_view *v);
void codex_diff_release(struct codex_view *v);

/* ---- codex_ask.c ---- */

void codex_ask(struct client_view *view, uint64_t id, const struct ask *ask);
void codex_withdrawn(struct client_view *view, int64_t request);
void codex_asked_free(struct codex_view *v);
void codex_asks_refuse(struct codex_view *v);

/* ---- codex_goal.c ---- */

void codex_goal_set(struct codex *a, struct rpc_call *call);
void codex_goal_get(struct codex *a, struct rpc_call *call);
void codex_goal_clear(struct codex *a, struct rpc_call *call);
/* A goal that an event has, if it differs from the last report. turn: of the change, or empty. */
void codex_goal_event(struct codex_view *v, const struct event *e, struct str turn);
/* Of a thread that was opened. */
void codex_goal_opened(struct codex_view *v);
/* thread: JSON as of goal_thread_json(); without what only tenax has. */
void codex_bare_goal(struct str thread, struct buf *ret);

/* Whether a client may set this status, or it is the goal's already (now; NULL: there is none).
 * Empty: none is set. */
int codex_check_status(struct str status, const struct store_goal *now, struct err *err);

/* ---- codex_goal_elsewhere.c ---- */

/* thread/goal/set or clear of a thread that another process has open. */
void codex_goal_elsewhere(struct codex *a, struct rpc_call *call, bool clears);

/* ---- codex_goal_follow.c ---- */

struct codex_follow *codex_follow_new(struct codex *a);
/* The client is gone. */
void codex_follow_end(struct codex_follow *f);
void codex_follow_free(struct codex_follow *f);
/* A request to change the goal of a thread elsewhere is under way: until codex_follow_changed(),
 * nothing is reported. to: as it was answered; NULL: the request failed. */
void codex_follow_begin(struct codex *a);
struct codex_changed {
    struct buf goal; /* JSON, or null */
    int64_t updated_ms;
    int64_t event; /* the newest in the ledger */
};
void codex_follow_changed(struct codex *a, struct str id, const struct codex_changed *to);
/* The thread is open here, or the client does not want it any more. */
void codex_unfollow(struct codex *a, struct str id);

/* ---- codex_list.c ---- */

void codex_thread_list(struct codex *a, struct rpc_call *call);
void codex_thread_read(struct codex *a, struct rpc_call *call);
void codex_thread_delete(struct codex *a, struct rpc_call *call);
void codex_loaded_list(struct codex *a, struct rpc_call *call);
void codex_turns_list(struct codex *a, struct rpc_call *call);
void codex_items_list(struct codex *a, struct rpc_call *call);
void codex_model_list(struct codex *a, struct rpc_call *call);
void codex_skills_list(struct codex *a, struct rpc_call *call);
void codex_mcp_list(struct codex *a, struct rpc_call *call);
void codex_account_read(struct codex *a, struct rpc_call *call);
void codex_config_read(struct codex *a, struct rpc_call *call);
void codex_profile_list(struct codex *a, struct rpc_call *call);
/* The row of a session; ERR_NOT_FOUND. ix keeps its texts. Any thread. */
struct index;
int codex_find_row(const struct client *c, struct str id, struct index *ix, struct buf *ret_path,
                   const struct store_session **ret, struct err *err);
