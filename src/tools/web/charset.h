/*
 * Converts web text of any encoding that iconv knows to UTF-8.
 *
 * A byte order mark takes precedence over the header's label, and that over a <meta>; without any,
 * text is UTF-8 if it is valid, else what decode_guess() recognizes, else windows-1252. Labels mean
 * what browsers take them for: ISO-8859-1 is windows-1252, GB2312 is GBK. Pure; any thread.
 */
#pragma once

#include <stdbool.h>

#include "base/str.h"

struct buf;

/* label: from the content type's charset, or empty. is_html: look for a <meta>. Invalid bytes
 * become U+FFFD. False if the label is unknown; the text is then read as UTF-8. */
bool charset_to_utf8(struct str bytes, struct str label, bool is_html, struct buf *ret);
