/*
 * Speakers: one dialect's half of the pretend model, reading requests and telling answers.
 *
 * One file per dialect, one row in speak.c. A speaker is pure: JSON in, bytes out. It is strict
 * where the vendor is (unanswered tool calls, lost signatures, empty blocks: ask_refuse()), so that
 * a client that would fail in the field fails here. tell() walks the parts common to all dialects
 * (the step's parts, their pieces, pauses and pace), and calls back for each block.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"
#include "base/vec.h"
#include "json/jw.h"
#include "llm/scenario/scenario.h"
#include "llm/scenario/viewer.h"

#include "tape.h"

struct err;
struct http_request;
struct json;
struct speaker;

/* A request, understood. */
struct ask {
    const struct speaker *speaker;
    const struct http_request *http;
    const struct json *body;
    struct str path;
    bool stream;
    bool whole_array; /* Gemini without alt=sse: a JSON array in pieces */
    bool want_usage;  /* the vendor sends figures only when asked */
    bool want_opaque; /* encrypted reasoning was asked for */
    struct str model;
    struct scenario_viewer viewer;
};

struct answer {
    const struct ask *ask;
    const struct scenario_step *step;
    const struct scenario_fault *error; /* FAULT_ERROR: told after error->at parts */
    struct llm_usage usage;
    enum llm_stop stop;
    uint64_t serial; /* of the answer: ids are made from it */
    char id[48];
};

struct speaker {
    const char *name;
    const char *id_prefix;      /* of answers */
    const char *request_header; /* carries the request id */
    bool (*takes)(struct str path);
    /* Fills stream, model and viewer; -1 with the vendor's complaint. */
    int (*read)(struct ask *ask, struct err *err);
    void (*stream)(const struct answer *a, struct tape *w);
    void (*whole)(const struct answer *a, struct jw *w);
    void (*error)(int status, struct str type, struct str text, struct str request_id,
                  struct jw *w);
    void (*models)(struct jw *w);
};

extern const struct speaker speak_anthropic;
extern const struct speaker speak_chat;
extern const struct speaker speak_responses;
extern const struct speaker speak_gemini;

const struct speaker *speaker_find(struct str path);                    /* NULL: not a model call */
const struct speaker *speaker_of_list(struct str path, bool anthropic); /* for GET …/models */

/* The vendor's usual word for a status; both tables end with status 0. */
struct error_name {
    int status;
    const char *type;
};
struct str error_type(const struct error_name *names, int status, struct str given);

/* A block in its output form. */
struct passage {
    enum scenario_part_kind kind;
    struct str name; /* of a call */
    struct buf text; /* so far; all of it when closed */
    size_t index;
    size_t calls; /* calls told before this one */
    uint64_t serial;
};

struct tell {
    const struct answer *answer;
    struct tape *tape;
    struct passage now;
    void *state; /* the speaker's */
};

struct teller {
    void (*open)(struct tell *t);
    void (*piece)(struct tell *t, struct str piece);
    void (*close)(struct tell *t);
};

/* Walks the parts. Returns true when the answer is complete, false when an error is due. */
bool tell(struct tell *t, const struct teller *fns);

/* The same blocks at once. Free with passages_release(). */
typedef VEC(struct passage) passages;
void passages_make(const struct answer *a, passages *ret);
void passages_release(passages *p);

/* Opaque texts a client must bring back unchanged: made from what they stand for, so that the check
 * needs no memory. */
void opaque_make(const char *vendor, struct str of, struct buf *out);
bool opaque_is_good(const char *vendor, struct str of, struct str given);
bool opaque_is_ours(const char *vendor, struct str given);

void jw_kid(struct jw *w, const char *key, const char *prefix, uint64_t serial, size_t index);
int64_t usage_prompt(const struct llm_usage *u); /* cached and written included */
int ask_refuse(struct err *err, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* Content that is a string, or an array of {text}: every text goes to fn. How many. */
typedef void (*text_fn)(struct scenario_viewer *v, struct str text);
size_t each_text(const struct json *content, struct scenario_viewer *v, text_fn fn);
