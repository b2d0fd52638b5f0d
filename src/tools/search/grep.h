/*
 * Which engine Grep searches with, for who wants to know (doctor, the start of a session).
 */
#pragma once

struct buf;
struct cancel;
struct conf;
struct strv;

/* "built in (PCRE2 10.42, JIT)" or "ripgrep 13.0.0 -P"; the latter asks `rg`. */
void grep_engine_name(const struct conf *conf, struct cancel *cancel, struct buf *ret);
/* A line when ripgrep is configured but missing; the built-in search serves then. Runs nothing. */
void grep_note(const struct conf *conf, struct strv *notes);
