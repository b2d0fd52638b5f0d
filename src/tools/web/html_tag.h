/*
 * HTML's tokens, for html.c only: text, tags with the few attributes that matter here, and skipped
 * parts (comments, declarations). Slices of the page; nothing is decoded.
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

/* The tag at s.ptr[0] == '<'. Returns its length, or 0 when this '<' is only text. What has no end
 * reaches to the end of s. */
size_t html_tag_read(struct str s, struct html_tag *ret);

/* The length of what stands before the end tag of an element whose content is not HTML. */
size_t html_raw_len(struct str s, struct str name);
