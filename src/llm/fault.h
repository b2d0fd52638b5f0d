/*
 * The meaning of a failed answer, as far as it can be read from what servers send.
 *
 * A fault says whether to retry and what to tell the user. Dialects fill it from status, headers
 * and body; this file has what is common to all servers.
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
    bool overloaded;          /* 529 and similar: counts towards the fallback model */
    int64_t wait_ms;          /* as the server asked, or -1 */
    bool cap_at_home;         /* from the vendor's own servers this means a spending cap */
    bool no_tools;            /* this model does not support tools */
    bool media;               /* an image or file in the request is or may be the cause */
    bool drop_stream_options; /* a retry without stream_options may work */
    bool drop_summaries;      /* a retry without requesting readable thinking may work */
    char text[400];           /* the server's message on one line */
    char request_id[80];
};

/* True for the context-overflow messages of all known servers, ignoring case. */
bool fault_is_context_text(struct str text);
void fault_text(struct llm_fault *f, struct str text); /* cleaned to one line, clipped */

/* Finds the error object in a body of any form: {"error":{…}}, [{"error":{…}}], flat; NULL if there
 * is none. fault_message() is its text, or empty. */
const struct json *fault_find(struct str body, struct arena *arena);
struct str fault_message(const struct json *error);
int fault_status(const struct json *error); /* {"code":429} or {"code":"429"}; 0 = none */

/* Default interpretation of status, headers and body; dialects refine it. Starts from a zeroed
 * struct. */
void fault_from_status(struct llm_fault *f, int status, struct str body, struct str retry_after,
                       struct str retry_after_ms);

/* Interprets a body with status 200 that is not an answer but may have a reason:
 * {"code":401,"msg":"…"}. False, leaving *f unchanged, if it has none. */
bool fault_from_answer(struct llm_fault *f, struct str body);

/* The name of a failure for programs: "rate_limit", "overloaded", … The HTTP status cannot
 * distinguish these two: both also occur inside an answer that began with 200. */
const char *fault_name(enum err_code code, bool is_overloaded);
