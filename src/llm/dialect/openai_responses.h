/*
 * OpenAI Responses, the request. provider_openai_responses.c reads the answers.
 *
 * Nothing is kept at the server (store is false), so every output item goes back as an input item.
 * What our blocks cannot hold of an item travels in provider_data: "id" is the call_id, "item" the
 * reasoning item without its id, "custom" marks a call of a custom tool, "phase" and "refusal"
 * belong to text.
 */
#pragma once

struct buf;
struct err;
struct llm_request;

int openai_responses_body(const struct llm_request *req, struct buf *out, struct err *err);
