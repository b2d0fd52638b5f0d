/*
 * Extra tools: deferred rows of a toolbox, which the model finds with SearchExtraTools and calls
 * with ExecuteExtraTool, so that a request does not grow with them.
 *
 * Here is what the search tool, the reminders (extra_news.h) and the host have in common: the
 * settings, the source of tools that come late, and the texts that describe a tool. Any thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/str.h"
#include "base/vec.h"
#include "context/word_index.h"

struct buf;
struct cancel;
struct conf;
struct toolbox;
struct tool_entry;

#define EXTRA_MAX_TEXT ((size_t)8 << 10) /* of a tool's description */

enum extra_mode {
    EXTRA_ON,
    EXTRA_OFF,  /* all tools are part of the request */
    EXTRA_AUTO, /* ON when the tools would fill more than `percent` of the window */
};

struct extra_settings {
    enum extra_mode mode;
    int percent;
    struct word_weights weights;
    bool prefetch;
    double prefetch_min;
};

/* The setting toolSearch and its environment variables. */
void extra_settings_read(const struct conf *conf, struct extra_settings *ret);

enum extra_state {
    EXTRA_CONNECTING,
    EXTRA_NEEDS_LOGIN,
    EXTRA_FAILED,
    EXTRA_CONNECTED,
};

struct extra_server {
    struct str name;
    enum extra_state state;
    struct str code, error;  /* of FAILED: "ECONNREFUSED", and a sentence */
    struct str instructions; /* of CONNECTED: what it tells the model; may be empty */
};

struct extra_servers {
    struct arena arena;
    VEC(struct extra_server) list; /* in the order of the configuration */
};
void extra_servers_release(struct extra_servers *s);

/* Where tools come from that were not there from the beginning; the host implements it. Any
 * thread. */
struct extra_source {
    /* The tools as they are now; a reference of yours. */
    struct toolbox *(*toolbox)(struct extra_source *self);
    void (*servers)(struct extra_source *self, struct extra_servers *ret);
    /* Of the server that a tool of this name would be from; CONNECTED, too, when there is none. */
    enum extra_state (*state_of)(struct extra_source *self, struct str tool);
    /* Waits until the servers of these tools (blanks between; empty: all servers) have connected or
     * failed, and tries those named again that have failed. */
    void (*await)(struct extra_source *self, struct str tools, struct cancel *cancel);
};

/* "Send a message to a channel. Parameters: channel*, text*, thread_ts" */
void extra_write_line(const struct tool_entry *e, struct buf *ret);
/* <tool name="…" server="…"> with the description and the schema. */
void extra_write_entry(const struct tool_entry *e, struct buf *ret);
/* "mcp__slack__send_message" without what its server's line says already: "send_message". */
struct str extra_short_name(const struct tool_entry *e);
/* "Still connecting: a. Needs login: b (user: /mcp). Failed: c (ECONNREFUSED)."; or nothing. */
void extra_write_states(const struct extra_servers *servers, struct buf *ret);
