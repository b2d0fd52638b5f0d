/*
 * course: everything about it follows from a message's number. Main thread.
 */
#include "course.h"

#include <stdio.h>
#include <string.h>

#include "acked.h"
#include "base/buf.h"
#include "json/jw.h"

#define COURSE_UUID "c0ffee00-0000-4000-8000-"
#define COURSE_FILE_LINES 60
#define COURSE_SUMMARY_WORDS "The conversation above is about to be replaced by a summary"

enum place {
    PLACE_TEXT = 1,
    PLACE_LOOK,
    PLACE_WRITE,
    PLACE_EDIT, /* has an aside */
    PLACE_ASIDE,
    PLACE_EDITS,
    PLACE_TODOS,
    PLACE_BACKGROUND,
    PLACE_BUSY, /* two more wait after it */
    PLACE_EFFECT,
    PLACE_LAST,
};

static int round_of(int message)
{
    return (message - 1) / COURSE_PER_ROUND;
}

static enum place place_of(int message)
{
    return (enum place)((message - 1) % COURSE_PER_ROUND + 1);
}

void course_uuid(int message, char out[static ID_UUID_LEN + 1])
{
    snprintf(out, ID_UUID_LEN + 1, COURSE_UUID "%012d", message);
}

int course_message_of(struct str uuid)
{
    int64_t n = 0;

    if (uuid.len != ID_UUID_LEN || !str_starts(uuid, STR(COURSE_UUID)) ||
        str_to_i64(str_from(uuid, strlen(COURSE_UUID)), &n, /*err=*/NULL) < 0 || n < 1 ||
        n > COURSE_MESSAGES)
        return 0;
    return (int)n;
}

void course_words(int message, struct buf *out)
{
    if (message == COURSE_COMPACT) {
        buf_adds(out, "/compact");
        return;
    }
    buf_addf(out, "message-%02d, %s", message,
             place_of(message) == PLACE_ASIDE ? "by the way" : "please");
}

void course_file_name(int round, struct buf *out)
{
    buf_addf(out, "file-%d.txt", round);
}

void course_file(int round, unsigned changes, struct buf *out)
{
    for (int i = 0; (changes & COURSE_WRITTEN) && i < COURSE_FILE_LINES; i++) {
        const char *how = "as it was written";

        if (i == 7 && (changes & COURSE_EDITED))
            how = "changed once";
        if ((i == 20 || i == 40) && (changes & COURSE_EDITED_MORE))
            how = "changed with another";
        buf_addf(out, "round %d line %02d %s\n", round, i, how);
    }
}

void course_todo(int round, struct buf *out)
{
    buf_addf(out, "see to round %d", round);
}

void course_title(int number, struct buf *out)
{
    buf_addf(out, "Title number %d", number);
}

/* ---- The model ---- */

static void say_calls(int message, struct buf *out)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(65536);
    int round = round_of(message);
    struct jw w;

    switch (place_of(message)) {
    case PLACE_LOOK:
        buf_adds(out, "  call Glob {\"pattern\": \"*\"}\n"
                      "  call Bash {\"command\": \"echo side by side\"}\n"
                      "  call Grep {\"pattern\": \"round\", \"path\": \".\"}\n");
        break;
    case PLACE_WRITE:
        course_file(round, COURSE_WRITTEN, &text);
        buf_addf(out, "  call Write {\"file_path\": \"file-%d.txt\", \"content\": ", round);
        jw_init(&w, out, 0);
        jw_str(&w, buf_str(&text));
        buf_adds(out, "}\n");
        break;
    case PLACE_EDIT:
        buf_addf(out,
                 "  pause 15ms\n"
                 "  call Edit {\"file_path\": \"file-%d.txt\", \"old_string\": \"line 07 as it was "
                 "written\", \"new_string\": \"line 07 changed once\"}\n",
                 round);
        break;
    case PLACE_EDITS:
        buf_addf(out,
                 "  call MultiEdit {\"file_path\": \"file-%d.txt\", \"edits\": [{\"old_string\": "
                 "\"line 20 as it was written\", \"new_string\": \"line 20 changed with another\"},"
                 " {\"old_string\": \"line 40 as it was written\", \"new_string\": \"line 40 "
                 "changed with another\"}]}\n",
                 round);
        break;
    case PLACE_TODOS:
        buf_adds(out, "  call TodoWrite {\"todos\": [{\"content\": \"");
        course_todo(round, out);
        buf_adds(out, "\", \"status\": \"in_progress\", \"activeForm\": \"Seeing to it\"}]}\n");
        break;
    case PLACE_BACKGROUND:
        buf_adds(out, "  call Bash {\"command\": \"sleep 0.05; echo over\", "
                      "\"run_in_background\": true}\n");
        break;
    case PLACE_BUSY:
        buf_adds(out, "  pause 15ms\n  call Glob {\"pattern\": \"*.txt\"}\n");
        break;
    case PLACE_EFFECT:
    case PLACE_LAST:
        buf_addf(out, "  call Bash {\"command\": \"echo %d >> effects\"}\n", message);
        break;
    default:
        break;
    }
}

void course_scenario(struct buf *out)
{
    buf_adds(out, "chunk 4096\n");
    for (int i = 1; i <= COURSE_MESSAGES; i++) {
        if (place_of(i) == PLACE_ASIDE || i == COURSE_COMPACT)
            continue;
        if (place_of(i) != PLACE_TEXT) {
            buf_addf(out, "step\n  if-prompt \"message-%02d\"\n", i);
            if (place_of(i) == PLACE_LOOK)
                buf_addf(out, "  think thought-%02d\n", i);
            buf_addf(out, "  text begun-%02d\n", i);
            say_calls(i, out);
        }
        buf_addf(out, "step\n  if-prompt \"message-%02d\"\n  text answer-%02d\n", i, i);
    }
    buf_adds(out, "step\n  if-prompt \"" COURSE_SUMMARY_WORDS "\"\n  text all that was said\n");
    buf_adds(out, "step\n  sticky\n  text noted\n"); /* other calls: asides, news */
}

/* ---- The user ---- */

static int sent_together(int message)
{
    switch (place_of(message)) {
    case PLACE_EDIT:
        return 2;
    case PLACE_BUSY:
        return 3;
    default:
        return 1;
    }
}

static void say_message(struct course *c, struct buf *out)
{
    char uuid[ID_UUID_LEN + 1];

    c->sent++;
    course_uuid(c->sent, uuid);
    buf_addf(out, "{\"type\":\"user\",\"uuid\":\"%s\",", uuid);
    if (place_of(c->sent) == PLACE_ASIDE)
        buf_adds(out, "\"priority\":\"next\",");
    buf_adds(out, "\"message\":{\"role\":\"user\",\"content\":\"");
    course_words(c->sent, out);
    buf_adds(out, "\"}}\n");
}

/* Its answer also says that the messages before it were taken in. */
static void say_title(struct course *c, struct buf *out)
{
    c->titles++;
    buf_addf(out,
             "{\"type\":\"control_request\",\"request_id\":\"%d %d\",\"request\":{\"subtype\":"
             "\"rename_session\",\"title\":\"",
             c->titles, c->sent);
    course_title(c->titles, out);
    buf_adds(out, "\"}}\n");
}

bool course_go_on(struct course *c, const struct acked *a, struct buf *out)
{
    bool all = true;

    for (int i = c->begun; i && i <= c->sent; i++)
        all = all && a->said[i];
    if (c->sent == c->end && all && (a->is_idle || !c->sent)) {
        if (c->sent == COURSE_MESSAGES)
            return true;
        c->begun = c->sent + 1;
        c->end = c->sent + sent_together(c->begun);
        say_message(c, out);
    } else if (c->sent < c->end && a->said[c->begun]) { /* a turn runs: these have to wait */
        while (c->sent < c->end)
            say_message(c, out);
        say_title(c, out);
    }
    return false;
}
