/*
 * What MCP servers ask of the user of a session: forms, pages to be opened, answers of a model. The
 * functions are members of mcp_spec; arg is the host.
 */
#pragma once

#include "base/str.h"

struct buf;
struct cancel;
struct err;
struct host;
struct json;
struct strv;

/* On a thread of the question's own. Without a user a form is answered with "cancel". */
int host_mcp_ask(void *arg, const char *server, struct str method, const struct json *params,
                 struct cancel *cancel, struct buf *ret, struct err *err);
/* On the server's thread; neither blocks. */
void host_mcp_said(void *arg, const char *server, struct str text);
void host_mcp_done(void *arg, const char *server, struct str id);

void host_mcp_roots(void *arg, struct strv *ret);

/* In the user's browser, at a terminal. */
void host_open_page(struct host *h, struct str url, struct cancel *cancel);

void host_free_desk(struct host *h); /* after all servers have ended */
