/*
 * Reports the engine that Grep uses, for doctor and the start of a session.
 */
#pragma once

struct buf;
struct cancel;
struct conf;
struct strv;

/* "built in (PCRE2 10.42, JIT)" or "ripgrep 13.0.0 -P"; for the latter runs `rg`. */
void grep_engine_name(const struct conf *conf, struct cancel *cancel, struct buf *ret);
/* Adds a line if ripgrep is configured but missing, so that the built-in engine is used. Runs
 * nothing. */
void grep_note(const struct conf *conf, struct strv *notes);
