/*
 * One request after the other, for oauth.c: sent, answered, read whole.
 */
#pragma once

#include "base/buf.h"
#include "base/strv.h"

struct cancel;
struct err;
struct json;
struct arena;
struct net;
struct oauth;

struct oauth_answer {
    int status;
    struct strv headers;
    struct buf body;
};
#define OAUTH_ANSWER_INIT                                                                          \
    {                                                                                              \
        .body = BUF_INIT((size_t)1 << 20)                                                          \
    }
void oauth_answer_release(struct oauth_answer *a);

/* body.ptr NULL: GET, else POST. header: one more, or NULL. ret: OAUTH_ANSWER_INIT. An error status
 * is an answer. ERR_DENIED: the address is not one to send such things to. */
int oauth_send(const struct oauth *o, const char *url, const char *type, struct str body,
               const struct strv *headers, struct oauth_answer *ret, struct err *err);
/* GET: a JSON object, or NULL when the status is not 200. */
int oauth_get_json(const struct oauth *o, const char *url, struct arena *arena,
                   const struct json **ret, struct err *err);
void oauth_add_encoded(struct buf *ret, struct str text);                  /* as in a query */
void oauth_add_param(struct buf *ret, const char *name, struct str value); /* "&name=value" */
