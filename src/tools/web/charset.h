/*
 * Text from the web, whatever its encoding, as UTF-8.
 *
 * Known: UTF-8, UTF-16 of both orders, and windows-1252, which is also what ISO-8859-1 and ASCII
 * mean on the web. A byte order mark beats the label of the header, that beats a <meta>; without
 * any of them text is UTF-8 if it can be, else windows-1252. Pure; any thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

struct buf;

/* label: of the content type's charset, or empty. is_html: look for a <meta>. Bytes that mean
 * nothing become U+FFFD. False when the label names an encoding that is not known; then the text is
 * read as UTF-8. */
bool charset_to_utf8(struct str bytes, struct str label, bool is_html, struct buf *ret);

/* What a byte means in windows-1252; U+FFFD when nothing. */
uint32_t charset_1252(unsigned char byte);
