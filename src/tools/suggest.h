/*
 * "Did you mean", for a path that is not there.
 *
 * Looked at, in this order: the same path below the working folders (a wrong idea of where one is),
 * a name like it in the same folder (typing, letter case, another extension), the same name
 * elsewhere below the working folders. Bounded: at most 20,000 names are read. For a dangling link
 * its target is named.
 */
#pragma once

struct buf;
struct workspace;

/* Appends a sentence or two with a blank before them: where we are, and what may have been meant.
 */
void suggest_path(struct workspace *w, const char *path, struct buf *ret);
