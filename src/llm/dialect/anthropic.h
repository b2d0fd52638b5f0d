/*
 * The two halves of the Anthropic dialect (provider_anthropic.c is its row): writing requests
 * (anthropic_request.c, anthropic_messages.c) and reading answers (anthropic_decoder.c).
 */
#pragma once

#include <stdbool.h>

#include "base/str.h"

struct block;
struct buf;
struct decoder;
struct err;
struct jw;
struct llm_fault;
struct llm_request;
struct reply;

int anthropic_body(const struct llm_request *req, struct buf *out, struct err *err);
/* The member "messages", with the last two cache marks. */
int anthropic_messages(struct jw *w, const struct llm_request *req, struct err *err);
/* Whether the block is part of a request. */
bool anthropic_is_sent(const struct llm_request *req, const struct block *b);
const char *anthropic_cache_mark(const struct llm_request *req); /* JSON */

struct decoder *anthropic_decoder_new(const struct llm_request *req, struct reply *reply);
int anthropic_event(struct decoder *d, struct str name, struct str data, struct llm_fault *fault,
                    struct err *err);
int anthropic_end(struct decoder *d, struct llm_fault *fault, struct err *err);
int anthropic_whole(struct decoder *d, struct str body, struct llm_fault *fault, struct err *err);
void anthropic_decoder_free(struct decoder *d);

/* Reads an error inside an answer that began with status 200: only its type tells the kind. */
void anthropic_fault_event(struct str body, struct llm_fault *ret);
