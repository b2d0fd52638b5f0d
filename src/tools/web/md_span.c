/*
 * md_span: links, emphasis and inline code. The text is there when a span ends, so its marks are
 * put around it then, and only around text that stands on one line. Pure; any thread.
 */
#include "tools/web/md_line.h"

size_t md_longest_run(struct str text, char c)
{
    size_t longest = 0;
    size_t run = 0;

    for (size_t i = 0; i < text.len; i++) {
        run = text.ptr[i] == c ? run + 1 : 0;
        longest = run > longest ? run : longest;
    }
    return longest;
}

void md_open_span(struct md *m, enum md_span kind, struct str url)
{
    if (m->in_code)
        return;
    m->span_depth++;
    if (m->span_depth > MD_SPANS)
        return;
    m->spans[m->span_depth - 1] =
        (struct md_open){.kind = kind, .start = MD_UNSET, .url = m->urls.len};
    if (kind == MD_LINK) {
        buf_add(&m->urls, url);
        buf_addc(&m->urls, '\0');
    }
}

static void wrap(struct md *m, size_t start, const char *before, const char *after)
{
    buf_insert(m->out, start, str_of(before));
    buf_adds(m->out, after);
}

/* The sign that many pages put after a heading, for its address. */
static bool is_anchor_sign(struct str text, struct str url)
{
    return url.len && url.ptr[0] == '#' && text.len <= 4 && !str_is_alnum(text.ptr[0]);
}

static void finish_link(struct md *m, const struct md_open *span)
{
    struct str url = str_of(m->urls.ptr + span->url);
    struct str text = str_from(buf_str(m->out), span->start);

    if (is_anchor_sign(text, url)) {
        md_cut(m->out, span->start);
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
    else if (md_longest_run(text, '`'))
        wrap(m, span->start, "`` ", " ``"); /* two in a row are rare enough */
    else
        wrap(m, span->start, "`", "`");
}

void md_pop_span(struct md *m)
{
    struct md_open span;

    m->span_depth--;
    if (m->span_depth >= MD_SPANS)
        return;
    span = m->spans[m->span_depth];
    if (span.start != MD_UNSET && span.start < m->out->len)
        finish_span(m, &span);
    md_cut(&m->urls, span.url);
}

void md_close_span(struct md *m, enum md_span kind)
{
    const struct md_table *t = md_table_of(m);
    unsigned floor = t && t->cell_start != MD_UNSET ? t->spans : 0;
    unsigned depth = md_depth(m->span_depth, MD_SPANS);

    if (m->in_code || m->span_depth <= floor)
        return;
    if (m->span_depth > MD_SPANS) { /* whichever it was, it was not marked */
        m->span_depth--;
        return;
    }
    while (depth > floor && m->spans[depth - 1].kind != kind)
        depth--;
    while (depth > floor && m->span_depth >= depth)
        md_pop_span(m);
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
