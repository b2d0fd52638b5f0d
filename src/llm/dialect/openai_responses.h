/*
 * OpenAI Responses, the request. provider_openai_responses.c reads the answers.
 *
 * The server stores nothing (store is false), so every output item is sent back as an input item.
 * What our blocks cannot represent is kept in provider_data: "id" is the call_id, "item" the
 * reasoning item without its id, "custom" marks a call of a custom tool, "phase" and "refusal"
 * belong to text.
 */
#pragma once

struct buf;
struct err;
struct llm_request;

int openai_responses_body(const struct llm_request *req, struct buf *out, struct err *err);
