/*
 * Commands that run in the background of a workspace, and what they say.
 *
 * Each has an id (bash_1, …) and a file that gets all of its output. The agent hears of their begin
 * and end (agent/news.h). They end with the workspace. At most 32 run at once. Any thread.
 */
#pragma once

#include <stdbool.h>

#include "agent/news.h"
#include "base/buf.h"
#include "base/str.h"

struct command_spec;
struct err;
struct workspace;

#define BACKGROUND_ID 24

struct background_started {
    char id[BACKGROUND_ID];
    char *path; /* of the output; yours to free */
};

/* what: for people; empty: the command itself. c->job becomes the command's, or is freed. */
int background_start(struct workspace *w, const struct command_spec *c, struct str what,
                     struct str tool_use_id, struct background_started *ret, struct buf *notes,
                     struct err *err);

struct background_view {
    enum news_status status;
    char *command;      /* yours to free */
    bool has_code;      /* false: it runs, or was killed */
    int code;           /* the exit code, or 128 + signal */
    struct buf text;    /* what is new, with its middle left out when it is long */
    struct buf summary; /* "running", "completed", "failed with exit code 1", "killed" */
};
void background_view_release(struct background_view *v);

/* What was written since the last look; with a pattern only the lines that match, the others are
 * passed over for good. ERR_NOT_FOUND names the ids there are, ERR_BAD_INPUT says what is wrong
 * with the pattern. */
int background_look(struct workspace *w, struct str id, struct str pattern,
                    struct background_view *ret, struct err *err);

/* How many run, what they are for a person (names may be NULL), and when one of them last said
 * something, or began (clock_mono_ms()). */
size_t background_running(struct workspace *w, struct buf *names, int64_t *ret_last_ms);

/* All there are, in the order they began, also those that are over: how many. Everything is lent
 * for the call. */
struct background_row {
    const char *id;
    struct str command;
    enum news_status status;
    struct str summary;
    const char *path; /* of the output */
};
size_t background_each(struct workspace *w, void (*fn)(void *arg, const struct background_row *row),
                       void *arg);

/* Returns at once; it gets SIGTERM, then SIGKILL. Appends the summary when it was over already. */
int background_kill(struct workspace *w, struct str id, struct buf *ret_was_over, struct err *err);
