/*
 * Context: text for the model before the first input.
 *
 * When a session starts, surroundings and instruction files are collected once, with git running in
 * parallel, and become reminders before the first input. The text is saved with the session and
 * used unchanged when it is resumed. Later changes follow as further reminders: context_news(),
 * context_near() and those of reminder.h.
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
struct surroundings;

struct context_spec {
    const struct conf *conf;
    const struct args *args;                      /* for --setting-sources; NULL = all */
    const char *dir;                              /* start directory */
    struct path_veto veto;                        /* files hidden from the model */
    char *const *(*environ)(void *arg);           /* of git */
    void (*folders)(void *arg, struct strv *ret); /* the working folders; NULL = dir alone */
    void (*describe)(
        void *arg, struct buf *ret); /* appends how commands are confined; NULL = not at all. Called
                                        while git works, because it may have to test that first. */
    void *arg;
    int64_t since_ms; /* as in instructions.h */
    const char *etc;  /* as in conf.h; NULL: "/etc" */
    bool is_later;    /* the session is resumed */
};

struct context {
    struct buf text;     /* <system-reminder> blocks; goes to agent_spec.context */
    struct strv notices; /* for the user: instruction files that could not be used, and why */
    /* The state known to the model, to detect changes. */
    struct instructions instructions;
    struct instructions nested; /* by context_near() */
    char today[11];
};

void context_release(struct context *c);

/* The current instruction files. ERR_CANCELLED. */
int context_instructions(const struct context_spec *spec, struct cancel *cancel,
                         struct instructions *ret, struct err *err);

/* Starts git; what the spec points to must stay valid until surroundings_free() or
 * context_gather(). */
struct surroundings *context_begin(const struct context_spec *spec);

/* Takes the result of context_begin(), also on failure: ERR_CANCELLED, nothing else. */
int context_gather(const struct context_spec *spec, struct surroundings *begun,
                   struct cancel *cancel, struct context *ret, struct err *err);

/* For a resumed session: uses the stored text, and ret_news gets reminders about changes
 * (instruction files, date). ERR_CANCELLED. */
int context_restore(const struct context_spec *spec, struct str text, struct cancel *cancel,
                    struct context *ret, struct buf *ret_news, struct err *err);

/* Before an input: appends reminders about changed instruction files and a new day, if any, to ret
 * (empty before); replaces the notices. ERR_CANCELLED. */
int context_news(struct context *c, const struct context_spec *spec, struct cancel *cancel,
                 struct buf *ret, struct err *err);

/* After a file was read: appends reminders about instruction files of its folder and rules for such
 * files that were not sent yet; replaces the notices. ERR_CANCELLED. */
int context_near(struct context *c, const struct context_spec *spec, const char *path,
                 struct cancel *cancel, struct buf *ret, struct err *err);
