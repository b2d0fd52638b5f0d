/*
 * The inside of a block of markdown: emphasis, code, links, entities, line breaks.
 *
 * The text is drawn as lines that are not wrapped yet. A line break of the source stays one, as
 * models mean it, unless the line is so long that it is just prose of some width. Pure; UI thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/str.h"
#include "tui/screen/style.h"

struct lines;
struct markdown_link;

struct markdown_inline {
    struct style style;                /* of plain text */
    const struct markdown_link *links; /* "[label]" that are known */
    size_t link_count;
    bool spells_links; /* targets stand after the text of links, also where that is one */
};

/* At most MARKDOWN_MAX_PIECE bytes are meant to come at once. */
void markdown_inline_draw(struct str text, const struct markdown_inline *how, struct lines *ret);
