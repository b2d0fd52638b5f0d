/*
 * Converts HTML to markdown for reading.
 *
 * Accepts any UTF-8 bytes (charset.h) and never fails: invalid HTML is parsed like in browsers.
 * Keeps headings, paragraphs, lists, quotes, code, tables, links and images with absolute
 * addresses. Omits scripts, styles, forms, navigation, hidden parts; and, if the page marks its
 * main part, everything around it. Time and memory are linear; nesting deeper than a few dozen
 * levels is flattened. Pure; any thread.
 */
#pragma once

#include <stddef.h>

#include "base/str.h"

struct buf;

/* base: the page's URL, for relative links. Appends to *ret_markdown up to its limit (see
 * buf_check()) and to *ret_title, which may be NULL. */
void html_to_markdown(struct str html, struct str base, struct buf *ret_markdown,
                      struct buf *ret_title);

/* Decodes an entity at & by name or number. Returns how many bytes of s were used, 0 if it is not
 * an entity; writes up to 8 bytes of UTF-8. */
size_t html_entity(struct str s, char out[8], size_t *ret_len);

/* Makes a page's link absolute: relative, "//host/x", "?q", "/x", "../x". */
void html_resolve(struct str base, struct str link, struct buf *ret);
