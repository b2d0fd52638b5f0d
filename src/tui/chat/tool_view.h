/*
 * A call, drawn: while it runs, and folded to a few lines when it is done.
 *
 *     ● Bash(make test) 3 s              ● Edit(stats.c) +3 -1
 *       ⎿  cc -o stats stats.c             12 -    return v[n / 2];
 *          running 40 tests                12 +    if (n % 2 == 0)
 *
 * Omitted text is marked with its size ("… +42 lines (Ctrl-O)"). How a result reads is a row per
 * tool in tool_result.c; a tool without one shows the first lines of its text. Nothing in a call
 * can be trusted. Pure. UI thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"
#include "tui/screen/line.h"

struct json;
struct view;

struct tool_view {
    struct str name;
    struct str input;    /* JSON */
    bool is_partial;     /* the input is still coming in */
    size_t input_bytes;  /* of it so far */
    struct str progress; /* the last lines of its output while it runs */
    bool has_ended;      /* it no longer runs, and its result follows later; is_error counts */
    int64_t elapsed_ms;
    struct str hint; /* a row after all of it; empty: none */
    const char *dir; /* paths below it are shown without it; may be NULL */

    /* When it is done. */
    bool is_error;
    bool is_denied;    /* the user or a rule denied it: it has not run */
    bool is_whole;     /* nothing is folded */
    struct str text;   /* the result's */
    struct str result; /* the tool_result block, for parts that are not text; may be empty */
    struct str data;   /* structured result; JSON or empty */
};

/* At most max_rows. */
void tool_view_running(const struct tool_view *t, const struct view *v, size_t max_rows,
                       struct lines *ret);
/* True: some of it is left out. */
bool tool_view_done(const struct tool_view *t, const struct view *v, struct lines *ret);

/* "12 s", "3 m 5 s", "1 h 2 m". */
void tool_view_elapsed(int64_t ms, struct buf *ret);
/* "950 bytes", "32 KB", "1.5 MB". */
void tool_view_bytes(uint64_t n, struct buf *ret);
/* "[image 640×480 png 32 KB]" of an image block; "[document …]" of a document. */
void tool_view_image(const struct json *block, bool ascii, struct buf *ret);
