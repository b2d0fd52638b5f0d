/*
 * Handlers: what runs at an event. A command, an HTTP request, a question to a model, or a function
 * of tenax.
 *
 * A handler is immutable and reference counted: a run keeps its handlers even if the registry
 * changes. Its address is its identity; two handlers that would do the same (hook_handler_same())
 * are still two.
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

#define HANDLER_MAX_TEXT ((size_t)128 * 1024 - 1) /* Linux's limit of an argument */
#define HANDLER_MAX_TIMEOUT_MS ((int64_t)24 * 3600 * 1000)

enum handler_type {
    HANDLER_COMMAND,
    HANDLER_HTTP,
    HANDLER_PROMPT,
    HANDLER_FUNCTION,
};

enum handler_flags {
    /* A prompt that the goal's referee executes, with its own checks and time limits. It is in the
     * registry so that it can be listed, found and removed like any Stop hook, but the runner skips
     * it. */
    HANDLER_REFEREE = 1,
    HANDLER_FAILURE_BLOCKS = 2,    /* "onFailure": "block" */
    HANDLER_CONTINUE_ON_BLOCK = 4, /* prompt: the reason goes to the model and the turn continues */
    HANDLER_ASYNC = 8,             /* command: do not wait for it */
    HANDLER_REWAKE = 16, /* async: an objection (exit code 2) is reported to the model at once */
    HANDLER_ONCE = 32,   /* of a skill: removed after its first run */
};

/* 0: no objection; 1: it objects, with *ret_reason (empty = the handler's error_message); -1:
 * error, which does not block. Runs on a separate thread and must watch cancel, which is set on
 * timeout; later results are ignored. */
typedef int (*hook_fn)(void *arg, const struct hook_input *in, struct cancel *cancel,
                       struct buf *ret_reason, struct err *err);

/* Everything is copied, except fn, arg and only, which become the handler's. */
struct handler_spec {
    enum handler_type type;
    unsigned flags;
    int64_t timeout_ms;                  /* 0 = default of event and type */
    struct str status;                   /* shown to the user while it runs */
    struct str origin;                   /* "file:line:column"; empty = added at run time */
    struct str plugin_root, plugin_data; /* of its plugin; or empty */
    struct rule *only; /* "if": runs only for calls that match this rule; NULL = all */

    struct str command;
    const struct strv *args; /* NULL = the command is for a shell */
    struct str shell;        /* "bash", "powershell"; empty = sh */

    struct str url;
    const struct strv *headers; /* "Name: value", variables not expanded; may be NULL */
    const struct strv *allowed; /* variables that may be expanded; may be NULL */

    struct str prompt;
    struct str model; /* empty = a small one of the session's provider */

    struct str id; /* function */
    hook_fn fn;
    void *arg;
    void (*arg_free)(void *arg); /* frees arg with the handler; may be NULL */
    struct str error_message;
};

struct hook_handler *hook_handler_new(const struct handler_spec *spec);
struct hook_handler *hook_handler_ref(struct hook_handler *h);
void hook_handler_unref(struct hook_handler *h); /* NULL is fine */

/* Its properties; slices are valid as long as the handler and NUL-terminated. */
const struct handler_spec *hook_handler_spec(const struct hook_handler *h);
const char *handler_type_name(enum handler_type type); /* "command" */
/* How the user knows it: the command, the prompt, the id; truncated. */
struct str hook_handler_title(const struct hook_handler *h);
/* Whether they do the same, regardless of the file that defines them. */
bool hook_handler_same(const struct hook_handler *a, const struct hook_handler *b);
