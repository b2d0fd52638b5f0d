/*
 * "Did you mean" for a path that does not exist.
 *
 * Checks, in this order: the same path below the working directories, a similar name in the same
 * folder (typing error, case, extension), the same name elsewhere below the working directories.
 * Reads at most 20,000 names. For a dangling link it names the target.
 */
#pragma once

struct buf;
struct workspace;

/* Appends a sentence or two with a blank before them: where we are, and what may have been meant.
 */
void suggest_path(struct workspace *w, const char *path, struct buf *ret);
