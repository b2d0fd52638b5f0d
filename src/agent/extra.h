/*
 * Deferred tools ("extra tools"): rows of a toolbox that are not part of the request. The model
 * finds them with SearchExtraTools and calls them with ExecuteExtraTool, so that requests stay
 * small.
 *
 * This header has what the search tool, the reminders (extra_news.h) and the host share: the
 * settings, the source of tools that become available later, and the texts that describe a tool.
 * Any thread.
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
    EXTRA_OFF,  /* all tools are in the request */
    EXTRA_AUTO, /* EXTRA_ON if the tools would fill more than `percent` of the window */
};

struct extra_settings {
    enum extra_mode mode;
    int percent;
    struct word_weights weights;
    bool prefetch;
    double prefetch_min;
};

/* Reads the setting toolSearch and its environment variables. */
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
    struct str code, error;  /* if EXTRA_FAILED: "ECONNREFUSED", and a sentence */
    struct str instructions; /* if EXTRA_CONNECTED: the server's text for the model; may be empty */
};

struct extra_servers {
    struct arena arena;
    VEC(struct extra_server) list; /* in the order of the configuration */
};
void extra_servers_release(struct extra_servers *s);

/* The source of tools that become available later; implemented by the host. Any thread. */
struct extra_source {
    /* Returns the current tools; the caller owns the reference. */
    struct toolbox *(*toolbox)(struct extra_source *self);
    void (*servers)(struct extra_source *self, struct extra_servers *ret);
    /* State of the server that a tool of this name belongs to; EXTRA_CONNECTED if there is none. */
    enum extra_state (*state_of)(struct extra_source *self, struct str tool);
    /* Waits until the servers of these tools (separated by blanks; empty = all servers) have
     * connected or failed. Retries failed servers that are named. */
    void (*await)(struct extra_source *self, struct str tools, struct cancel *cancel);
    /* What a prompt names as "@server:uri". Appends a line for the transcript (JSON), and the text
     * for the model or why there is none. False: no server has this name. NULL: there are none. */
    bool (*resource)(struct extra_source *self, struct str name, struct cancel *cancel,
                     struct buf *ret_line, struct buf *ret_text);
};

/* "Send a message to a channel. Parameters: channel*, text*, thread_ts" */
void extra_write_line(const struct tool_entry *e, struct buf *ret);
/* Writes <tool name="…" server="…"> with description and schema. */
void extra_write_entry(const struct tool_entry *e, struct buf *ret);
/* The name without the prefix that is clear from its server: "mcp__slack__send_message" gives
 * "send_message". */
struct str extra_short_name(const struct tool_entry *e);
/* "Still connecting: a. Needs login: b (user: /mcp). Failed: c (ECONNREFUSED)." Appends nothing if
 * all are connected. */
void extra_write_states(const struct extra_servers *servers, struct buf *ret);
/* Adds the name of the tool that ExecuteExtraTool has called to the result's data (JSON): readers
 * of the transcript see only the call of ExecuteExtraTool. */
void extra_name_tool(struct str name, struct buf *io_data);
