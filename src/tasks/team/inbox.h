/*
 * An inbox: the letters to one member of a team, in the order of arrival, as a JSON array in the
 * file teams/<team>/inboxes/<name>.json.
 *
 * Adding and marking take the inbox's lock, so that no letter is lost. Each inbox has one reader at
 * a time; it looks, delivers, and marks as read what it has delivered, in this order: letters of a
 * reader that is killed in between are delivered again, none is lost. Any thread, any process.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/id.h"
#include "base/str.h"
#include "base/vec.h"

struct cancel;
struct err;

#define INBOX_MAX_TEXT ((size_t)64 << 10) /* of one letter */
#define INBOX_MAX_UNREAD 1000
#define INBOX_MAX_READ 200 /* read letters that are kept */
#define INBOX_MAX_FILE ((size_t)4 << 20)
#define INBOX_TRIM_TO ((size_t)2 << 20)

struct letter {
    struct str from, text, summary, color, timestamp;
    struct str id; /* a uuid */
    bool is_read;
};

struct letters {
    struct arena arena;
    VEC(struct letter) list;
};
#define LETTERS_INIT                                                                               \
    {                                                                                              \
        0                                                                                          \
    }
void letters_release(struct letters *l);

/* team: the team's folder. ERR_TOO_BIG: the letter is too long, or INBOX_MAX_UNREAD letters are
 * unread. */
int inbox_put(const char *team, struct str name, const struct letter *l, struct cancel *cancel,
              char ret_id[static ID_UUID_LEN + 1], struct err *err);
/* Gets the unread letters. */
int inbox_look(const char *team, struct str name, struct letters *ret, struct err *err);
/* Marks these letters as read. */
int inbox_mark(const char *team, struct str name, const struct letters *handled,
               struct cancel *cancel, struct err *err);
