/*
 * Exports a session as a readable document: markdown, or one self-contained HTML page.
 *
 * It has the whole conversation, including what was summarized, but without parts that are only for
 * the model. Transcripts are untrusted: in HTML everything is escaped, and the page forbids scripts
 * and external resources. Only one line of the transcript is in memory at a time.
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

/* Receives a piece of the document; -1 stops the export. */
typedef int (*export_fn)(void *arg, struct str text, struct err *err);

/* row: the index row, for the heading. */
int export_session(const char *path, const struct store_session *row, enum export_format format,
                   struct cancel *cancel, export_fn fn, void *arg, struct err *err);
