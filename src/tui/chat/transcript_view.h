/*
 * The transcript view: the complete conversation on the alternate screen.
 *
 * Read-only. It shows the lines of the session's file in their order, including those rewound or
 * compacted since: calls with all of their input and results, thinking too. It searches (/, n, N),
 * folds nothing away, and reads only the visible part: 100 MB open as fast as 100 KB, and a growing
 * file has more to show. A panel (panel.h), closed by Esc, q or Ctrl-O.
 */
#pragma once

#include "base/str.h"
#include "tui/dialog/panel.h"

struct err;

/* path: of the transcript. at: the id of a call or the uuid of a line to begin at; empty: the
 * end. */
struct panel *transcript_view_new(const char *path, struct str at, struct err *err);
/* The same for any Markdown text with a title (front.h show()). */
struct panel *text_view_new(struct str title, struct str text);
