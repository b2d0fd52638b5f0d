/*
 * The markdown writer. One rule carries it: before_text() is the only place where owed white space,
 * prefixes and markers are written. Pure; any thread.
 */
#include "tools/md.h"

#include <stdint.h>
#include <string.h>

#define UNSET SIZE_MAX

void md_init(struct md *m, struct buf *out)
{
    *m = (struct md){
        .out = out,
        .start = out->len,
        .urls = BUF_INIT(BUF_NO_LIMIT), /* by the page */
        .code_start = UNSET,
    };
}

void md_release(struct md *m)
{
    buf_release(&m->urls);
}

static unsigned depth_of(unsigned depth, unsigned max)
{
    return depth < max ? depth : max;
}

static struct md_list *list_of(struct md *m)
{
    return m->list_depth ? &m->lists[depth_of(m->list_depth, MD_LISTS) - 1] : NULL;
}

static struct md_table *table_of(struct md *m)
{
    return m->table_depth && m->table_depth <= MD_TABLES ? &m->tables[m->table_depth - 1] : NULL;
}

static void add_quotes(struct buf *out, unsigned depth)
{
    for (unsigned i = 0; i < depth_of(depth, MD_QUOTES); i++)
        buf_adds(out, "> ");
}

/* What a line begins with: quotes, then the room of the lists around it. */
static void add_prefix(const struct md *m, struct buf *out, bool is_item)
{
    unsigned lists = depth_of(m->list_depth, MD_LISTS);

    add_quotes(out, m->quote_depth);
    for (unsigned i = 0; i + is_item < lists; i++)
        buf_adds(out, m->lists[i].ordered ? "   " : "  ");
}

static void cut_to(struct buf *b, size_t len)
{
    buf_cut(b, len, b->len - len);
}

static void add_newline(struct md *m)
{
    size_t len = m->out->len;

    while (len > m->start && m->out->ptr[len - 1] == ' ') /* the prefix of an empty line */
        len--;
    cut_to(m->out, len);
    buf_addc(m->out, '\n');
    m->fresh++;
}

static void add_marker(struct md *m)
{
    struct md_list *l = list_of(m);

    m->item_is_owed = false;
    if (l && l->ordered)
        buf_addf(m->out, "%lld. ", (long long)l->next++);
    else
        buf_adds(m->out, "- ");
}

/* Writes the newlines that are owed; the line they lead to is empty then. */
static void settle_line(struct md *m)
{
    if (m->out->len == m->start && !m->fresh) {
        add_prefix(m, m->out, m->item_is_owed);
        m->fresh = 2;
    }
    while (m->fresh < m->owed) {
        add_newline(m);
        if (m->fresh == m->owed)
            add_prefix(m, m->out, m->item_is_owed);
        else /* an empty line belongs to a quote that goes on behind it */
            add_quotes(m->out, m->quote_depth < m->last_quotes ? m->quote_depth : m->last_quotes);
    }
    if (m->owed)
        m->space = false;
    m->owed = 0;
}

static void before_text(struct md *m)
{
    settle_line(m);
    if (m->space && !m->fresh)
        buf_addc(m->out, ' ');
    m->fresh = 0;
    m->space = false;
    m->last_quotes = m->quote_depth;
    if (m->item_is_owed)
        add_marker(m);
    if (m->heading_is_owed) {
        m->heading_is_owed = false;
        for (unsigned i = 0; i < m->heading; i++)
            buf_addc(m->out, '#');
        buf_addc(m->out, ' ');
    }
    if (m->lead_owed) {
        buf_adds(m->out, m->lead_owed);
        m->lead_owed = NULL;
    }
    for (unsigned i = depth_of(m->span_depth, MD_SPANS); i-- && m->spans[i].start == UNSET;)
        m->spans[i].start = m->out->len;
    if (m->in_code && m->code_start == UNSET)
        m->code_start = m->out->len;
}

/* Bytes of white space at the start of s: also a no-break space. */
static size_t space_len(struct str s)
{
    if (strchr(" \t\n\r\f", s.ptr[0]) && s.ptr[0])
        return 1;
    return str_starts(s, STR("\xc2\xa0")) ? 2 : 0;
}

/* Bytes of what shows nothing: controls, soft hyphen, zero-width space, byte order mark. */
static size_t unseen_len(struct str s)
{
    unsigned char c = (unsigned char)s.ptr[0];

    if (c < ' ' || c == 0x7f)
        return 1;
    if (str_starts(s, STR("\xc2\xad")))
        return 2;
    return str_starts(s, STR("\xe2\x80\x8b")) || str_starts(s, STR("\xef\xbb\xbf")) ? 3 : 0;
}

static void add_code_text(struct md *m, struct str text)
{
    for (size_t i = 0; i < text.len; i++) {
        char c = text.ptr[i];

        if (c == '\r' || !c || (c == '\n' && m->code_start == UNSET))
            continue; /* empty lines at the start are left out */
        if (m->code_start == UNSET)
            before_text(m);
        buf_addc(m->out, c);
        if (c == '\n')
            add_prefix(m, m->out, /*is_item=*/false);
    }
}

void md_text(struct md *m, struct str text)
{
    if (m->in_code) {
        add_code_text(m, text);
        return;
    }
    while (text.len) {
        size_t gap = space_len(text);
        size_t run = 0;

        if (gap) {
            m->space = true;
            text = str_from(text, gap);
            continue;
        }
        gap = unseen_len(text);
        if (gap) {
            text = str_from(text, gap);
            continue;
        }
        while (run < text.len && !space_len(str_from(text, run)) &&
               !unseen_len(str_from(text, run)))
            run++;
        before_text(m);
        buf_add(m->out, str_first(text, run));
        text = str_from(text, run);
    }
}

void md_break(struct md *m, unsigned newlines)
{
    if (m->in_code)
        return;
    if (m->heading) { /* a block inside a heading stays on its line */
        m->space = true;
        return;
    }
    if (m->item_is_owed || m->lead_owed)
        newlines = 1;
    if (m->owed < newlines)
        m->owed = newlines;
    m->space = false;
}

void md_line_break(struct md *m)
{
    if (m->in_code)
        add_code_text(m, STR("\n"));
    else
        md_break(m, 1);
}

void md_rule(struct md *m)
{
    md_break(m, 2);
    if (m->in_code || m->heading)
        return;
    before_text(m);
    buf_adds(m->out, "---");
    md_break(m, 2);
}

void md_lead(struct md *m, const char *lead)
{
    md_break(m, 1);
    m->lead_owed = lead;
}

void md_heading(struct md *m, unsigned level)
{
    md_heading_end(m);
    md_break(m, 2);
    if (m->in_code)
        return;
    m->heading = level;
    m->heading_is_owed = true;
}

void md_heading_end(struct md *m)
{
    if (!m->heading)
        return;
    m->heading = 0;
    m->heading_is_owed = false;
    md_break(m, 2);
}

void md_list(struct md *m, bool ordered, int64_t first)
{
    md_heading_end(m);
    md_break(m, m->list_depth ? 1 : 2);
    m->item_is_owed = false;
    m->list_depth++;
    if (m->list_depth <= MD_LISTS)
        *list_of(m) = (struct md_list){.ordered = ordered, .next = first};
}

void md_list_end(struct md *m)
{
    if (!m->list_depth)
        return;
    m->list_depth--;
    m->item_is_owed = false;
    md_break(m, m->list_depth ? 1 : 2);
}

void md_item(struct md *m)
{
    struct md_list *l = list_of(m);

    md_heading_end(m);
    if (m->in_code)
        return;
    md_break(m, 1);
    if (l && l->has_items) /* items stand close, also those made of paragraphs */
        m->owed = 1;
    if (l)
        l->has_items = true;
    m->item_is_owed = true;
}

void md_quote(struct md *m)
{
    md_heading_end(m);
    md_break(m, 2);
    m->quote_depth++;
}

void md_quote_end(struct md *m)
{
    if (!m->quote_depth)
        return;
    md_heading_end(m);
    m->quote_depth--;
    md_break(m, 2);
}

/* Spans. */

void md_open_span(struct md *m, enum md_span kind, struct str url)
{
    if (m->in_code)
        return;
    m->span_depth++;
    if (m->span_depth > MD_SPANS)
        return;
    m->spans[m->span_depth - 1] =
        (struct md_open){.kind = kind, .start = UNSET, .url = m->urls.len};
    if (kind == MD_LINK) {
        buf_add(&m->urls, url);
        buf_addc(&m->urls, '\0');
    }
}

static size_t longest_run(struct str text, char c)
{
    size_t longest = 0;
    size_t run = 0;

    for (size_t i = 0; i < text.len; i++) {
        run = text.ptr[i] == c ? run + 1 : 0;
        longest = run > longest ? run : longest;
    }
    return longest;
}

static void wrap(struct md *m, size_t start, const char *before, const char *after)
{
    buf_insert(m->out, start, str_of(before));
    buf_adds(m->out, after);
}

/* The sign that many pages put behind a heading, for its address. */
static bool is_anchor_sign(struct str text, struct str url)
{
    return url.len && url.ptr[0] == '#' && text.len <= 4 && !str_is_alnum(text.ptr[0]);
}

static void finish_link(struct md *m, const struct md_open *span)
{
    struct str url = str_of(m->urls.ptr + span->url);
    struct str text = str_from(buf_str(m->out), span->start);

    if (is_anchor_sign(text, url)) {
        cut_to(m->out, span->start);
        return;
    }
    if (!url.len || url.ptr[0] == '#' || str_eq(text, url))
        return;
    if (str_chr(text, '\n') < text.len) {
        buf_adds(m->out, " (");
        buf_add(m->out, url);
        buf_addc(m->out, ')');
        return;
    }
    buf_insert(m->out, span->start, STR("["));
    buf_adds(m->out, "](");
    buf_add(m->out, url);
    buf_addc(m->out, ')');
}

static void finish_span(struct md *m, const struct md_open *span)
{
    static const char *const marks[] = {
        [MD_STRONG] = "**",
        [MD_EM] = "*",
        [MD_DEL] = "~~",
    };
    struct str text = str_from(buf_str(m->out), span->start);

    if (span->kind == MD_LINK) {
        finish_link(m, span);
        return;
    }
    if (str_chr(text, '\n') < text.len)
        return;
    if (span->kind != MD_CODE)
        wrap(m, span->start, marks[span->kind], marks[span->kind]);
    else if (longest_run(text, '`'))
        wrap(m, span->start, "`` ", " ``"); /* two in a row are rare enough */
    else
        wrap(m, span->start, "`", "`");
}

static void pop_span(struct md *m)
{
    struct md_open span;

    m->span_depth--;
    if (m->span_depth >= MD_SPANS)
        return;
    span = m->spans[m->span_depth];
    if (span.start != UNSET && span.start < m->out->len)
        finish_span(m, &span);
    cut_to(&m->urls, span.url);
}

void md_close_span(struct md *m, enum md_span kind)
{
    const struct md_table *t = table_of(m);
    unsigned floor = t && t->cell_start != UNSET ? t->spans : 0;
    unsigned depth = depth_of(m->span_depth, MD_SPANS);

    if (m->in_code || m->span_depth <= floor)
        return;
    if (m->span_depth > MD_SPANS) { /* whichever it was, it was not marked */
        m->span_depth--;
        return;
    }
    while (depth > floor && m->spans[depth - 1].kind != kind)
        depth--;
    while (depth > floor && m->span_depth >= depth)
        pop_span(m);
}

void md_image(struct md *m, struct str alt, struct str url)
{
    if (m->in_code || !str_trim(alt).len)
        return;
    md_text(m, STR("!["));
    md_text(m, alt);
    m->space = false;
    buf_adds(m->out, "](");
    buf_add(m->out, url);
    buf_addc(m->out, ')');
}

void md_spread_tables(struct md *m)
{
    for (unsigned i = 0; i < depth_of(m->table_depth, MD_TABLES); i++)
        m->tables[i].is_layout = true;
}

/* Code blocks. */

void md_code(struct md *m)
{
    if (m->in_code)
        return;
    md_heading_end(m);
    md_break(m, 2);
    md_spread_tables(m);
    m->in_code = true;
    m->code_start = UNSET;
    m->language[0] = '\0';
}

void md_code_language(struct md *m, struct str language)
{
    if (!m->in_code || m->language[0] || language.len >= sizeof(m->language))
        return;
    memcpy(m->language, language.ptr, language.len);
    m->language[language.len] = '\0';
}

void md_code_end(struct md *m)
{
    CLEANUP(buf_release) struct buf fence = BUF_INIT(BUF_NO_LIMIT);
    CLEANUP(buf_release) struct buf open = BUF_INIT(BUF_NO_LIMIT);
    size_t len = m->out->len;
    size_t ticks;

    if (!m->in_code)
        return;
    m->in_code = false;
    if (m->code_start >= len) /* also when it is unset */
        return;
    while (len > m->code_start && strchr(" \t\n", m->out->ptr[len - 1]))
        len--;
    cut_to(m->out, len);
    if (len == m->code_start) { /* nothing but space: we are at the start of its line again */
        m->fresh = 2;
        return;
    }
    ticks = longest_run(str_from(buf_str(m->out), m->code_start), '`');
    for (size_t i = 0; i < 3 || i <= ticks; i++)
        buf_addc(&fence, '`');

    buf_add(&open, buf_str(&fence));
    buf_adds(&open, m->language);
    buf_addc(&open, '\n');
    add_prefix(m, &open, /*is_item=*/false);
    buf_insert(m->out, m->code_start, buf_str(&open));
    buf_addc(m->out, '\n');
    add_prefix(m, m->out, /*is_item=*/false);
    buf_add(m->out, buf_str(&fence));
    md_break(m, 2);
}

/* Tables. A cell is written like any other text and put into shape when it ends. */

void md_table(struct md *m)
{
    md_heading_end(m);
    md_break(m, 2);
    md_spread_tables(m);
    m->table_depth++;
    if (table_of(m))
        *table_of(m) = (struct md_table){.cell_start = UNSET};
}

void md_row(struct md *m)
{
    md_row_end(m);
    md_break(m, 1);
}

void md_cell(struct md *m)
{
    struct md_table *t = table_of(m);

    md_cell_end(m);
    if (!t || m->in_code)
        return;
    if (t->is_layout) {
        md_break(m, 1);
        return;
    }
    md_heading_end(m);
    m->item_is_owed = false;
    if (t->cells)
        m->owed = 0;
    settle_line(m);
    m->space = false;
    t->cell_start = m->out->len;
    t->spans = m->span_depth;
}

/* On one line, with its bars escaped. */
static void add_cell(struct buf *out, struct str text)
{
    bool gap = false;

    text = str_trim(text);
    buf_adds(out, "| ");
    for (size_t i = 0; i < text.len; i++) {
        char c = text.ptr[i];

        if (c == '\n' || c == ' ') {
            gap = true;
            continue;
        }
        if (gap)
            buf_addc(out, ' ');
        gap = false;
        if (c == '|')
            buf_addc(out, '\\');
        buf_addc(out, c);
    }
    buf_addc(out, ' ');
}

void md_cell_end(struct md *m)
{
    CLEANUP(buf_release) struct buf cell = BUF_INIT(BUF_NO_LIMIT);
    struct md_table *t = table_of(m);

    if (!t || t->cell_start == UNSET || m->in_code)
        return;
    md_heading_end(m);
    while (m->span_depth > t->spans)
        pop_span(m);
    if (!t->is_layout) {
        add_cell(&cell, str_from(buf_str(m->out), t->cell_start));
        cut_to(m->out, t->cell_start);
        buf_add(m->out, buf_str(&cell));
        for (unsigned i = 0; i < depth_of(m->span_depth, MD_SPANS); i++) {
            if (m->spans[i].start != UNSET && m->spans[i].start >= t->cell_start)
                m->spans[i].start = UNSET; /* its first text was this cell's */
        }
        m->owed = 0;
        m->fresh = 0;
        m->space = false;
        m->item_is_owed = false;
        m->lead_owed = NULL;
        t->cells++;
    }
    t->cell_start = UNSET;
}

void md_row_end(struct md *m)
{
    struct md_table *t = table_of(m);

    md_cell_end(m);
    if (!t || m->in_code)
        return;
    if (t->cells && !t->is_layout) {
        buf_addc(m->out, '|');
        if (t->rows++ == 0) {
            add_newline(m);
            add_prefix(m, m->out, /*is_item=*/false);
            for (size_t i = 0; i < t->cells; i++)
                buf_adds(m->out, "|---");
            buf_addc(m->out, '|');
            m->fresh = 0;
        }
    }
    t->cells = 0;
    md_break(m, 1);
}

void md_table_end(struct md *m)
{
    if (!m->table_depth)
        return;
    md_row_end(m);
    m->table_depth--;
    md_break(m, 2);
}

void md_end(struct md *m)
{
    md_code_end(m);
    while (m->table_depth)
        md_table_end(m);
    while (m->span_depth)
        pop_span(m);
}
