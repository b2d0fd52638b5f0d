/*
 * The protocol without a handshake (2026-07-28): every request says who asks and what it can do,
 * and over HTTP its headers repeat what it is about. A result may be a question first: the request
 * is then sent again with the answers.
 */
#pragma once

#include <stdbool.h>

#include "base/str.h"

struct buf;
struct json;
struct strv;

#define MODERN_VERSION "2026-07-28"
#define MODERN_MAX_ROUNDS 8

/* Members of _meta; capabilities: a JSON object. */
void modern_write_meta(struct str capabilities, struct buf *ret);
/* "Mcp-Method: tools/call" and so on, "name: value" each. schema: of the tool that is called, or
 * NULL. */
void modern_headers(const char *method, const struct json *params, const struct json *schema,
                    struct strv *ret);
/* Whether all x-mcp-header annotations of a tool's schema make sense: a tool where one does not is
 * not offered over HTTP. */
bool modern_schema_is_fine(const struct json *schema);

/* An answer to server/discover. */
bool modern_is_hello(const struct json *result);
/* An error that only a server of this protocol gives. */
bool modern_is_error(const struct json *error);
/* A result that asks for more; its questions may be none. */
bool modern_asks(const struct json *result, const struct json **ret_questions);
