/*
 * What tools that run a shell command have in common: what permission rules see of the call, and
 * the start in the background. Tool threads.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct arena;
struct background_started;
struct buf;
struct err;
struct json;
struct rule_subject;
struct tool_call;
struct tool_entry;
struct workspace;

/* tool_entry.about: the rules for Bash apply to the argument "command". */
void bash_about(const struct tool_entry *e, struct workspace *w, const struct json *args,
                struct arena *arena, struct rule_subject *ret);

/* Starts the call's command, confined if commands are. Notes for the model are appended, a line
 * each. timeout_ms: 0 = none. */
int bash_start(struct tool_call *call, bool is_monitor, int64_t timeout_ms,
               struct background_started *ret, struct buf *notes, struct err *err);
