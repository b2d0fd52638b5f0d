/*
 * The session on disk: a journal (agent/journal.h) that is a transcript.
 *
 * Knows which line the next one hangs on, and what all lines share. When the disk is full, the user
 * is asked whether to continue without saving; without a user the turn ends with the reason.
 * Existing lines are never touched.
 */
#pragma once

#include <stdbool.h>

#include "base/str.h"
#include "store/transcript/transcript.h"

struct agent_input;
struct asker;
struct buf;
struct err;
struct file_changes;
struct file_history;
struct journal;
struct record;
struct workspace;

/* The tool_name of that question: it is no tool's, and a front end may want to show it so. */
#define RECORD_ASKS_AS "SessionRecord"

/* Everything is copied except pointers to other than strings. */
struct record_spec {
    const char *path;    /* of the transcript */
    const char *session; /* uuid */
    /* Of an agent that works for the session's own: all lines are sidechain lines, and path is
     * record_agent_path(). NULL: the session's own. */
    const char *agent_id;
    const char *entrypoint;
    enum transcript_sync sync;
    struct workspace *workspace;  /* the current folder and its branch stand in every line */
    struct asker *asker;          /* NULL: no one to ask */
    const char *folder;           /* of the session: files are kept there before they are changed */
    struct file_changes *changes; /* of a session that goes on; given away. NULL: none */
    /* A message for the user. Any thread. */
    void (*notice)(void *arg, struct str text);
    void *notice_arg;
    struct str leaf; /* the line that the first new one hangs on; empty: none */
    struct str seed; /* lines that go before the first new one: of a fork */
};

/* <session's folder>/subagents/agent-<id>.jsonl */
void record_agent_path(const char *folder, const char *agent_id, struct buf *ret);

struct record *record_new(const struct record_spec *spec);
void record_free(struct record *r);
struct journal *record_journal(struct record *r);
/* Input that waits and will not be used in this run any more: unlike the journal's queue() it
 * creates the file if the session had no messages. Any thread. */
int record_keep(struct record *r, const struct agent_input *input, struct err *err);
struct transcript *record_transcript(struct record *r);
struct file_history *record_files(struct record *r); /* how files were before they were changed */

/* The conversation continues from this line; agent thread, or no agent exists yet. */
void record_go_on_from(struct record *r, struct str uuid);
bool record_forgets(const struct record *r); /* the user chose to continue without saving */

/* Facts, at once or with the first message. Any thread. */
int record_title(struct record *r, struct str title, struct err *err);
int record_ai_title(struct record *r, struct str title, struct err *err); /* a model's */
int record_agent_type(struct record *r, struct str name, struct err *err);
int record_coordinator(struct record *r, bool on, struct err *err);
int record_mode(struct record *r, struct str mode, struct err *err);
