/*
 * The way to MCP servers that live in the client of a session: its owner carries the messages. A
 * contract between wire_sdk.c and the front end that implements it (proto/sdk_servers.h). Any
 * thread.
 */
#pragma once

#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "sync/mailbox.h"

struct sdk_link {
    /* Messages of the server go to the mailbox as sdk_mail until close(). */
    void (*open)(struct sdk_link *self, const char *server, struct mailbox *to);
    void (*close)(struct sdk_link *self, struct mailbox *to);
    /* id: of a request, whose answer comes as mail with that id; 0: of none. ERR_NETWORK: the
     * client has gone. */
    int (*send)(struct sdk_link *self, const char *server, struct str message, int64_t id,
                struct mailbox *to, struct err *err);
};

extern const struct mail_kind sdk_mail_kind;

struct sdk_mail {
    struct mail mail;
    int64_t id;      /* of the request that it answers; 0: the server's own message */
    struct buf json; /* JSON-RPC */
    struct err err;  /* code set: there is no answer, and this is why */
};
struct sdk_mail *sdk_mail_new(int64_t id);
