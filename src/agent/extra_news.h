/*
 * What an agent's model knows about extra tools (extra.h): which there are, recent changes, which
 * may be useful now. Each is a reminder for the model and an attachment of the transcript, from
 * which a resumed session restores this state. For src/agent only; the agent's thread.
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
struct json;
struct recall;

struct extra_news {
    struct map told;       /* names → a digest of their texts */
    struct map before;     /* names that were announced and are gone */
    struct map found;      /* names that were found or called */
    struct map hinted;     /* names that were suggested */
    struct map gone;       /* announced names that are missing → since when, in ms */
    struct map instructed; /* servers whose instructions were sent */
    struct buf states;     /* of servers, as last reported */
    uint64_t seen;         /* the toolbox that was looked at last; 0: none */
    struct buf input;      /* the beginning of the last one */
    bool is_settled;       /* this process has made an announcement */
};

void extra_news_release(struct extra_news *n);

/* Announces changes: everything the first time. */
void extra_say(struct agent *a);
/* Tools that an input may want, with it; and those that the last answer may want. */
void extra_hint_input(struct agent *a, struct str text);
void extra_hint_answer(struct agent *a, struct str text);
/* A call has its result: what it found, or which extra tool it was. */
void extra_note_call(struct agent *a, const struct call *c);

/* After a compaction: what there is, and the tools that were called last, in full. */
void extra_attach(struct agent *a, struct attached *s);
/* The same for the transcript; after the boundary is written. */
void extra_attached(struct agent *a);
/* JSON array of the names that were found or called. */
void extra_write_found(struct agent *a, struct buf *ret);

/* Attachments of a transcript, one JSON text a line, as recall.extra has them: restores the
 * announced state from them. */
void extra_recall(struct agent *a, struct str lines);
/* The other way round, for an agent that begins with this one's conversation. */
void extra_write_told(const struct agent *a, struct buf *ret);
/* Attachments that extra_recall() wants. */
bool extra_is_news(struct str attachment_type);
/* What an attachment of another program tells the model; ours stands in a reminder beside it. */
void extra_foreign_text(const struct json *attachment, struct buf *ret);
