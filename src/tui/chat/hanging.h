/*
 * Text after a mark: the first row has the mark, the others are indented to match.
 *
 *     ⎿  the first line, which is so long that it goes
 *        on in another row
 *
 * Secrets in the text are masked (base/secret.h) on the way to the lines. One thread.
 */
#pragma once

#include <stdbool.h>

#include "base/str.h"
#include "tui/screen/line.h"

struct hanging {
    struct lines *to;
    int cells;
    bool cut;           /* a line is one row: what does not fit is left out */
    bool ascii;         /* mark cuts with "..." */
    bool anywhere;      /* code: rows end where they are full */
    bool lists;         /* columns: further rows of a line stand below its second one */
    struct lines marks; /* that of the first row, and of all others */
    struct lines line;  /* being written */
    bool begun;
};

/* rest: NULL: spaces, as wide as first. */
void hanging_init(struct hanging *h, struct lines *to, int cells, struct style style,
                  const char *first, const char *rest);
void hanging_release(struct hanging *h);

void hanging_put(struct hanging *h, struct style style, struct str text);
void hanging_puts(struct hanging *h, enum style_role role, const char *text);
void hanging_end(struct hanging *h); /* the line is complete */
/* Lines, each ended; those at the end that are empty are left out. */
void hanging_text(struct hanging *h, struct style style, struct str text);
