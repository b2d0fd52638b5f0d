/*
 * Context: the text for the model before the first input.
 *
 * The surroundings and the instruction files are gathered once, when a session starts, git running
 * while other things are made and read, and become the reminders that stand before the first input.
 * The text is kept with the session and used again, byte for byte, when it is resumed. Later
 * changes follow in further reminders: context_news(), context_near() and those of reminder.h.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/strv.h"
#include "context/instructions.h"

struct args;
struct cancel;
struct conf;
struct err;
struct permit;
struct sandbox;
struct surroundings;
struct workspace;

struct context_spec {
    const struct conf *conf;
    const struct args *args; /* --setting-sources; NULL: all of them */
    struct workspace *workspace;
    struct permit *permit;   /* whose deny rules hide files from the model; NULL: none */
    int64_t since_ms;        /* as in instructions.h */
    struct sandbox *sandbox; /* told to the model; NULL: there is none, or it is lifted */
    const char *etc;         /* as in conf.h; NULL: "/etc" */
    bool is_later;           /* the session has begun before */
};

struct context {
    struct buf text;     /* <system-reminder> blocks; goes to agent_spec.context */
    struct strv notices; /* for the user: instruction files that could not be used, and why */
    /* The state that the model knows, to find changes. */
    struct instructions instructions;
    struct instructions nested; /* by context_near() */
    char today[11];
};

void context_release(struct context *c);

/* The instruction files as they are now. ERR_CANCELLED. */
int context_instructions(const struct context_spec *spec, struct cancel *cancel,
                         struct instructions *ret, struct err *err);

/* Starts git; what the spec points to is lent until surroundings_free() or context_gather(). */
struct surroundings *context_begin(const struct context_spec *spec);

/* Takes the started work, also on failure: ERR_CANCELLED, nothing else. */
int context_gather(const struct context_spec *spec, struct surroundings *begun,
                   struct cancel *cancel, struct context *ret, struct err *err);

/* For a session that is resumed: the text is the stored one, and ret_news gets reminders of the
 * differences now: the instruction files, the date. ERR_CANCELLED. */
int context_restore(const struct context_spec *spec, struct str text, struct cancel *cancel,
                    struct context *ret, struct buf *ret_news, struct err *err);

/* Before an input: the words for instruction files that have changed and for a new day, if any,
 * into ret (empty before); notices are those of now. ERR_CANCELLED. */
int context_news(struct context *c, const struct context_spec *spec, struct cancel *cancel,
                 struct buf *ret, struct err *err);

/* After a file was read: the words for instruction files of its folder and rules for such files,
 * that were not told yet; notices are those of this look. ERR_CANCELLED. */
int context_near(struct context *c, const struct context_spec *spec, const char *path,
                 struct cancel *cancel, struct buf *ret, struct err *err);
