/*
 * What the model has been told about deferred tools (extra.h): which exist, what changed, which may
 * be useful now. Each message is a reminder for the model and an attachment in the transcript, from
 * which a resumed session restores this state. Implemented in tools/extra_news.c; agent thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/map.h"
#include "base/str.h"

struct cancel;
struct conf;
struct extra_source;
struct history;
struct json;
struct tool_entry;
struct toolbox;

struct extra_news {
    struct map told;       /* names → digest of the announced text */
    struct map before;     /* names that were announced and removed */
    struct map found;      /* names that were found or called */
    struct map hinted;     /* names that were suggested */
    struct map gone;       /* announced names that are missing → since when, in ms */
    struct map instructed; /* servers whose instructions were sent */
    struct buf states;     /* of servers, as last reported */
    uint64_t seen;         /* serial of the toolbox compared last; 0 = none */
    struct buf input;      /* the start of the last input */
    bool is_settled;       /* this process has made an announcement */
};

void extra_news_release(struct extra_news *n);

/* What an announcement depends on, and where it goes. */
struct extra_view {
    struct extra_news *news;
    const struct conf *conf;
    struct toolbox *toolbox;
    struct extra_source *source; /* or NULL */
    const struct history *history;
    int64_t window; /* of the model, in tokens */
    /* Keeps the line in the transcript, and adds the reminders to the conversation. Either may be
     * empty. */
    void (*say)(void *arg, struct str line, struct str reminders);
    void *arg;
};

/* Announces changes; the first time, everything. */
void extra_say(const struct extra_view *v);
/* Suggests tools that an input may need, together with it, or that the last answer may need. */
void extra_hint_input(const struct extra_view *v, struct str text);
void extra_hint_answer(const struct extra_view *v, struct str text);
/* Sends the resources of servers along that an input names as "@server:uri". */
void extra_say_resources(const struct extra_view *v, struct str words, struct cancel *cancel);
/* Notes which tools a successful call has found or used. data: the JSON of its result. */
void extra_note_call(struct extra_news *n, const struct toolbox *box, const struct tool_entry *e,
                     struct str data);

/* After a compaction: appends the list of tools again, and the recently called ones in full. */
void extra_write_again(const struct extra_view *v, struct buf *ret);
/* Writes the same to the transcript; call it after the boundary is written. */
void extra_said_again(const struct extra_view *v);
/* Appends a JSON array of the names that were found or called. */
void extra_write_found(const struct extra_news *n, struct buf *ret);

/* Restores the state from transcript attachments, one JSON text per line (recall.extra). */
void extra_recall(struct extra_news *n, struct str lines);
/* The reverse, for an agent that starts with a copy of this conversation. */
void extra_write_told(const struct extra_news *n, struct buf *ret);
/* True for attachments that extra_recall() handles. */
bool extra_is_news(struct str attachment_type);
/* The text that an attachment of Claude Code gives to the model; for our own there is a reminder.
 */
void extra_foreign_text(const struct json *attachment, struct buf *ret);
