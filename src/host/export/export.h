/*
 * A session as a document for people: markdown, or one HTML page that needs nothing else.
 *
 * All of the conversation is in it, also what was summarised since, except parts only meant for the
 * model. Nothing in a transcript can be trusted: in HTML it is escaped, and the page forbids
 * scripts and anything from elsewhere. One line of the transcript is in memory at a time.
 */
#pragma once

#include "base/str.h"

struct cancel;
struct err;
struct store_session;

enum export_format {
    EXPORT_MARKDOWN,
    EXPORT_HTML,
};

/* A piece of the document; -1 ends it. */
typedef int (*export_fn)(void *arg, struct str text, struct err *err);

/* row: what the list knows of it, for the heading. */
int export_session(const char *path, const struct store_session *row, enum export_format format,
                   struct cancel *cancel, export_fn fn, void *arg, struct err *err);
