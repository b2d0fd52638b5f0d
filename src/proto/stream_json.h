/*
 * stream-json: a session's events as the lines that SDKs and scripts read (reference stream-json).
 *
 * A renderer is a pure function of the events it is given, in their order: it makes no ids, reads
 * no clock and asks no questions, so any two observers of a session get the same bytes. Registered
 * secrets are taken out. Without partial messages the answer of a step appears when the step holds,
 * so that one which a broken stream made void leaves no trace; with them, as it arrives.
 *
 * A renderer that joins in the middle of a step is silent about it until the next step. Events of
 * child agents have their parent_tool_use_id; their turns have no init and no result line. Of an
 * agent that main waits for, texts are left out unless they are asked for; of one deeper below only
 * the fate of its task is reported.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/map.h"
#include "base/str.h"

struct event;
struct jw;
struct turn_report;

struct stream_json_options {
    bool partial; /* --include-partial-messages */
    bool hooks;   /* --include-hook-events */
    bool replay;  /* --replay-user-messages */
    bool states;  /* CLAUDE_CODE_SDK_READS_SESSION_STATE=1 */
    bool forward; /* --forward-subagent-text */
};

/* What every turn's init line says beside the event. Lent for the renderer's life. */
struct stream_json_session {
    const char *key_source;      /* "ANTHROPIC_API_KEY", "none" */
    const char *const *commands; /* that may be typed, without the slash; NULL-terminated */
    const char *const *skills;   /* those of them that are skills; NULL: none */
    const char *const *terminal; /* those that only a terminal can use; NULL: none */
    const char *plugins;         /* JSON; NULL: none */
    const char *plugin_errors;   /* JSON; NULL: none */
};

struct stream_json {
    struct stream_json_options options;
    const struct stream_json_session *session;
    struct map steps;    /* agent → struct stream_step: what each is saying */
    struct map progress; /* tool_use_id → whole seconds reported */
};

void stream_json_init(struct stream_json *r, const struct stream_json_options *options,
                      const struct stream_json_session *session);
void stream_json_release(struct stream_json *r);

/* Appends what there is to say about the event: no line, one, or several, each with its newline. */
void stream_json_event(struct stream_json *r, const struct event *e, struct buf *out);

#define STREAM_JSON_MAX_LINE ((size_t)256 << 20) /* of all lines of one event */

/* The result line of a session that could not begin: what failed, under an id that no session has.
 */
void stream_json_failure(struct str text, struct buf *out);

/* modelUsage of a result. */
void stream_json_model_usage(struct jw *w, const struct turn_report *report);
