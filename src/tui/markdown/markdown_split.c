/*
 * markdown_split: a stack of open containers and one open leaf, as in CommonMark's appendix. A line
 * first continues the containers it matches, then opens new ones, and the rest of it belongs to a
 * leaf. UI thread.
 */
#include "tui/markdown/markdown_split.h"

#include <string.h>

#include "base/mem.h"
#include "tui/markdown/markdown_start.h"

void blocks_clear(struct blocks *b)
{
    b->list.len = 0;
    buf_clear(&b->text);
}

void blocks_release(struct blocks *b)
{
    vec_release(&b->list);
    buf_release(&b->text);
}

struct str block_text(const struct blocks *b, const struct md_block *x)
{
    return str_first(str_from(buf_str(&b->text), x->at), x->len);
}

void markdown_split_init(struct markdown_split *s, struct blocks *out)
{
    *s = (struct markdown_split){.text = BUF_INIT(BUF_NO_LIMIT), .out = out};
}

void markdown_split_release(struct markdown_split *s)
{
    if (!s->is_fork) {
        VEC_EACH(&s->links, link) {
            mem_freep(&link->label.ptr);
            mem_freep(&link->target.ptr);
        }
        vec_release(&s->links);
    }
    buf_release(&s->text);
}

void markdown_split_fork(const struct markdown_split *s, struct blocks *out,
                         struct markdown_split *ret)
{
    *ret = *s;
    ret->out = out;
    ret->is_fork = true;
    buf_init(&ret->text, BUF_NO_LIMIT);
    buf_add(&ret->text, buf_str(&s->text));
}

/* What comes out. */

static void split_emit(struct markdown_split *s, enum block_kind kind, int level, struct str text)
{
    struct md_block *b = vec_add(&s->out->list);

    *b = (struct md_block){
        .kind = kind,
        .level = level,
        .has_gap = s->has_gap,
        .is_continued = s->is_continued,
        .at = s->out->text.len,
        .len = text.len,
        .links = s->links.len,
        .depth = s->depth,
    };
    memcpy(b->in, s->stack, s->depth * sizeof(*b->in));
    buf_add(&s->out->text, text);
    s->has_gap = false;
    s->is_continued = false;
    s->has_said = true;
    if (kind == BLOCK_CODE && !text.len)
        return; /* shows nothing: the first line will bear the item's mark */
    for (size_t i = 0; i < s->depth; i++)
        s->stack[i].is_fresh = false;
}

static void split_open(struct markdown_split *s, enum markdown_leaf leaf)
{
    s->leaf = leaf;
    s->has_gap = s->saw_gap;
    s->saw_gap = false;
    s->is_continued = false;
}

/* Takes "[label]: target" off the front of a paragraph. Finished text could not use it: after such
 * text it is shown, or its target would be lost. */
static bool split_take_link(struct markdown_split *s, struct str *text, struct buf *shown)
{
    struct str line = str_first(*text, str_chr(*text, '\n'));
    struct markdown_link link;
    struct str label;
    struct str target;

    if (!markdown_start_link(line, &label, &target))
        return false;
    *text = str_from(*text, line.len + 1);
    if (s->has_said)
        buf_addf(shown, "\\%.*s  \n", STR_ARG(str_trim(line))); /* as text, on a separate line */
    if (s->is_fork || s->links.len == MARKDOWN_MAX_LINKS || label.len > MARKDOWN_MAX_TARGET ||
        target.len > MARKDOWN_MAX_TARGET)
        return true;
    link.label = str_make(mem_dup(label.ptr, label.len), label.len);
    link.target = str_make(mem_dup(target.ptr, target.len), target.len);
    vec_push(&s->links, link);
    return true;
}

static void split_paragraph(struct markdown_split *s, enum block_kind kind, int level)
{
    CLEANUP(buf_release) struct buf shown = BUF_INIT(BUF_NO_LIMIT);
    struct str text = buf_str(&s->text);

    while (text.len && split_take_link(s, &text, &shown))
        ;
    if (shown.len) {
        buf_add(&shown, text);
        text = buf_str(&shown);
    }
    text = str_trim(text);
    if (text.len)
        split_emit(s, kind, level, text);
    buf_clear(&s->text);
    s->last_line = 0;
    s->leaf = LEAF_NONE;
}

static void split_close_leaf(struct markdown_split *s)
{
    switch (s->leaf) {
    case LEAF_PARAGRAPH:
        split_paragraph(s, BLOCK_PARAGRAPH, 0);
        break;
    case LEAF_TABLE:
        split_emit(s, BLOCK_TABLE_END, 0, STR(""));
        break;
    case LEAF_NONE:
    case LEAF_FENCE:
    case LEAF_INDENTED:
    case LEAF_HTML:
        break;
    }
    s->leaf = LEAF_NONE;
    s->empty_lines = 0;
}

/* Leaves all containers but the first `depth`. */
static void split_close(struct markdown_split *s, size_t depth)
{
    split_close_leaf(s);
    for (size_t i = depth; i < s->depth; i++) {
        if (s->stack[i].is_fresh) {
            split_open(s, LEAF_NONE);
            split_emit(s, BLOCK_NOTHING, 0, STR(""));
            break;
        }
    }
    s->depth = depth;
}

static struct container *split_push(struct markdown_split *s)
{
    struct container *c = &s->stack[s->depth++];

    *c = (struct container){.id = ++s->last_id, .number = -1};
    return c;
}

/* What goes in. */

/* The containers this line continues; c is then after their marks. */
static size_t split_match(struct markdown_split *s, struct cursor *c)
{
    for (size_t i = 0; i < s->depth; i++) {
        const struct container *in = &s->stack[i];
        struct str text = cursor_text(c);

        if (in->kind == CONTAINER_QUOTE) {
            if (cursor_indent(c) > 3 || !str_starts(text, STR(">")))
                return i;
            cursor_skip(c, cursor_indent(c) + 1);
            if (cursor_indent(c))
                cursor_skip(c, 1);
        } else if (!text.len) {
            /* An item that has begun with an empty line ends at the next one. */
            if (in->is_fresh && s->leaf == LEAF_NONE && i + 1 == s->depth)
                return i;
        } else if (cursor_indent(c) >= in->indent) {
            cursor_skip(c, in->indent);
        } else {
            return i;
        }
    }
    return s->depth;
}

/* A line of code or HTML, without the containers' marks. */
static void split_raw(struct markdown_split *s, enum block_kind kind, const struct cursor *c)
{
    CLEANUP(buf_release) struct buf line = BUF_INIT(BUF_NO_LIMIT);

    if (!c->owed) {
        split_emit(s, kind, 0, str_from(c->line, c->at));
        return;
    }
    for (int i = 0; i < c->owed; i++)
        buf_addc(&line, ' ');
    buf_add(&line, str_from(c->line, c->at));
    split_emit(s, kind, 0, buf_str(&line));
}

static void split_fence_line(struct markdown_split *s, struct cursor *c)
{
    int indent = cursor_indent(c);

    if (indent < 4 && markdown_start_fence_end(cursor_text(c), s->fence, s->fence_len)) {
        split_close_leaf(s);
        return;
    }
    cursor_skip(c, indent < s->fence_indent ? indent : s->fence_indent);
    split_raw(s, BLOCK_CODE_LINE, c);
}

static void split_html_line(struct markdown_split *s, struct cursor *c)
{
    if (!s->html_end && !cursor_text(c).len) {
        split_close_leaf(s);
        s->saw_gap = true;
        return;
    }
    split_raw(s, BLOCK_HTML_LINE, c);
    if (s->html_end &&
        str_find_nocase(str_from(c->line, c->at), str_of(s->html_end)) < c->line.len - c->at)
        split_close_leaf(s);
}

/* Empty lines within indented code are passed on when more code follows. */
static void split_indented_line(struct markdown_split *s, struct cursor *c)
{
    if (!cursor_text(c).len) {
        s->empty_lines++;
        return;
    }
    s->saw_gap = false;
    for (; s->empty_lines; s->empty_lines--)
        split_emit(s, BLOCK_CODE_LINE, 0, STR(""));
    cursor_skip(c, 4);
    split_raw(s, BLOCK_CODE_LINE, c);
}

static void split_item(struct markdown_split *s, struct cursor *c, const struct list_marker *m,
                       const struct container *before)
{
    int offset = cursor_indent(c);
    struct container *item;
    struct str text;
    int padding;

    cursor_skip(c, offset + (int)m->len);
    padding = cursor_indent(c);
    text = cursor_text(c);
    if (padding > 4 || !text.len)
        padding = 1;
    cursor_skip(c, padding);

    item = split_push(s);
    item->kind = CONTAINER_ITEM;
    item->indent = (int16_t)(offset + (int)m->len + padding);
    item->marker = m->marker;
    item->is_fresh = true;
    item->number = m->number;
    /* A writer of 1. 1. 1. means 1. 2. 3. */
    if (before && before->kind == CONTAINER_ITEM && before->marker == m->marker &&
        m->number <= before->number && m->number >= 0)
        item->number = before->number + 1;
    for (size_t i = 0; i + 1 < s->depth; i++)
        item->level += s->stack[i].kind == CONTAINER_ITEM;
    if (text.len > 3 && text.ptr[0] == '[' && text.ptr[2] == ']' && text.ptr[3] == ' ' &&
        char_is_of(text.ptr[1], " xX")) {
        item->task = text.ptr[1] == ' ' ? ' ' : 'x';
        cursor_skip(c, cursor_indent(c) + 4);
    }
}

static void split_add_text(struct markdown_split *s, struct str text, bool is_rest)
{
    if (s->leaf != LEAF_PARAGRAPH) {
        split_close_leaf(s);
        split_open(s, LEAF_PARAGRAPH);
    } else if (s->text.len + text.len > MARKDOWN_MAX_PIECE) {
        split_paragraph(s, BLOCK_PARAGRAPH, 0);
        s->leaf = LEAF_PARAGRAPH;
        s->is_continued = true;
    } else if (!is_rest) {
        buf_addc(&s->text, '\n');
    }
    if (!is_rest)
        s->last_line = s->text.len;
    buf_add(&s->text, text);
}

/* Whether the last line of the paragraph is the header of the table that this line begins. */
static bool split_begins_table(const struct markdown_split *s, struct str line)
{
    struct str header = str_from(buf_str(&s->text), s->last_line);
    size_t cells;

    if (str_chr(line, '|') == line.len || str_chr(header, '|') == header.len)
        return false;
    cells = markdown_cells(header, NULL, 0);
    return cells <= MARKDOWN_MAX_CELLS && markdown_start_delimiter(line, cells);
}

static void split_table(struct markdown_split *s, struct str delimiter)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(BUF_NO_LIMIT);

    buf_add(&text, delimiter);
    buf_addc(&text, '\n');
    buf_add(&text, str_from(buf_str(&s->text), s->last_line));
    if (s->last_line) {
        buf_cut(&s->text, s->last_line, s->text.len - s->last_line);
        split_close_leaf(s);
    }
    buf_clear(&s->text);
    s->last_line = 0;
    s->leaf = LEAF_TABLE;
    split_emit(s, BLOCK_TABLE, 0, buf_str(&text));
}

/* Blocks of one line, and those that begin with one of their own. False: it is text. Containers
 * that were not matched are left first, hence depth. */
static bool split_begin(struct markdown_split *s, struct cursor *c, size_t depth)
{
    bool in_paragraph = s->leaf == LEAF_PARAGRAPH && depth == s->depth;
    int indent = cursor_indent(c);
    struct str text = cursor_text(c);
    struct str found;
    const char *html_end;
    int level;

    if (indent >= 4) {
        /* In a paragraph that goes on, also lazily, it is text; in a table a row. */
        if (s->leaf == LEAF_PARAGRAPH || (s->leaf == LEAF_TABLE && depth == s->depth))
            return false;
        if (s->leaf != LEAF_INDENTED || depth != s->depth) {
            split_close(s, depth);
            split_open(s, LEAF_INDENTED);
            split_emit(s, BLOCK_CODE, 0, STR(""));
        }
        split_indented_line(s, c);
        return true;
    }
    if (in_paragraph && split_begins_table(s, text)) {
        split_table(s, text);
        return true;
    }
    level = in_paragraph ? markdown_start_underline(text) : 0;
    if (level) {
        split_paragraph(s, BLOCK_HEADING, level);
        return true;
    }
    level = markdown_start_heading(text, &found);
    if (level) {
        split_close(s, depth);
        split_open(s, LEAF_NONE);
        split_emit(s, BLOCK_HEADING, level, found);
        return true;
    }
    if (markdown_start_rule(text)) {
        split_close(s, depth);
        split_open(s, LEAF_NONE);
        split_emit(s, BLOCK_RULE, 0, STR(""));
        return true;
    }
    s->fence_len = markdown_start_fence(text, &found);
    if (s->fence_len) {
        split_close(s, depth);
        split_open(s, LEAF_FENCE);
        s->fence = *text.ptr;
        s->fence_indent = indent;
        split_emit(s, BLOCK_CODE, 0, found);
        return true;
    }
    if (markdown_start_html(text, in_paragraph, &html_end)) {
        split_close(s, depth);
        split_open(s, LEAF_HTML);
        s->html_end = html_end;
        split_html_line(s, c);
        return true;
    }
    return false;
}

/* Opens quotes and items as long as the line begins one more. Returns how many containers there
 * are then; those that were open before and do not go on are closed by the first. */
static size_t split_containers(struct markdown_split *s, struct cursor *c, size_t depth)
{
    while (depth < MARKDOWN_MAX_DEPTH && cursor_indent(c) < 4) {
        struct str text = cursor_text(c);
        bool in_paragraph = s->leaf == LEAF_PARAGRAPH && depth == s->depth;
        struct container before = depth < s->depth ? s->stack[depth] : (struct container){0};
        bool has_before = depth < s->depth;
        struct list_marker marker;

        if (str_starts(text, STR(">"))) {
            split_close(s, depth);
            split_push(s)->kind = CONTAINER_QUOTE;
            cursor_skip(c, cursor_indent(c) + 1);
            if (cursor_indent(c))
                cursor_skip(c, 1);
        } else if (!markdown_start_rule(text) && markdown_start_item(text, &marker)) {
            /* A line within a paragraph is a list only if it clearly is one: "- x", "1. x", but not
             * a year at the start of a line, and not the underline of a heading. */
            if (in_paragraph && (text.len == marker.len || marker.number > 1 ||
                                 !str_trim(str_from(text, marker.len)).len))
                return depth;
            split_close(s, depth);
            split_item(s, c, &marker, has_before ? &before : NULL);
        } else {
            return depth;
        }
        depth = s->depth;
    }
    return depth;
}

static void split_rest(struct markdown_split *s, struct str text)
{
    struct cursor c = {.line = text};

    switch (s->leaf) {
    case LEAF_FENCE:
    case LEAF_INDENTED:
        s->is_continued = true;
        split_emit(s, BLOCK_CODE_LINE, 0, text);
        break;
    case LEAF_HTML:
        s->is_continued = true;
        split_html_line(s, &c);
        break;
    case LEAF_TABLE:
        split_emit(s, BLOCK_TABLE_ROW, 0, text);
        break;
    case LEAF_NONE:
    case LEAF_PARAGRAPH:
        split_add_text(s, text, /*is_rest=*/true);
        break;
    }
}

void markdown_split_line(struct markdown_split *s, struct str line, bool is_rest)
{
    struct cursor c = {.line = line};
    size_t depth;
    struct str text;

    if (is_rest) {
        split_rest(s, line);
        return;
    }
    depth = split_match(s, &c);
    if (depth == s->depth && s->leaf == LEAF_FENCE) {
        split_fence_line(s, &c);
        return;
    }
    if (depth == s->depth && s->leaf == LEAF_HTML) {
        split_html_line(s, &c);
        return;
    }
    /* Neither code nor HTML goes on in the lines of another container. */
    if (s->leaf == LEAF_FENCE || s->leaf == LEAF_HTML)
        split_close(s, depth);

    depth = split_containers(s, &c, depth);
    text = cursor_text(&c);
    if (!text.len) {
        if (depth == s->depth && s->leaf == LEAF_INDENTED) {
            split_indented_line(s, &c);
        } else {
            split_close(s, depth);
        }
        /* The line an item begins with is not a gap, even if there is nothing more on it. */
        if (!(s->depth && s->stack[s->depth - 1].is_fresh))
            s->saw_gap = true;
        return;
    }
    if (split_begin(s, &c, depth))
        return;
    if (s->leaf == LEAF_PARAGRAPH) { /* also lazily, without the marks of its containers */
        split_add_text(s, text, /*is_rest=*/false);
        return;
    }
    if (s->leaf == LEAF_TABLE && depth == s->depth) {
        split_emit(s, BLOCK_TABLE_ROW, 0, text);
        return;
    }
    split_close(s, depth);
    split_add_text(s, text, /*is_rest=*/false);
}

void markdown_split_end(struct markdown_split *s)
{
    split_close(s, 0);
    s->saw_gap = false;
}
