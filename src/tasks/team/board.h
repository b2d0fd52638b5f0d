/*
 * The board: a list of work items shared by the agents of a session or team.
 *
 * A list is a folder, $TENAX_HOME/tasks/<list>, with one file per item (<id>.json), the highest id
 * ever used (.highwatermark) and a lock file. Only the files count: every change takes the lock,
 * reads them, and replaces each changed file as a whole. A dependency between two items is stored
 * in both; one entry is enough, so a kill between the two writes loses nothing. Any thread, any
 * process.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/str.h"
#include "base/vec.h"

struct buf;
struct cancel;
struct err;
struct json;

#define BOARD_MAX_ITEMS 1000
#define BOARD_MAX_SUBJECT ((size_t)2000)
#define BOARD_MAX_TEXT ((size_t)64 << 10) /* of a description or of metadata */

enum item_status {
    ITEM_PENDING,
    ITEM_IN_PROGRESS,
    ITEM_COMPLETED,
    ITEM_DELETED, /* only in a change */
};
const char *item_status_name(enum item_status s); /* "in_progress" */
bool item_status_parse(struct str name, enum item_status *ret);

struct work_item {
    int64_t id;
    struct str subject, description, active_form;
    struct str owner;    /* empty = free */
    struct str metadata; /* a JSON object, or empty */
    enum item_status status;
    VEC(int64_t) blocks, blocked_by; /* existing items only */
};

struct board {
    char *folder;
    struct arena arena;          /* owns all texts */
    VEC(struct work_item) items; /* by id */
};
#define BOARD_INIT                                                                                 \
    {                                                                                              \
        0                                                                                          \
    }
void board_release(struct board *b);

/* Selects the list without reading it. ERR_BAD_INPUT: its id is not a valid file name. */
int board_init(struct board *b, const char *home, struct str list, struct err *err);
/* Reads the current state. A list that does not exist is empty. */
int board_read(struct board *b, struct err *err);
struct work_item *board_find(struct board *b, int64_t id); /* NULL if there is none */
/* Whether an unfinished item blocks it; ret (may be NULL) gets "#1, #3". */
bool board_is_blocked(struct board *b, const struct work_item *i, struct buf *ret);

/* The following functions take the lock, read, and make the change; b then has the new state. */
int board_add(struct board *b, const struct work_item *like, struct cancel *cancel, int64_t *ret_id,
              struct err *err);

/* NULL or empty fields remain unchanged. */
struct board_change {
    int64_t id;
    struct str actor; /* a member's name; empty if there is no team */
    const struct str *subject, *description, *active_form;
    const struct str *owner; /* empty = remove the owner */
    const enum item_status *status;
    const struct json *add_blocks, *add_blocked_by; /* arrays of ids, as strings */
    const struct json *metadata;                    /* members that are null are removed */
};

struct board_changed {
    unsigned fields; /* of enum board_field */
    enum item_status from, to;
    struct str old_owner, new_owner; /* in b's arena */
};
enum board_field {
    BOARD_SUBJECT = 1,
    BOARD_DESCRIPTION = 2,
    BOARD_ACTIVE_FORM = 4,
    BOARD_STATUS = 8,
    BOARD_OWNER = 16,
    BOARD_BLOCKS = 32,
    BOARD_BLOCKED_BY = 64,
    BOARD_METADATA = 128,
};
/*
 * Starting a free item makes the actor its owner. ERR_NOT_FOUND: the item or one named in a list
 * does not exist; ERR_BUSY ("already_claimed: …"): it has another owner; ERR_UNSUPPORTED: it is
 * blocked (the message says by what); ERR_BAD_INPUT: the dependencies would form a cycle. On errors
 * nothing has changed.
 */
int board_change(struct board *b, const struct board_change *change, struct cancel *cancel,
                 struct board_changed *ret, struct err *err);

/* Gives the actor the free, unblocked item with the lowest id and sets it to in_progress. Returns
 * its id, 0 if there is none, or -1. */
int64_t board_claim(struct board *b, struct str actor, struct cancel *cancel, struct err *err);
/* Frees the owner's unfinished items and sets them to pending. Returns how many, or -1. */
int board_give_back(struct board *b, struct str owner, struct cancel *cancel, struct err *err);
/* Removes all items; their ids are not reused. */
int board_clear(struct board *b, struct cancel *cancel, struct err *err);

/* Parses an id from a tool call: "3" or "#3". */
bool board_parse_id(const struct json *id, int64_t *ret);
