/*
 * What a transcript records about how its session was run, as far as a resumed session does not
 * continue it: named once, so that the user can decide. Other programs write most of these lines.
 */
#pragma once

struct conf;
struct session;
struct strv;

/* Adds a line for each. Nothing for a new session. */
void resumed_note(struct session *s, const struct conf *conf, struct strv *notes);
