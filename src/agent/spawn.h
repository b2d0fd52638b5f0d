/*
 * Subagents ("children"): agents that are started by a tool call or by the session itself.
 *
 * A child works in the same session and uses its rules, models, hooks and network. Its events carry
 * its identity, its questions go to the session's front ends with its name, and its costs are added
 * to the session's. It has its own conversation, working directory and list of files seen.
 *
 * start() sends the child its prompt and returns at once. The caller then calls wait(), or is
 * notified through rests(). A child rests when no turn runs and no input waits; send() gives it the
 * next input. It exists until forget() or the end of the session.
 *
 * Implemented by the host (host/child.c), which passes it to tools in struct tool_call. Any
 * thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/agent.h"
#include "base/str.h"
#include "llm/dialect/dialect.h"
#include "llm/event.h"

struct asker;
struct cancel;
struct err;
struct event;
struct identity;
struct strv;
struct tool_entry;

#define SPAWN_MAX 4096 /* children of a session at the same time; more are an error */
#define SPAWN_MAX_PROMPT ((size_t)1 << 20)
#define SPAWN_ID_LEN 82 /* at most: "a", a team member's name, "-" and 16 hexadecimal digits */

/* Valid during start(). Fields that are empty, NULL or 0 default to the value of the starting
 * agent. */
struct spawn_spec {
    const struct identity *by; /* the starting agent; NULL = the main agent */
    const char *id;            /* a given id: "a" and 16 digits; or NULL */
    struct str prompt;
    struct str about;        /* a short description for the user; or empty */
    int depth;               /* identity.depth */
    bool in_background;      /* the caller does not wait for it */
    bool is_read_only;       /* its calls must not change anything */
    bool changes_ignored;    /* except files that git ignores */
    bool omits_instructions; /* its context has no instruction files */
    bool resumes;            /* resumes the conversation in the transcript file of `id` */
    struct str member;       /* its name as a team member; or empty */
    struct str type;         /* "Explore"; part of its events, asks and hook inputs */
    struct str tool_id;      /* the call that starts it, for SDKs; or empty */
    bool forks;        /* starts with a copy of the conversation; otherwise with the prompt only */
    struct str system; /* its system prompt */
    struct str system_end;    /* text to append to that prompt */
    const struct strv *tools; /* names of some of the starting agent's tools */
    /* Selects among those; NULL = all. */
    bool (*wants_tool)(void *arg, const struct tool_entry *e);
    /* Whether a call of one of its tools fails with an error; NULL = none. */
    bool (*refuses_tool)(void *arg, const struct tool_entry *e);
    void *wants_arg;     /* passed to both */
    struct str schema;   /* JSON schema of its answer */
    struct asker *asker; /* answers its questions; NULL = the session's front ends */
    struct str model;    /* in the form of --model */
    enum effort effort;
    struct str mode; /* permission mode such as "plan"; empty = the session's current mode */
    const char *dir; /* working directory; may be a worktree that the caller has made */
    int64_t max_steps;
    struct str memory;          /* of its type: "user", "project", "local"; or empty */
    const struct strv *skills;  /* that its context begins with; or NULL */
    const struct json *servers; /* MCP servers that run while it does, {"name": entry}; or NULL */
    const struct strv *server_names; /* of the session's that it needs; or NULL */
    const struct json *hooks;        /* its definition's, in the form of the settings; or NULL */
    const char *hooks_file;          /* where they are written */
    /* Called on its threads with each of its events, before observers get them. May be NULL. */
    void (*hears)(void *arg, const char *id, const struct event *e);
    /* Called on its thread each time it starts to rest, with no lock held. It may call everything
     * here except forget(). */
    void (*rests)(void *arg, const char *id);
    void *arg;
};

/* The end of a child's last turn. */
struct spawn_end {
    struct event *turn; /* TURN_DONE with its report; owned: event_unref() */
    int64_t tool_uses;  /* since start() */
    int64_t duration_ms;
    struct llm_usage usage; /* since start(), of all its calls */
    double usd;             /* since start(); known prices only */
    bool cost_unknown;      /* some price is unknown */
};
void spawn_end_release(struct spawn_end *e);

struct spawner {
    /* ERR_BAD_INPUT: an invalid tool, mode, schema or type; ERR_TOO_BIG; ERR_CANCELLED: the session
     * ends; or an error of selecting the model. */
    int (*start)(struct spawner *self, const struct spawn_spec *spec,
                 char ret_id[static SPAWN_ID_LEN + 1], struct err *err);
    /* Waits until the child rests. ERR_NOT_FOUND; ERR_CANCELLED: the wait was cancelled, and the
     * child keeps running unless stop() is called. */
    int (*wait)(struct spawner *self, const char *id, struct cancel *cancel, struct spawn_end *ret,
                struct err *err);
    int (*send)(struct spawner *self, const char *id, struct str text, enum input_when when,
                struct err *err);
    /* Interrupts its turn and drops waiting input. Does not wait. */
    int (*stop)(struct spawner *self, const char *id, struct err *err);
    /* Changes its permission mode. Empty: from now on it is the session's current one. */
    int (*set_mode)(struct spawner *self, const char *id, struct str mode, struct err *err);
    /* Frees the child if it rests, and returns its last result as wait() does. ERR_RETRY_LATER if
     * it does not rest or was just sent input: it stays, and no input is lost. */
    int (*retire)(struct spawner *self, const char *id, struct spawn_end *ret, struct err *err);
    /* Stops the child, waits for its end and frees it. */
    int (*forget)(struct spawner *self, const char *id, struct err *err);
};
