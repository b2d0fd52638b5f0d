/*
 * control_request lines of a client, answered: one row per subtype (control.c).
 *
 * To add a subtype: one function, one row. Unknown subtypes are answered with "Unsupported control
 * request subtype: <s>" and the code unsupported_request.
 */
#pragma once

#include "base/str.h"

struct buf;
struct err;
struct json;
struct jw;
struct mailbox;
struct peer;
struct peer_session;

/* What a request can see and do; implemented by peer.c. */
struct control_call {
    struct peer_session *session;
    struct peer *peer;
    bool owner;
    bool looks_only;         /* it may ask what changes nothing */
    struct mailbox *mailbox; /* the client's: for answers that take their time (line_mail) */
    struct str request_id;
    const struct json *request; /* {"subtype",…} */
};

#define CONTROL_LOOKS_ONLY                                                                         \
    "a command that this session runs may only look; it cannot change the session or its goal"

/* Appends the whole control_response line; nothing when the answer will come by mail. */
void control_answer(struct control_call *call, struct buf *out);

/* The line itself: body is the response object, or err why there is none. */
void control_respond(struct str request_id, struct str body, const struct err *err,
                     struct buf *out);
