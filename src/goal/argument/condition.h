/*
 * A condition as typed, with options before or after it; argument.h has the rules.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

struct buf;
struct err;
struct goal_options;

/* text is trimmed. Adds to the options; both may have changed when it fails. *ret_literal: a "--"
 * stood before it, so that not even a reserved word is one. */
int condition_read(struct str text, int64_t now_ms, struct buf *ret_text,
                   struct goal_options *ret_options, bool *ret_literal, struct err *err);
