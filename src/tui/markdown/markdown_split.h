/*
 * Markdown cut into blocks, line by line, as it comes in.
 *
 * Each line goes in once and is never looked at again: a block comes out when no later line can
 * change it. Paragraphs wait for the next block; code, rows of tables and HTML come out line by
 * line. The grammar of blocks is CommonMark's with tables; the inside of a block
 * (markdown_inline.h) is not parsed. A paragraph of more than MARKDOWN_MAX_PIECE comes out in
 * pieces, so that no line costs more than that. One thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/str.h"
#include "base/vec.h"

#define MARKDOWN_MAX_PIECE 16384 /* bytes of a line or paragraph that are seen as one */
#define MARKDOWN_MAX_DEPTH 8     /* nested quotes and items; deeper ones are text */

enum container_kind {
    CONTAINER_QUOTE,
    CONTAINER_ITEM,
};

/* A quote or an item of a list that a block is in. */
struct container {
    uint32_t id;    /* no two have the same */
    int32_t number; /* ITEM: -1 for a bullet */
    int16_t indent; /* ITEM: columns that its further lines begin with */
    uint8_t kind;
    uint8_t level; /* ITEM: how many lists it is in */
    char marker;   /* ITEM: '-', '*', '+', '.' or ')' */
    char task;     /* ITEM: 0, ' ' or 'x' */
    bool is_fresh; /* ITEM: this block is the first in it */
};

enum block_kind {
    BLOCK_PARAGRAPH,
    BLOCK_HEADING,
    BLOCK_RULE,
    BLOCK_CODE, /* code begins: the language */
    BLOCK_CODE_LINE,
    BLOCK_HTML_LINE,
    BLOCK_TABLE, /* the delimiter row, a newline, the header row */
    BLOCK_TABLE_ROW,
    BLOCK_TABLE_END,
    BLOCK_NOTHING, /* an item without text */
};

struct md_block {
    enum block_kind kind;
    int level;         /* HEADING: 1 to 6 */
    bool has_gap;      /* an empty line was before it */
    bool is_continued; /* goes on where the last one was cut */
    size_t at, len;    /* of its text in struct blocks */
    size_t links;      /* how many of the split's links were known then */
    size_t depth;
    struct container in[MARKDOWN_MAX_DEPTH];
};

struct blocks {
    VEC(struct md_block) list;
    struct buf text;
};
void blocks_clear(struct blocks *b);
void blocks_release(struct blocks *b);
struct str block_text(const struct blocks *b, const struct md_block *x);

/* [label]: target */
struct markdown_link {
    struct str label, target; /* owned */
};
#define MARKDOWN_MAX_LINKS 100
#define MARKDOWN_MAX_TARGET 2000 /* bytes of a label or a target */

enum markdown_leaf {
    LEAF_NONE,
    LEAF_PARAGRAPH,
    LEAF_FENCE,
    LEAF_INDENTED,
    LEAF_HTML,
    LEAF_TABLE,
};

struct markdown_split {
    struct container stack[MARKDOWN_MAX_DEPTH];
    size_t depth;
    uint32_t last_id;
    enum markdown_leaf leaf;
    bool has_said;     /* a block came out */
    bool saw_gap;      /* an empty line since the last block */
    bool has_gap;      /* the open leaf began with one */
    bool is_continued; /* the open leaf is the rest of one that was cut */
    struct buf text;   /* PARAGRAPH: its lines */
    size_t last_line;  /* PARAGRAPH: where the last of them begins */
    char fence;        /* FENCE: '`' or '~' */
    size_t fence_len;
    int fence_indent;
    size_t empty_lines;   /* INDENTED: not yet told, they may be its end */
    const char *html_end; /* HTML: what ends it; NULL: an empty line */
    VEC(struct markdown_link) links;
    bool is_fork; /* the links are lent */
    struct blocks *out;
};

void markdown_split_init(struct markdown_split *s, struct blocks *out);
void markdown_split_release(struct markdown_split *s); /* also of a copy */
/* A copy for trying what would come out if the text ended here. It knows no more links than s had,
 * and must go before s changes. */
void markdown_split_fork(const struct markdown_split *s, struct blocks *out,
                         struct markdown_split *ret);

/* One line without its newline; is_rest: the rest of a line that was too long. */
void markdown_split_line(struct markdown_split *s, struct str line, bool is_rest);
void markdown_split_end(struct markdown_split *s);
