/*
 * Context: what the model is told before the user speaks.
 *
 * The surroundings and the instruction files are gathered once, when a session starts, git running
 * while files are read, and become the reminders that stand before the first input. The text is
 * kept with the session and used again, byte for byte, when it is resumed. What changes later is
 * said in further reminders: context_news().
 */
#pragma once

#include "agent/instructions.h"
#include "base/buf.h"
#include "base/strv.h"

struct args;
struct cancel;
struct conf;
struct err;
struct workspace;

struct context_spec {
    const struct conf *conf;
    const struct args *args; /* --setting-sources; NULL: all of them */
    struct workspace *workspace;
    const char *etc; /* as in conf.h; NULL: "/etc" */
};

struct context {
    struct buf text;     /* <system-reminder> blocks; goes to agent_spec.context */
    struct strv notices; /* for the user: instruction files that could not be used, and why */
    /* What the model knows, to tell what is new. */
    struct instructions instructions;
    char today[11];
};

void context_release(struct context *c);

/* ERR_CANCELLED; nothing else fails. */
int context_gather(const struct context_spec *spec, struct cancel *cancel, struct context *ret,
                   struct err *err);

/* For a session that is resumed: the text is the stored one, and ret_news gets a reminder of the
 * instruction files that it does not have, and of the date when that is another. ERR_CANCELLED. */
int context_restore(const struct context_spec *spec, struct str text, struct cancel *cancel,
                    struct context *ret, struct buf *ret_news, struct err *err);

/* Before an input: appends reminders of instruction files that have changed and of a new day, if
 * any; notices are those of now. ERR_CANCELLED. */
int context_news(struct context *c, const struct context_spec *spec, struct cancel *cancel,
                 struct buf *ret, struct err *err);
