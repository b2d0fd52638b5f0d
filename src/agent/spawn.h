/*
 * Children: agents that a call of a tool, or the session itself, starts beside the main one.
 *
 * A child works in the same session, with the session's rules, models, hooks and network. Its
 * events carry its identity, what it asks goes to the session's front ends with its name, and what
 * it spends is on the session's account. It has its own conversation, its own working folder and
 * its own list of files seen.
 *
 * start() gives the child its prompt and returns at once; the caller waits for it, or lets it work
 * and is called when it rests. A child rests when no turn runs and no input waits; send() gives it
 * the next one. It is there until forget() or the end of the session.
 *
 * The host implements this (host/host_spawn.c) and hands it to tools in their call. Any thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/agent.h"
#include "base/str.h"
#include "llm/dialect/dialect.h"
#include "llm/event.h"

struct cancel;
struct err;
struct event;
struct identity;
struct strv;
struct tool_entry;

#define SPAWN_MAX 4096 /* children of a session at a time; more are an error */
#define SPAWN_MAX_PROMPT ((size_t)1 << 20)
#define SPAWN_ID_LEN 17 /* "a" and 16 hexadecimal digits */

/* Everything is lent for start() alone. Empty, NULL or 0: as for the agent that starts the
 * child. */
struct spawn_spec {
    const struct identity *by; /* who starts it; NULL: the main agent */
    const char *id;            /* its id, when it has one already: "a" and 16 digits; or NULL */
    struct str prompt;
    struct str about;        /* what it does, in a few words, for people; or empty */
    int depth;               /* identity.depth */
    bool in_background;      /* the caller does not wait for it */
    bool is_read_only;       /* its calls never change anything */
    bool omits_instructions; /* it gets its surroundings, but no instruction files */
    bool resumes;            /* its conversation is the one in its file (id says which) */
    struct str type;         /* "Explore"; events, asks and hooks carry it */
    struct str tool_id;      /* the call that starts it; lines of SDKs carry it; empty: none */
    bool forks;        /* it knows the conversation so far; else it begins with the prompt alone */
    struct str system; /* its system prompt */
    const struct strv *tools; /* names, of those that the starting agent has */
    /* Another choice among those; NULL: all. */
    bool (*wants_tool)(void *arg, const struct tool_entry *e);
    void *wants_arg;
    struct str schema; /* of its answer: a JSON schema */
    struct str model;  /* as --model takes it */
    enum effort effort;
    struct str mode; /* a permission mode: "plan". Empty: the session's, as it changes */
    const char *dir; /* where it works: a folder, or a worktree that the caller has made */
    int64_t max_steps;
    /* Called with each of its events, on its threads, before others see it. NULL: none. */
    void (*hears)(void *arg, const char *id, const struct event *e);
    /* Called each time that it comes to rest, on its thread, with no lock held. It may call
     * anything here but forget(). */
    void (*rests)(void *arg, const char *id);
    void *arg;
};

/* How its last turn ended. */
struct spawn_end {
    struct event *turn; /* TURN_DONE, with its report; yours: event_unref() */
    int64_t tool_uses;  /* since it was started */
    int64_t duration_ms;
    struct llm_usage usage; /* the same, with all its calls */
    double usd;             /* the same; the known part */
    bool cost_unknown;      /* some of it has no price */
};
void spawn_end_release(struct spawn_end *e);

struct spawner {
    /* ERR_BAD_INPUT: a tool, mode, schema or type that makes no sense; ERR_TOO_BIG; ERR_CANCELLED:
     * the session ends; what selecting a model fails with. */
    int (*start)(struct spawner *self, const struct spawn_spec *spec,
                 char ret_id[static SPAWN_ID_LEN + 1], struct err *err);
    /* Until it rests. ERR_NOT_FOUND; ERR_CANCELLED: the caller does not wait any more, and the
     * child works on: stop() it. */
    int (*wait)(struct spawner *self, const char *id, struct cancel *cancel, struct spawn_end *ret,
                struct err *err);
    int (*send)(struct spawner *self, const char *id, struct str text, enum input_when when,
                struct err *err);
    /* Its turn ends as an interrupt ends one, and what waits is dropped. Waits for neither. */
    int (*stop)(struct spawner *self, const char *id, struct err *err);
    /* Frees it if it rests, as wait() and forget(). ERR_RETRY_LATER: it does not, or has just been
     * sent something: it stays, and nothing sent is lost. */
    int (*retire)(struct spawner *self, const char *id, struct spawn_end *ret, struct err *err);
    /* Stops it, waits for its end, frees it. */
    int (*forget)(struct spawner *self, const char *id, struct err *err);
};
