/*
 * The table of all settings keys, as docs/settings.md has it between its marks. `tenax config docs`
 * prints it, scripts/settings-docs puts it there, and a test fails while the page has another.
 */
#pragma once

struct buf;

#define KEYS_DOCS_BEGIN "<!-- keys: made by scripts/settings-docs -->\n"
#define KEYS_DOCS_END "<!-- end of keys -->\n"

void keys_write_docs(struct buf *out);
