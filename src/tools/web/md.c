/*
 * The markdown writer: text and blocks. One rule carries it: before_text() is the only place where
 * owed white space, prefixes and markers are written. Spans and tables, which take hold of text
 * that is written already, have files of their own. Pure; any thread.
 */
#include "tools/web/md.h"

#include <stdint.h>
#include <string.h>

#include "tools/web/md_line.h"

void md_init(struct md *m, struct buf *out)
{
    *m = (struct md){
        .out = out,
        .start = out->len,
        .urls = BUF_INIT(BUF_NO_LIMIT), /* by the page */
        .code_start = MD_UNSET,
    };
}

void md_release(struct md *m)
{
    buf_release(&m->urls);
}

static struct md_list *list_of(struct md *m)
{
    return m->list_depth ? &m->lists[md_depth(m->list_depth, MD_LISTS) - 1] : NULL;
}

static void add_quotes(struct buf *out, unsigned depth)
{
    for (unsigned i = 0; i < md_depth(depth, MD_QUOTES); i++)
        buf_adds(out, "> ");
}

void md_add_prefix(const struct md *m, struct buf *out, bool is_item)
{
    unsigned lists = md_depth(m->list_depth, MD_LISTS);

    add_quotes(out, m->quote_depth);
    for (unsigned i = 0; i + is_item < lists; i++)
        buf_adds(out, m->lists[i].ordered ? "   " : "  ");
}

void md_newline(struct md *m)
{
    size_t len = m->out->len;

    while (len > m->start && m->out->ptr[len - 1] == ' ') /* the prefix of an empty line */
        len--;
    md_cut(m->out, len);
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

void md_settle_line(struct md *m)
{
    if (m->out->len == m->start && !m->fresh) {
        md_add_prefix(m, m->out, m->item_is_owed);
        m->fresh = 2;
    }
    while (m->fresh < m->owed) {
        md_newline(m);
        if (m->fresh == m->owed)
            md_add_prefix(m, m->out, m->item_is_owed);
        else /* an empty line belongs to a quote that continues after it */
            add_quotes(m->out, m->quote_depth < m->last_quotes ? m->quote_depth : m->last_quotes);
    }
    if (m->owed)
        m->space = false;
    m->owed = 0;
}

static void before_text(struct md *m)
{
    md_settle_line(m);
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
    for (unsigned i = md_depth(m->span_depth, MD_SPANS); i-- && m->spans[i].start == MD_UNSET;)
        m->spans[i].start = m->out->len;
    if (m->in_code && m->code_start == MD_UNSET)
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

        if (c == '\r' || !c || (c == '\n' && m->code_start == MD_UNSET))
            continue; /* empty lines at the start are left out */
        if (m->code_start == MD_UNSET)
            before_text(m);
        buf_addc(m->out, c);
        if (c == '\n')
            md_add_prefix(m, m->out, /*is_item=*/false);
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

/* Code blocks. */

void md_code(struct md *m)
{
    if (m->in_code)
        return;
    md_heading_end(m);
    md_break(m, 2);
    md_spread_tables(m);
    m->in_code = true;
    m->code_start = MD_UNSET;
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
    md_cut(m->out, len);
    if (len == m->code_start) { /* nothing but space: we are at the start of its line again */
        m->fresh = 2;
        return;
    }
    ticks = md_longest_run(str_from(buf_str(m->out), m->code_start), '`');
    for (size_t i = 0; i < 3 || i <= ticks; i++)
        buf_addc(&fence, '`');

    buf_add(&open, buf_str(&fence));
    buf_adds(&open, m->language);
    buf_addc(&open, '\n');
    md_add_prefix(m, &open, /*is_item=*/false);
    buf_insert(m->out, m->code_start, buf_str(&open));
    buf_addc(m->out, '\n');
    md_add_prefix(m, m->out, /*is_item=*/false);
    buf_add(m->out, buf_str(&fence));
    md_break(m, 2);
}

void md_end(struct md *m)
{
    md_code_end(m);
    while (m->table_depth)
        md_table_end(m);
    while (m->span_depth)
        md_pop_span(m);
}
