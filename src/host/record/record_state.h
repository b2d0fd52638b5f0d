/*
 * Internals of the record: record.c writes the chain, record_facts.c the other lines.
 */
#pragma once

#include <stdatomic.h>

#include "agent/journal.h"
#include "base/buf.h"
#include "base/str.h"
#include "store/transcript/load.h"

struct agent_input;
struct asker;
struct err;
struct file_history;
struct transcript;
struct workspace;

/* Other programs may use any ids; ours are uuids. */
#define RECORD_MAX_ID (LOAD_MAX_ID + 1)

struct record {
    struct journal journal; /* must be first: its functions get it */
    struct transcript *transcript;
    char *session, *entrypoint, *agent_id;
    struct workspace *workspace;
    struct asker *asker;
    atomic_bool forgets; /* the user chose to continue without saving */
    struct file_history *files;
    void (*notice)(void *arg, struct str text);
    void *notice_arg;

    /* Agent thread only. */
    char *branch;
    char *cwd;
    char parent[RECORD_MAX_ID];
    struct buf line; /* being made */
};

static inline struct record *record_of(struct journal *self)
{
    return (struct record *)self;
}

/* Functions of the journal. */
int record_replaced(struct journal *self, const struct journal_replacement *list, size_t count,
                    struct err *err);
int record_queue(struct journal *self, enum journal_queue what, const struct agent_input *input,
                 struct err *err);
int record_before_edit(struct journal *self, const char *path, struct str tool_use_id,
                       struct err *err);
void record_after_edit(struct journal *self, const char *path);
/* For the file history; arg: the record. */
int record_write_files(void *arg, struct str lines, struct err *err);
