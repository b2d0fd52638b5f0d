/*
 * What the model has been told about deferred tools (extra.h): which exist, what changed, which may
 * be useful now. Each message is a reminder for the model and an attachment in the transcript, from
 * which a resumed session restores this state. For src/agent only; agent thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/map.h"
#include "base/str.h"

struct agent;
struct attached;
struct call;
struct cancel;
struct json;
struct recall;

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

/* Announces changes; the first time, everything. */
void extra_say(struct agent *a);
/* Suggests tools that an input may need, together with it, or that the last answer may need. */
void extra_hint_input(struct agent *a, struct str text);
void extra_hint_answer(struct agent *a, struct str text);
/* Sends the resources of servers along that an input names as "@server:uri". */
void extra_say_resources(struct agent *a, struct str words, struct cancel *cancel);
/* Says what else fits an input (agent_spec.fitting). */
void extra_say_fitting(struct agent *a, struct str words);
/* Notes which tools a completed call has found or used. */
void extra_note_call(struct agent *a, const struct call *c);

/* After a compaction: repeats the list of tools, and the recently called ones in full. */
void extra_attach(struct agent *a, struct attached *s);
/* Writes the same to the transcript; call it after the boundary is written. */
void extra_attached(struct agent *a);
/* Appends a JSON array of the names that were found or called. */
void extra_write_found(struct agent *a, struct buf *ret);

/* Restores the state from transcript attachments, one JSON text per line (recall.extra). */
void extra_recall(struct agent *a, struct str lines);
/* The reverse, for an agent that starts with a copy of this conversation. */
void extra_write_told(const struct agent *a, struct buf *ret);
/* True for attachments that extra_recall() handles. */
bool extra_is_news(struct str attachment_type);
/* The text that an attachment of Claude Code gives to the model; for our own there is a reminder.
 */
void extra_foreign_text(const struct json *attachment, struct buf *ret);
