/*
 * Forks a session: copies the lines of a conversation for a new one.
 *
 * Copies the chain and its facts (title, replacements, saved files), each with the new id and with
 * forkedFrom, which names the origin. The old file is not changed.
 */
#pragma once

struct buf;
struct err;
struct load;

int fork_lines(struct load *load, const char *session, struct buf *ret, struct err *err);
