/*
 * The MCP servers of a session: each that may run has a client, and their tools become rows of a
 * toolbox.
 *
 * Nothing here waits for a server but mcp_wait(). When a server has connected, or its lists have
 * changed, mcp_version() is another one, and mcp_tools() gives the rows as they are then.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"
#include "base/strv.h"
#include "mcp/asked.h"

struct buf;
struct cancel;
struct conf;
struct err;
struct json;
struct jw;
struct mcp;
struct mcp_client;
struct mcp_server;
struct net;
struct sandbox;
struct sdk_link;
struct strv;
struct tool_entry;

struct mcp_spec {
    const struct conf *conf;    /* lent for its life, like everything here but the next three */
    const struct json *dynamic; /* as in mcp_sources */
    const struct strv *approved;
    bool is_headless;
    bool starts_all;       /* lazy ones, too */
    const char *only;      /* starts no server but the one of this name; NULL: all */
    bool only_dynamic;     /* has no other servers */
    struct net *net;       /* NULL: servers at a URL fail */
    struct sdk_link *link; /* NULL: servers inside a client fail */
    mcp_roots_fn roots;
    struct sandbox *sandbox; /* NULL: servers that want to be confined fail */
    mcp_ask_fn ask;
    bool can_sample;
    void (*said)(void *arg, const char *server, struct str text);
    void (*done)(void *arg, const char *server, struct str id);
    void *arg;
};

/* Reads which servers there are and starts those that may run. ERR_BAD_INPUT: --mcp-config makes no
 * sense. */
int mcp_new(const struct mcp_spec *spec, struct strv *ret_notes, struct mcp **ret, struct err *err);
void mcp_free(struct mcp *m); /* ends them all, at the same time; NULL is fine */

size_t mcp_count(const struct mcp *m);
const struct mcp_server *mcp_server_at(const struct mcp *m, size_t i);
struct mcp_client *mcp_client_at(const struct mcp *m, size_t i); /* NULL: it does not run */
/* Another one of its name counts, or it was taken away. */
bool mcp_is_hidden(const struct mcp *m, size_t i);

/* The servers that a client brings, {"name": entry}, take the place of those it brought before.
 * link, net: from now on; NULL: as before. Any thread. */
struct mcp_servers;

struct mcp_changes {
    struct strv added, removed;
    struct strv errors; /* "name=why" */
};
void mcp_changes_release(struct mcp_changes *c);
void mcp_set(struct mcp *m, const struct json *servers, struct sdk_link *link, struct net *net,
             struct mcp_changes *ret);
/* Takes those of plugins whose names are free out of a list that was read anew, and starts them. */
void mcp_add_plugins(struct mcp *m, struct mcp_servers *from, struct net *net,
                     struct strv *ret_notes);
/* Starts a server that was turned off, or ends one. ERR_DENIED: it is not approved, or forbidden.
 * net: as of mcp_set(). */
int mcp_toggle(struct mcp *m, size_t i, bool on, struct net *net, struct err *err);
/* The user has approved it: it starts, if that was what it waited for. */
void mcp_admit(struct mcp *m, size_t i, struct net *net);

/* By name, of those that count; mcp_count() when there is none. */
size_t mcp_find(const struct mcp *m, struct str name);
/* "connected", "pending", "needs-auth", "failed", "disabled"; why: what to show beside it, or "".
 */
const char *mcp_status(const struct mcp *m, size_t i, struct buf *ret_why);

/* Another number whenever servers, their states or their lists are other ones. */
uint64_t mcp_version(const struct mcp *m);

/* The working folders are other ones: servers are told. */
void mcp_roots_changed(struct mcp *m);

/* Until no server connects any more, at most so long. */
void mcp_wait(struct mcp *m, int64_t ms, struct cancel *cancel);

/* The rows of all connected servers. mcp_tools_free() is for toolbox_spec.release: the rows live as
 * long as a toolbox that has them. Notes list tools that cannot be offered. */
struct mcp_tools;
struct mcp_tools *mcp_tools(struct mcp *m, struct strv *ret_notes);
const struct tool_entry *mcp_tools_rows(const struct mcp_tools *t, size_t *ret_count);
void mcp_tools_free(void *t);

/* [{"name","status","scope",…}] for clients; with tools: what each offers. */
void mcp_write(const struct mcp *m, bool tools, struct jw *w);
