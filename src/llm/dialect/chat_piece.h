/*
 * The JSON of one message for chat completions.
 *
 * Our messages have Anthropic's structure: one user message can become several `tool` messages and
 * a user message, and adjacent user messages must be merged, because many chat templates require
 * alternating roles. Therefore a piece is not always a message. For an assistant message it is the
 * whole object, or empty if this dialect cannot express anything of it. For a user message it is
 * the `tool` objects, a NUL, and the content in one of two forms, which openai_chat_messages.c
 * combines for adjacent user messages:
 *
 *   T  the inside of one JSON string (only text: all servers accept this)
 *   P  elements of a content array (text and images)
 */
#pragma once

#include <stddef.h>

struct buf;
struct chat_server;
struct llm_request;

/* Writes the piece of message number `at`. */
void chat_piece_write(const struct llm_request *req, const struct chat_server *server, size_t at,
                      struct buf *out);

/* Appends what is between the outer brackets or quotes of a JSON text. */
void chat_piece_add_inside(struct buf *out, const struct buf *json);
