/*
 * One line of stream-json in the making, for the files that render them.
 *
 * A line takes its uuid from its event; where an event makes several lines, the further ones
 * (number above 0) change the first eight digits.
 */
#pragma once

#include <stdbool.h>

#include "base/str.h"
#include "json/jw.h"

struct buf;
struct event;
struct llm_usage;

struct stream_line {
    struct jw w;
    const struct event *event;
    unsigned number; /* of its event's lines */
};

/* subtype NULL: none. The caller writes members into the writer returned. */
struct jw *line_begin(struct stream_line *l, struct buf *out, const struct event *e,
                      unsigned number, const char *type, const char *subtype);
void line_end(struct stream_line *l); /* session, uuid, newline */

/* Members that several lines have. */
void line_time(struct jw *w, const struct event *e);
void line_parent(struct jw *w,
                 const struct event *e); /* parent_tool_use_id; null: the main agent */
void line_empty_list(struct jw *w, const char *key);

/* Values. A block goes out as the API has it: without the keys that are only ours. Results that
 * would make the line too long are shortened. */
void line_block(struct jw *w, struct str json);

/* U+2028 and U+2029 may stand in JSON as they are, but clients in JavaScript take them for the end
 * of a line. False: there are none; else the same lines with both escaped are appended. */
bool line_escape_breaks(struct str lines, struct buf *ret);
