/*
 * What a statusLine command reads on its standard input: one JSON object about the session, in the
 * shape of the reference. Any thread.
 */
#pragma once

struct buf;
struct host;
struct statusline_seen;

void statusline_input(struct host *h, const struct statusline_seen *seen, struct buf *ret);
