/*
 * What commands share; for src/slash only.
 *
 * An answer is written twice at once, as text and with colors: use either these functions or
 * call->text alone. All of it is the commands' thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/str.h"
#include "slash/front.h"
#include "slash/slash.h"

struct err;
struct recall;
struct strv;

#define SLASH_MAX_TEXT ((size_t)4 << 20) /* of an answer, of words for the model */

enum ink {
    INK_PLAIN,
    INK_BOLD,
    INK_FAINT,
    INK_RED,
    INK_GREEN,
    INK_YELLOW,
    INK_BLUE,
    INK_MAGENTA,
    INK_CYAN,
};
void slash_say(struct slash_call *call, enum ink ink, struct str text);
void slash_sayf(struct slash_call *call, enum ink ink, const char *fmt, ...) PRINTF_LIKE(3, 4);
/* "Label       value", the label in bold. */
void slash_fact(struct slash_call *call, const char *label, const char *fmt, ...) PRINTF_LIKE(3, 4);

void slash_call_release(struct slash_call *call);

/* Words between white space; a part in quotes is one. */
void slash_words(struct str text, struct strv *ret);

/* Into the user's settings, and for this session at once. Notes for the user follow the answer.
 * value: JSON; NULL: the key is removed. */
int slash_save(struct slash_call *call, const char *key, const struct str *value, struct err *err);
int slash_save_text(struct slash_call *call, const char *key, struct str value, struct err *err);

/* The person chooses. There must be a front end. ERR_CANCELLED: they left it. */
int slash_pick(struct slash_call *call, const struct pick *p, size_t *ret, struct err *err);
/* The same with two or more plain labels. */
int slash_choose(struct slash_call *call, const char *title, const char *const *labels,
                 size_t count, size_t *ret, struct err *err);

/* Agents in the background, and members of a team, that work. */
size_t slash_count_workers(struct host *h);
/* Before the session is left: work in the background ends with it. The user stays (ERR_CANCELLED)
 * or stops it; where nobody can choose, it is stopped. */
int slash_stop_work(struct slash_call *call, struct err *err);

void slash_add_count(struct buf *out, int64_t n);     /* "1,234", "12.3k", "1.2M" */
void slash_add_age(struct buf *out, int64_t time_ms); /* "5m ago" */
/* One line of a stranger's text, at most so many characters. */
void slash_add_line(struct buf *out, struct str text, size_t max_chars);

/* The conversation in words, its newest part, oldest first. */
void slash_add_talk(struct buf *out, const struct recall *past, size_t max);

/* Goes back to before a message, and waits until it is done; `text` of the call gets the result. */
int slash_go_back(struct slash_call *call, struct str message, bool files, bool conversation,
                  struct err *err);
