/*
 * A fork: the lines of a conversation, copied for a new session.
 *
 * The chain and what belongs to it (title, replacements, files kept), each under the new id and
 * with forkedFrom, which names its origin. The old file is not touched.
 */
#pragma once

struct buf;
struct err;
struct load;

int fork_lines(struct load *load, const char *session, struct buf *ret, struct err *err);
