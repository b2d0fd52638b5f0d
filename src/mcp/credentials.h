/*
 * The headers of requests to a server at a URL, made on a separate thread, because a helper and the
 * renewal of a token take their time: configured ones, what headersHelper prints over them, and the
 * token of a login.
 */
#pragma once

#include <stdbool.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"
#include "base/strv.h"
#include "sync/mailbox.h"

struct credentials;
struct mcp_server;
struct net;

struct credentials_spec {
    const struct mcp_server *server;
    const char *home, *dir;
    char *const *env; /* of a helper */
    struct net *net;
    struct mailbox *to;
};

/* Configured headers alone are not all: false if they are. */
bool credentials_are_needed(const struct credentials_spec *spec);
/* stale: a token that was refused; or empty. One credentials_mail comes, unless it is freed before.
 */
struct credentials *credentials_start(const struct credentials_spec *spec, struct str stale,
                                      struct err *err);
void credentials_free(struct credentials *c); /* cancels and waits; NULL is fine */

extern const struct mail_kind credentials_mail_kind;
struct credentials_mail {
    struct mail mail;
    const struct credentials *from; /* for comparing */
    struct strv headers;            /* "name: value" */
    struct buf token;               /* that is among them; or empty */
    struct err err;                 /* code set: there are none, and this is why */
};
