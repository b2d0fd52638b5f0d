/*
 * Shared by Edit and MultiEdit: replacements in one file, one after the other, all or none.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct edit;
struct err;
struct json;
struct tool_call;
struct tool_result;

/* From {old_string, new_string, replace_all}. */
struct edit edit_from(const struct json *args);

/* Fills ret's text and data. An empty old string creates a file or fills an empty one; only the
 * first edit may have it. only_look: only checks whether it would succeed. */
int edit_file(struct tool_call *call, const struct edit *edits, size_t count, bool only_look,
              struct tool_result *ret, struct err *err);
