/*
 * What a failed answer means, and how it is read from what servers say.
 *
 * A fault says whether to try again and what to tell the user. Dialects fill it from status,
 * headers and body; what all servers have in common is here.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"

struct arena;
struct json;

struct llm_fault {
    enum err_code code; /* RETRY_LATER (429, overloaded), NETWORK (try again), AUTH, QUOTA,
                           CONTEXT_FULL, TOO_BIG, NOT_FOUND, BAD_INPUT, UNSUPPORTED, DENIED */
    bool retry;
    bool overloaded;          /* 529 and its relatives: counts towards the fallback model */
    int64_t wait_ms;          /* asked for by the server, or -1 */
    bool cap_at_home;         /* from the vendor's own servers it would be a spending cap */
    bool no_tools;            /* this model cannot be given tools */
    bool media;               /* an image or a file in the request is to blame, or may be */
    bool drop_stream_options; /* the same request may work without stream_options */
    bool drop_summaries;      /* the same without asking for readable thinking */
    char text[400];           /* what the server said, cleaned to one line */
    char request_id[80];
};

/* Overflow texts of all known servers, any case. */
bool fault_is_context_text(struct str text);
void fault_text(struct llm_fault *f, struct str text); /* cleaned to one line, clipped */

/* The object that holds the error in a body of whatever shape: {"error":{…}}, [{"error":{…}}],
 * flat; NULL when the body is something else. fault_message() is its text, empty when there is
 * none. */
const struct json *fault_find(struct str body, struct arena *arena);
struct str fault_message(const struct json *error);
int fault_status(const struct json *error); /* {"code":429} or {"code":"429"}; 0: none in it */

/* The plain reading of status, headers and body; dialects refine it. Starts from a
 * zeroed struct. */
void fault_from_status(struct llm_fault *f, int status, struct str body, struct str retry_after,
                       struct str retry_after_ms);

/* A body that came with 200 and is no answer, but may say why: {"code":401,"msg":"…"}. False: it
 * says nothing, and *f is untouched. */
bool fault_from_answer(struct llm_fault *f, struct str body);
