/*
 * The course: a session of 40 turns with something of everything that must survive, for survive.c.
 *
 * Four rounds of ten turns. A round says plain text, makes calls side by side, writes a file and
 * changes it twice, keeps a list of things to do, leaves a command running, and sends messages that
 * have to wait while others are processed: one that is read between two steps, two that get
 * separate turns; each time the session is renamed after them. In the middle of it all the user
 * asks for a compaction.
 */
#pragma once

#include <stdbool.h>

#include "base/id.h"
#include "base/str.h"

struct acked;
struct buf;

#define COURSE_ROUNDS 4
#define COURSE_PER_ROUND 11 /* messages: ten turns and an aside */
#define COURSE_MESSAGES (COURSE_ROUNDS * COURSE_PER_ROUND)
#define COURSE_COMPACT (2 * COURSE_PER_ROUND + 1) /* this one: nothing for the transcript */

/* The changes of a round's file. */
enum course_change {
    COURSE_WRITTEN = 1,
    COURSE_EDITED = 2,
    COURSE_EDITED_MORE = 4, /* in two places at once */
    COURSE_ALL = 7,
};

/* What the model says; for scripted/FILE. */
void course_scenario(struct buf *out);

/* Messages have numbers from 1 on. */
void course_uuid(int message, char out[static ID_UUID_LEN + 1]);
int course_message_of(struct str uuid); /* 0: none of ours */
void course_words(int message, struct buf *out);

/* The round's file (from 0), and how it reads after these changes; empty: it is not there. */
void course_file_name(int round, struct buf *out);
void course_file(int round, unsigned changes, struct buf *out);
/* The thing to do of a round, as it stands in the list. */
void course_todo(int round, struct buf *out);
void course_title(int number, struct buf *out);

/* Where the conversation is. */
struct course {
    int sent;   /* messages */
    int begun;  /* the first one of those that are sent together */
    int end;    /* the last one */
    int titles; /* asked for */
};
/* Appends the lines to send now, if any. True: everything was sent and answered. */
bool course_go_on(struct course *c, const struct acked *a, struct buf *out);
