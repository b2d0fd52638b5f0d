/*
 * Which engine Grep searches with, for who wants to know (doctor).
 */
#pragma once

struct buf;
struct cancel;

/* "ripgrep 13.0.0 (-P)" or "built in, PCRE2 10.42, JIT". May run `rg --version` once; environ is
 * where PATH is looked up. */
void grep_engine_name(char *const *environ, struct cancel *cancel, struct buf *ret);
