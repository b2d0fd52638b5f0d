/*
 * The lines of a conversation, one function each; for record.c. All append to out, newline
 * included; none can fail. Field names: store/transcript/entry.h.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "agent/journal.h"
#include "base/str.h"
#include "store/transcript/entry.h"

struct agent_input;
struct buf;
struct llm_call_result;

/* Parent and time of a line. */
struct record_at {
    const struct entry_head *head;
    struct str uuid, parent;
    int64_t time_ms;
};

void record_line_user(struct buf *out, const struct record_at *at, const struct block *blocks,
                      size_t count, enum event_user user);
/* One block of an answer. cost: in USD; NAN = unknown. */
void record_line_reply(struct buf *out, const struct record_at *at,
                       const struct llm_call_result *reply, const struct block *block, double cost);
void record_line_result(struct buf *out, const struct record_at *at, const struct block *result,
                        struct str data, bool is_denied);
void record_line_boundary(struct buf *out, const struct record_at *at,
                          const struct journal_compact *c, struct str anchor);
void record_line_summary(struct buf *out, const struct record_at *at, const struct block *summary);
void record_line_snip(struct buf *out, const struct record_at *at, const struct str *entries,
                      size_t count);
/* The provider's refusal instead of an answer; skipped when the conversation is loaded. */
void record_line_attachment(struct buf *out, const struct record_at *at, struct str json);
void record_line_failure(struct buf *out, const struct record_at *at, struct str text);
/* A warning for readers of the transcript. */
void record_line_warning(struct buf *out, const struct record_at *at, struct str text);
void record_line_stop_hooks(struct buf *out, const struct record_at *at,
                            const struct journal_stop_hooks *s);
void record_line_turn(struct buf *out, const struct record_at *at, const struct turn_report *r);

void record_line_replaced(struct buf *out, struct str session, struct str agent_id,
                          const struct journal_replacement *list, size_t count);
void record_line_queue(struct buf *out, struct str session, int64_t time_ms,
                       enum journal_queue what, const struct agent_input *input);
/* by_model: not set by the user. */
void record_line_title(struct buf *out, struct str session, struct str title, bool by_model);
void record_line_agent_type(struct buf *out, struct str session, struct str name);
void record_line_coordinator(struct buf *out, struct str session, bool on);
void record_line_mode(struct buf *out, struct str session, struct str mode);
