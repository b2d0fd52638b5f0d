/*
 * Converts web text of any encoding to UTF-8.
 *
 * Supports UTF-8, UTF-16 in both orders, and windows-1252, which is also what ISO-8859-1 and ASCII
 * mean on the web. A byte order mark takes precedence over the header's label, and that over a
 * <meta>; without any, text is UTF-8 if it is valid, else windows-1252. Pure; any thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

struct buf;

/* label: from the content type's charset, or empty. is_html: look for a <meta>. Invalid bytes
 * become U+FFFD. False if the label is unknown; the text is then read as UTF-8. */
bool charset_to_utf8(struct str bytes, struct str label, bool is_html, struct buf *ret);

/* The character of a byte in windows-1252; U+FFFD if there is none. */
uint32_t charset_1252(unsigned char byte);
