/*
 * HTML tokens, for html.c only: text, tags with the few relevant attributes, and skipped parts
 * (comments, declarations). Slices of the page; nothing is decoded.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/str.h"

struct html_tag {
    struct str name; /* as written; empty: a comment or declaration */
    bool is_end;
    struct str href, src, alt, class_name, role, start;
    bool is_hidden;
};

/* Reads the tag at s.ptr[0] == '<'. Returns its length, or 0 if this '<' is text. An unclosed tag
 * extends to the end of s. */
size_t html_tag_read(struct str s, struct html_tag *ret);

/* Length of the content before the end tag of an element whose content is not HTML. */
size_t html_raw_len(struct str s, struct str name);
