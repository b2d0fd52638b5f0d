/*
 * The board: a list of work items that agents of one session or team share.
 *
 * A list is a folder, $TENAX_HOME/tasks/<list>, with a file for each item (<id>.json), the highest
 * id ever given (.highwatermark) and a lock. The files are the truth: every change is made under
 * the lock, on what is read there, and each file is replaced whole. That two items block each other
 * stands in both of them; one entry is enough, so a kill between two files loses nothing. Any
 * thread, any process.
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
#define BOARD_MAX_TEXT ((size_t)64 << 10) /* of a description, and of metadata */

enum item_status {
    ITEM_PENDING,
    ITEM_IN_PROGRESS,
    ITEM_COMPLETED,
    ITEM_DELETED, /* of a change alone */
};
const char *item_status_name(enum item_status s); /* "in_progress" */
bool item_status_parse(struct str name, enum item_status *ret);

struct work_item {
    int64_t id;
    struct str subject, description, active_form;
    struct str owner;    /* empty: free */
    struct str metadata; /* a JSON object; empty: none */
    enum item_status status;
    VEC(int64_t) blocks, blocked_by; /* items that exist */
};

struct board {
    char *folder;
    struct arena arena;          /* of all texts */
    VEC(struct work_item) items; /* by id */
};
#define BOARD_INIT                                                                                 \
    {                                                                                              \
        0                                                                                          \
    }
void board_release(struct board *b);

/* Which list; nothing is read. ERR_BAD_INPUT: its id is no file name. */
int board_init(struct board *b, const char *home, struct str list, struct err *err);
/* As it is now. A list that does not exist is empty. */
int board_read(struct board *b, struct err *err);
struct work_item *board_find(struct board *b, int64_t id); /* NULL: there is none */
/* Whether one that is not completed blocks it; ret may be NULL: "#1, #3". */
bool board_is_blocked(struct board *b, const struct work_item *i, struct buf *ret);

/* Each of these takes the lock, reads, and changes; b has the list as it is then. */
int board_add(struct board *b, const struct work_item *like, struct cancel *cancel, int64_t *ret_id,
              struct err *err);

/* NULL or empty fields stay unchanged. */
struct board_change {
    int64_t id;
    struct str actor; /* a member's name; empty: there is no team */
    const struct str *subject, *description, *active_form;
    const struct str *owner; /* empty: no owner */
    const enum item_status *status;
    const struct json *add_blocks, *add_blocked_by; /* arrays of ids, as strings */
    const struct json *metadata;                    /* members that are null are taken away */
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
 * Starting a free item makes it the actor's. ERR_NOT_FOUND: no such item, or one that is named in a
 * list; ERR_BUSY ("already_claimed: …"): another one has it; ERR_UNSUPPORTED: it is blocked, and by
 * what; ERR_BAD_INPUT: items would block each other in a circle. Nothing has changed then.
 */
int board_change(struct board *b, const struct board_change *change, struct cancel *cancel,
                 struct board_changed *ret, struct err *err);

/* The free, unblocked item with the lowest id becomes the actor's and is in progress: its id, 0:
 * there is none, -1. */
int64_t board_claim(struct board *b, struct str actor, struct cancel *cancel, struct err *err);
/* What the owner has not completed is free and pending again: how many were, or -1. */
int board_give_back(struct board *b, struct str owner, struct cancel *cancel, struct err *err);
/* Removes all items; ids are not used again. */
int board_clear(struct board *b, struct cancel *cancel, struct err *err);

/* An id as tools have it, "3"; also "#3". False: it is none. */
bool board_parse_id(const struct json *id, int64_t *ret);
