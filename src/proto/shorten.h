/*
 * What tools brought back, made to fit into a line.
 *
 * Some clients give up on a line of more than 1 MB; the Python SDK ends the session. The model's
 * text and questions to the user are still sent whole: they cannot be shortened. A picture or a
 * file that was read can: the model has seen all of it, and observers get its size.
 */
#pragma once

#include <stddef.h>

#include "base/str.h"

struct json;
struct jw;

#define SHORTEN_LINE_BYTES ((size_t)1000 * 1000)
#define SHORTEN_ESCAPES 6 /* bytes of JSON that one byte can take */

/* The content of a tool_result, a text or a list of blocks, in at most about max_bytes. */
void shorten_content(struct jw *w, const struct json *content, size_t max_bytes);

/* The input of a hook: as it is, unless it is too long; then with the long strings in what a tool
 * answered cut. What a tool was asked is never touched. */
void shorten_hook_input(struct jw *w, struct str json);
