/*
 * Which engine Grep searches with, for who wants to know (doctor).
 */
#pragma once

struct buf;
struct cancel;
struct conf;

/* "built in (PCRE2 10.42, JIT)" or "ripgrep 13.0.0 -P"; the latter asks `rg`. */
void grep_engine_name(const struct conf *conf, struct cancel *cancel, struct buf *ret);
