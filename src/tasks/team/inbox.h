/*
 * An inbox: the letters that members of a team have for one of them, in the order in which they
 * were put there, as a JSON array in a file, teams/<team>/inboxes/<name>.json.
 *
 * Putting and marking are done under the inbox's lock, so no letter is lost and none is read twice:
 * inbox_take() marks as read what it gives out. Payloads (letter.h) are not text: their handler
 * marks them when it has acted. Any thread, any process.
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
#define INBOX_MAX_READ 200 /* that are kept */
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

/* team: its folder. ERR_TOO_BIG: the letter is too long, or the last thousand are unread. */
int inbox_put(const char *team, struct str name, const struct letter *l, struct cancel *cancel,
              char ret_id[static ID_UUID_LEN + 1], struct err *err);
/* The unread letters. */
int inbox_look(const char *team, struct str name, struct letters *ret, struct err *err);
/* The same, read from now on. */
int inbox_take(const char *team, struct str name, struct cancel *cancel, struct letters *ret,
               struct err *err);
