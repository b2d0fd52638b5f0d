/*
 * Chat completions, the request: openai_chat_request.c writes it, openai_chat_messages.c the
 * history in it. provider_openai_chat.c reads the answers.
 */
#pragma once

struct buf;
struct chat_server;
struct err;
struct jw;
struct llm_request;

int openai_chat_body(const struct llm_request *req, struct buf *out, struct err *err);

/* The messages array: system text, history and tail. */
void openai_chat_messages(const struct llm_request *req, const struct chat_server *server,
                          struct jw *w);
