/*
 * md_table: a cell is written like any other text and put into shape when it ends. Pure; any
 * thread.
 */
#include "tools/web/md_line.h"

struct md_table *md_table_of(struct md *m)
{
    return m->table_depth && m->table_depth <= MD_TABLES ? &m->tables[m->table_depth - 1] : NULL;
}

void md_spread_tables(struct md *m)
{
    for (unsigned i = 0; i < md_depth(m->table_depth, MD_TABLES); i++)
        m->tables[i].is_layout = true;
}

void md_table(struct md *m)
{
    md_heading_end(m);
    md_break(m, 2);
    md_spread_tables(m);
    m->table_depth++;
    if (md_table_of(m))
        *md_table_of(m) = (struct md_table){.cell_start = MD_UNSET};
}

void md_row(struct md *m)
{
    md_row_end(m);
    md_break(m, 1);
}

void md_cell(struct md *m)
{
    struct md_table *t = md_table_of(m);

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
    md_settle_line(m);
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
    struct md_table *t = md_table_of(m);

    if (!t || t->cell_start == MD_UNSET || m->in_code)
        return;
    md_heading_end(m);
    while (m->span_depth > t->spans)
        md_pop_span(m);
    if (!t->is_layout) {
        add_cell(&cell, str_from(buf_str(m->out), t->cell_start));
        md_cut(m->out, t->cell_start);
        buf_add(m->out, buf_str(&cell));
        for (unsigned i = 0; i < md_depth(m->span_depth, MD_SPANS); i++) {
            if (m->spans[i].start != MD_UNSET && m->spans[i].start >= t->cell_start)
                m->spans[i].start = MD_UNSET; /* its first text was this cell's */
        }
        m->owed = 0;
        m->fresh = 0;
        m->space = false;
        m->item_is_owed = false;
        m->lead_owed = NULL;
        t->cells++;
    }
    t->cell_start = MD_UNSET;
}

void md_row_end(struct md *m)
{
    struct md_table *t = md_table_of(m);

    md_cell_end(m);
    if (!t || m->in_code)
        return;
    if (t->cells && !t->is_layout) {
        buf_addc(m->out, '|');
        if (t->rows++ == 0) {
            md_newline(m);
            md_add_prefix(m, m->out, /*is_item=*/false);
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
