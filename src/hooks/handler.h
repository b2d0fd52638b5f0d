/*
 * Handlers: what runs at an event. A command, a request to a server, a question to a model, or a
 * function of tenax itself.
 *
 * A handler never changes once it is made and is reference counted: a run that has begun keeps its
 * handlers, even if the registry changes. Its address is its identity; two handlers that would do
 * the same (hook_handler_same()) are still two.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/str.h"

struct cancel;
struct err;
struct hook_handler;
struct hook_input;
struct rule;
struct strv;

#define HANDLER_MAX_TEXT ((size_t)128 * 1024 - 1) /* of a command: one argument, in Linux */
#define HANDLER_MAX_TIMEOUT_MS ((int64_t)24 * 3600 * 1000)

enum handler_type {
    HANDLER_COMMAND,
    HANDLER_HTTP,
    HANDLER_PROMPT,
    HANDLER_FUNCTION,
};

enum handler_flags {
    /* A prompt that the goal's referee executes itself, with its own checks and time limits: it is
     * in the registry, so that it is listed, found and removed like any other Stop hook, but the
     * runner skips it. */
    HANDLER_REFEREE = 1,
    HANDLER_FAILURE_BLOCKS = 2,    /* "onFailure": "block" */
    HANDLER_CONTINUE_ON_BLOCK = 4, /* prompt: the reason goes to the model, the turn goes on */
    HANDLER_ASYNC = 8,             /* command: do not wait for it */
    HANDLER_REWAKE = 16,           /* async: exit code 2 is reported to the model at once */
    HANDLER_ONCE = 32,             /* of a skill: it runs once, then it goes */
};

/* 0: fine; 1: it objects, for the reason in *ret_reason (empty: the handler's error_message); -1:
 * unknown, which blocks nothing. Runs on a separate thread and watches cancel, which is set when
 * its time is over; later results are ignored. */
typedef int (*hook_fn)(void *arg, const struct hook_input *in, struct cancel *cancel,
                       struct buf *ret_reason, struct err *err);

/* Everything is copied, except fn, arg and only, which are taken over. */
struct handler_spec {
    enum handler_type type;
    unsigned flags;
    int64_t timeout_ms;                  /* 0: the event's and the type's default */
    struct str status;                   /* shown to people while it runs */
    struct str origin;                   /* "file:line:column"; empty: made at run time */
    struct str plugin_root, plugin_data; /* of the plugin that brought it; empty: none */
    struct rule *only; /* "if": it runs for calls that this speaks of; NULL: for all */

    struct str command;
    const struct strv *args; /* NULL: the command is a shell's */
    struct str shell;        /* "bash", "powershell"; empty: sh */

    struct str url;
    const struct strv *headers; /* "Name: value", variables not filled in; NULL: none */
    const struct strv *allowed; /* names of variables that may be; NULL: none */

    struct str prompt;
    struct str model; /* empty: a small one of the session's provider */

    struct str id; /* function */
    hook_fn fn;
    void *arg;
    void (*arg_free)(void *arg); /* with the handler; NULL: nothing to do */
    struct str error_message;
};

struct hook_handler *hook_handler_new(const struct handler_spec *spec);
struct hook_handler *hook_handler_ref(struct hook_handler *h);
void hook_handler_unref(struct hook_handler *h); /* NULL is fine */

/* As it was made; slices live as long as the handler and end in NUL. */
const struct handler_spec *hook_handler_spec(const struct hook_handler *h);
const char *handler_type_name(enum handler_type type); /* "command" */
/* The user's name for it: the command, the prompt, the id; clipped. */
struct str hook_handler_title(const struct hook_handler *h);
/* They would do the very same, whatever file they stand in. */
bool hook_handler_same(const struct hook_handler *a, const struct hook_handler *b);
