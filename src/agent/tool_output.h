/*
 * What the model reads of a structured result, for hooks that put another one in its place: they
 * answer in the shape the tool has for programs (toolUseResult), not in text.
 */
#pragma once

struct buf;
struct json;

/* A command's output, a file's content, content blocks, or the JSON itself where no text is found.
 * Any thread. */
void tool_output_text(const struct json *output, struct buf *ret);
