/*
 * The agents of a session that others start: which types there are, how many may run, and what
 * becomes of each from its start to its report.
 *
 * Each is a task (agent/task.h) and a child of the host (agent/spawn.h); here is what lies between:
 * the queue for a free slot, the wait of a foreground call, the way to the background, the end with
 * its notification. An agent whose own background agents still run has not ended: it waits for
 * them. One that has ended is freed, and a message resumes it from its file.
 *
 * Any thread. No lock is held while anything waits.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/task.h"
#include "base/buf.h"
#include "base/str.h"
#include "llm/effort.h"
#include "llm/event.h"

struct agents;
struct cancel;
struct conf;
struct crew;
struct definition;
struct definitions;
struct err;
struct identity;
struct permit;
struct spawner;
struct strv;
struct task_table;
struct workspace;

#define AGENTS_MAX_PROMPT ((size_t)1 << 20)

struct agents_spec {
    const struct conf *conf;
    struct task_table *tasks;
    struct spawner *spawner;
    struct crew *crew;
    const char *session; /* uuid */
    const char *folder;  /* of the session; NULL: nothing is kept */
    bool is_headless;
};

/* ERR_BAD_INPUT: --agents makes no sense. What it points to outlives it. */
int agents_new(const struct agents_spec *spec, struct agents **ret, struct err *err);
/* From here on none is started, and those who wait for one wait no longer. */
void agents_close(struct agents *a);
void agents_free(struct agents *a); /* NULL is fine */

/* Of a session that is resumed in dir: its agents are in the table again. notice() is called with
 * the notification of each that ran in the background when the session ended, and was not told. */
typedef void (*agents_notice_fn)(void *arg, const struct task_view *v, struct str text);
void agents_recall(struct agents *a, const char *transcript, const char *dir,
                   agents_notice_fn notice, void *arg);

/* ---- Types ---- */

/* As they are now; yours. */
struct definitions *agents_types(struct agents *a);
/* Those of an SDK, as a JSON object; in place of those it brought before. */
int agents_bring(struct agents *a, struct str json, struct err *err);
/* The text about them for the model: all (first), or changes since the last one. Nothing when there
 * are none. json gets the same as an attachment of the transcript. */
void agents_tell_types(struct agents *a, bool first, struct buf *ret_text, struct buf *ret_json);

/* ---- Started ---- */

enum agents_road {
    ROAD_FOREGROUND,
    ROAD_BACKGROUND,
    ROAD_FORK,
};

/* Lent for the call. Empty or 0: as in the definition or the parent. */
struct agents_order {
    const struct identity *by;
    struct permit *permit; /* of the parent: its mode */
    struct workspace *workspace;
    struct str tool_use_id; /* empty: of no call */
    struct str description, prompt, type, model, isolation, name;
    enum effort effort;
    bool in_background;
    struct cancel *cancel;
};

/* What came of it. release() it. */
struct agents_outcome {
    bool is_async; /* it works on in the background; nothing of its end is known */
    enum task_state state;
    char id[TASK_ID_MAX + 1];
    char *type, *description, *prompt, *model, *output_file;
    char *report; /* what it said last; or empty */
    char *cause;  /* why it failed; or empty */
    char *note;   /* what qualifies the report: "stopped at its 3-turn limit"; or empty */
    char *denied; /* tools of calls that were denied, "2 (Bash, Write)"; or empty */
    char *worktree, *branch;
    struct llm_usage usage; /* of its last call of the model */
    struct task_usage total;
};
void agents_outcome_release(struct agents_outcome *o);

/* Starts one; in the foreground, waits for its end. ERR_BAD_INPUT: no such type (with those there
 * are), an empty prompt; ERR_TOO_BIG: a limit of the session; ERR_CANCELLED: the caller was
 * interrupted, and the agent with it. */
int agents_start(struct agents *a, const struct agents_order *order, struct agents_outcome *ret,
                 struct err *err);

/* The agents of foreground calls that run move to the background: of this call, or all when the id
 * is empty; how many. */
size_t agents_send_away(struct agents *a, struct str tool_use_id);
/* All that run in the background are stopped, as by the user; how many. */
size_t agents_stop_background(struct agents *a);

/* Lent for the call. */
struct agents_note {
    const struct identity *by;   /* NULL: the user has written it */
    struct permit *permit;       /* of the sender: an agent that is resumed gets no wider mode */
    struct workspace *workspace; /* the same: where it works when its own worktree is gone */
    struct str to, text;
    struct cancel *cancel;
};

/* SendMessage: to one by id or name. *ret_resumed: it had ended, and is resumed. Fails with a
 * sentence for the model. */
int agents_message(struct agents *a, const struct agents_note *note, bool *ret_resumed,
                   char ret_id[static TASK_ID_MAX + 1], struct err *err);
