/*
 * What one message is in the JSON of chat completions.
 *
 * Our messages are Anthropic-shaped, theirs are not: one user message of ours can be several `tool`
 * messages and a user message, and neighbouring user messages must become one, because many chat
 * templates insist on alternating roles. So a piece is not always a message. Of an assistant it is
 * the whole object, or empty when there is nothing this dialect can say. Of a user it is the `tool`
 * objects, a NUL, and the content in one of two forms, which the run of user messages it stands in
 * puts together (openai_chat_messages.c):
 *
 *   T  the inside of one JSON string (only text: the form that every server knows)
 *   P  elements of a content array (text and images)
 */
#pragma once

#include <stddef.h>

struct buf;
struct chat_server;
struct llm_request;

/* Of message number `at`. */
void chat_piece_write(const struct llm_request *req, const struct chat_server *server, size_t at,
                      struct buf *out);

/* What stands between the outer brackets or quotes of a JSON text. */
void chat_piece_add_inside(struct buf *out, const struct buf *json);
