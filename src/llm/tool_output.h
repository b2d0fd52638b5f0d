/*
 * Converts a structured result to text for the model. Hooks that replace a result give it in the
 * tool's structured form (toolUseResult).
 */
#pragma once

struct buf;
struct json;

/* A command's output, a file's content, the content blocks, or the JSON itself if it has none of
 * these. Any thread. */
void tool_output_text(const struct json *output, struct buf *ret);
