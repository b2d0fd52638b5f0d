/*
 * HTML into markdown, for a reader who wants the words.
 *
 * Takes any bytes of UTF-8 (charset.h) and never fails: invalid HTML is read the way browsers do.
 * Kept: headings, paragraphs, lists, quotes, code, tables, links and images with absolute
 * addresses. Left out: scripts, styles, forms, navigation, hidden parts; and, when the page marks
 * its main part, everything around it. Time and memory are linear in the page; deeper nesting than
 * a few dozen levels is flattened. Pure; any thread.
 */
#pragma once

#include <stddef.h>

#include "base/str.h"

struct buf;

/* base: the page's own address, for relative links. Appends to *ret_markdown as far as its max
 * allows (buf_check() tells) and to *ret_title, which may be NULL. */
void html_to_markdown(struct str html, struct str base, struct buf *ret_markdown,
                      struct buf *ret_title);

/* The character an entity stands for: at & with its name or number. Returns how many bytes of s
 * were used, 0 when it is none; writes UTF-8 of up to 8 bytes. */
size_t html_entity(struct str s, char out[8], size_t *ret_len);

/* An address as a page writes it, made absolute against that of the page: relative, "//host/x",
 * "?q", "/x", "../x". */
void html_resolve(struct str base, struct str link, struct buf *ret);
