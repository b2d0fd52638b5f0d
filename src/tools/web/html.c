/*
 * HTML into markdown: a table says what each element is, the tokenizer (html_tag.c) finds them, the
 * writer (md.c) puts them down. There is no tree: elements only open and close things the writer
 * keeps a bounded count of, so no page can make it deep. Pure; any thread.
 */
#include "tools/web/html.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "tools/web/html_tag.h"
#include "tools/web/md.h"

#define ADDRESS_MAX ((size_t)8 << 10) /* longer ones, data: for one, are left out */
#define MAIN_MIN 200                  /* bytes: less is no main part */

enum what {
    IS_BLOCK, /* n newlines around it */
    IS_HEADING,
    IS_BREAK,
    IS_RULE,
    IS_LIST, /* n: ordered */
    IS_ITEM,
    IS_DEFINITION,
    IS_QUOTE,
    IS_SPAN, /* n: which */
    IS_CODE_SPAN,
    IS_IMAGE,
    IS_CODE,
    IS_TABLE,
    IS_ROW,
    IS_CELL,
    IS_MAIN,
    IS_BASE,
    IS_TITLE,
    IS_RAW,     /* content is no HTML; left out */
    IS_DROPPED, /* left out with all that is in it */
};

struct element {
    const char *name;
    enum what what;
    unsigned n;
};

/* By name. For other elements only their content counts. */
static const struct element elements[] = {
    {"a", IS_SPAN, MD_LINK},     {"address", IS_BLOCK, 2},    {"article", IS_BLOCK, 2},
    {"aside", IS_BLOCK, 2},      {"b", IS_SPAN, MD_STRONG},   {"base", IS_BASE, 0},
    {"blockquote", IS_QUOTE, 0}, {"body", IS_BLOCK, 2},       {"br", IS_BREAK, 0},
    {"button", IS_DROPPED, 0},   {"canvas", IS_DROPPED, 0},   {"caption", IS_BLOCK, 1},
    {"code", IS_CODE_SPAN, 0},   {"dd", IS_DEFINITION, 0},    {"del", IS_SPAN, MD_DEL},
    {"details", IS_BLOCK, 2},    {"dialog", IS_DROPPED, 0},   {"div", IS_BLOCK, 1},
    {"dl", IS_BLOCK, 2},         {"dt", IS_BLOCK, 1},         {"em", IS_SPAN, MD_EM},
    {"fieldset", IS_BLOCK, 2},   {"figcaption", IS_BLOCK, 1}, {"figure", IS_BLOCK, 2},
    {"footer", IS_BLOCK, 2},     {"form", IS_BLOCK, 2},       {"h1", IS_HEADING, 1},
    {"h2", IS_HEADING, 2},       {"h3", IS_HEADING, 3},       {"h4", IS_HEADING, 4},
    {"h5", IS_HEADING, 5},       {"h6", IS_HEADING, 6},       {"header", IS_BLOCK, 2},
    {"hr", IS_RULE, 0},          {"i", IS_SPAN, MD_EM},       {"iframe", IS_RAW, 0},
    {"img", IS_IMAGE, 0},        {"kbd", IS_CODE_SPAN, 0},    {"li", IS_ITEM, 0},
    {"main", IS_MAIN, 0},        {"menu", IS_LIST, false},    {"nav", IS_DROPPED, 0},
    {"noembed", IS_RAW, 0},      {"noframes", IS_RAW, 0},     {"noscript", IS_DROPPED, 0},
    {"object", IS_DROPPED, 0},   {"ol", IS_LIST, true},       {"option", IS_BLOCK, 1},
    {"p", IS_BLOCK, 2},          {"pre", IS_CODE, 0},         {"s", IS_SPAN, MD_DEL},
    {"samp", IS_CODE_SPAN, 0},   {"script", IS_RAW, 0},       {"section", IS_BLOCK, 2},
    {"select", IS_DROPPED, 0},   {"strike", IS_SPAN, MD_DEL}, {"strong", IS_SPAN, MD_STRONG},
    {"style", IS_RAW, 0},        {"summary", IS_BLOCK, 1},    {"svg", IS_DROPPED, 0},
    {"table", IS_TABLE, 0},      {"td", IS_CELL, 0},          {"template", IS_DROPPED, 0},
    {"textarea", IS_RAW, 0},     {"th", IS_CELL, 0},          {"title", IS_TITLE, 0},
    {"tr", IS_ROW, 0},           {"tt", IS_CODE_SPAN, 0},     {"ul", IS_LIST, false},
    {"xmp", IS_RAW, 0},
};

struct page {
    struct md md;
    struct buf base;
    struct buf *title;   /* NULL: not wanted, or found */
    bool keep_all;       /* drop nothing but scripts */
    struct str dropping; /* the name of the element that is being left out; or empty */
    size_t drop_depth;
    size_t main_start, main_end; /* in the output; SIZE_MAX: none */
    size_t main_depth;
};

static int compare_element(const void *key, const void *row)
{
    const struct str *name = key;
    const char *other = ((const struct element *)row)->name;

    return str_cmp(*name, str_of(other));
}

static const struct element *find_element(struct str name)
{
    static const struct element unknown = {"", IS_BLOCK, 0};
    const struct element *found;
    struct str lower;
    char text[16];

    if (name.len >= sizeof(text))
        return &unknown;
    for (size_t i = 0; i < name.len; i++)
        text[i] =
            (char)(name.ptr[i] >= 'A' && name.ptr[i] <= 'Z' ? name.ptr[i] | 0x20 : name.ptr[i]);
    lower = str_make(text, name.len);
    found = bsearch(&lower, elements, ARRAY_LEN(elements), sizeof(elements[0]), compare_element);
    return found ? found : &unknown;
}

/* Text with its character references, in pieces. */
static void each_piece(struct str text, void (*fn)(void *arg, struct str piece), void *arg)
{
    while (text.len) {
        size_t plain = str_chr(text, '&');
        char code[8];
        size_t code_len;
        size_t used;

        if (plain)
            fn(arg, str_first(text, plain));
        text = str_from(text, plain);
        if (!text.len)
            return;
        used = html_entity(text, code, &code_len);
        fn(arg, used ? str_make(code, code_len) : STR("&"));
        text = str_from(text, used ? used : 1);
    }
}

static void piece_to_md(void *arg, struct str piece)
{
    md_text(arg, piece);
}

static void piece_to_buf(void *arg, struct str piece)
{
    buf_add(arg, piece);
}

/* The address of a link or image, absolute; empty for what leads nowhere. */
static void read_address(struct page *p, struct str written, struct buf *ret)
{
    CLEANUP(buf_release) struct buf link = BUF_INIT(ADDRESS_MAX);
    struct str text;

    each_piece(str_trim(written), piece_to_buf, &link);
    text = buf_str(&link);
    if (link.over || str_eq_nocase(str_first(text, 11), STR("javascript:")) ||
        str_eq_nocase(str_first(text, 5), STR("data:")))
        return;
    for (size_t i = 0; i < link.len; i++) {
        if ((unsigned char)link.ptr[i] <= ' ' || strchr("()<>", link.ptr[i]))
            link.ptr[i] = link.ptr[i] == '(' || link.ptr[i] == ')' ? link.ptr[i] : '+';
    }
    if (text.len && text.ptr[0] == '#')
        buf_add(ret, text);
    else if (text.len)
        html_resolve(buf_str(&p->base), text, ret);
}

/* "language-c", "lang-c", "highlight-source-c": what the block is written in. */
static struct str language_of(struct str class_name)
{
    static const char *const leads[] = {"language-", "lang-", "highlight-source-"};

    for (size_t i = 0; i < ARRAY_LEN(leads); i++) {
        size_t at = str_find(class_name, str_of(leads[i]));
        struct str name = str_from(class_name, at + strlen(leads[i]));
        size_t len = 0;

        while (len < name.len && (str_is_alnum(name.ptr[len]) || strchr("+#-_", name.ptr[len])))
            len++;
        if (at < class_name.len && len)
            return str_first(name, len);
    }
    return STR("");
}

static void open_link(struct page *p, const struct html_tag *tag)
{
    CLEANUP(buf_release) struct buf url = BUF_INIT(2 * ADDRESS_MAX);

    read_address(p, tag->href, &url);
    md_close_span(&p->md, MD_LINK); /* links do not nest */
    md_open_span(&p->md, MD_LINK, buf_str(&url));
}

static void add_image(struct page *p, const struct html_tag *tag)
{
    CLEANUP(buf_release) struct buf url = BUF_INIT(2 * ADDRESS_MAX);
    CLEANUP(buf_release) struct buf alt = BUF_INIT(ADDRESS_MAX);

    each_piece(tag->alt, piece_to_buf, &alt);
    read_address(p, tag->src, &url);
    if (url.len)
        md_image(&p->md, buf_str(&alt), buf_str(&url));
}

static void set_base(struct page *p, const struct html_tag *tag)
{
    CLEANUP(buf_release) struct buf url = BUF_INIT(2 * ADDRESS_MAX);

    read_address(p, tag->href, &url);
    if (str_find(buf_str(&url), STR("://")) < url.len)
        buf_move(&p->base, &url);
}

static void enter_main(struct page *p)
{
    md_heading_end(&p->md);
    md_spread_tables(&p->md);
    md_break(&p->md, 2);
    p->main_depth++;
    if (p->main_start == SIZE_MAX)
        p->main_start = p->md.out->len;
}

static void leave_main(struct page *p)
{
    md_break(&p->md, 2);
    if (p->main_depth && --p->main_depth == 0 && p->main_end == SIZE_MAX)
        p->main_end = p->md.out->len;
}

static void open_element(struct page *p, const struct element *e, const struct html_tag *tag)
{
    struct md *m = &p->md;
    int64_t first = 1;

    switch (e->what) {
    case IS_BLOCK:
        if (e->n > 1)
            md_heading_end(m);
        if (e->n)
            md_break(m, e->n);
        break;
    case IS_HEADING:
        md_heading(m, e->n);
        break;
    case IS_BREAK:
        md_line_break(m);
        break;
    case IS_RULE:
        md_heading_end(m);
        md_rule(m);
        break;
    case IS_LIST:
        str_to_i64(str_first(str_trim(tag->start), 6), &first, /*err=*/NULL);
        md_list(m, e->n, first);
        break;
    case IS_ITEM:
        md_item(m);
        break;
    case IS_DEFINITION:
        md_lead(m, ": ");
        break;
    case IS_QUOTE:
        md_quote(m);
        break;
    case IS_SPAN:
        if (e->n == MD_LINK)
            open_link(p, tag);
        else
            md_open_span(m, e->n, STR(""));
        break;
    case IS_CODE_SPAN:
        if (m->in_code)
            md_code_language(m, language_of(tag->class_name));
        else
            md_open_span(m, MD_CODE, STR(""));
        break;
    case IS_IMAGE:
        add_image(p, tag);
        break;
    case IS_CODE:
        md_code(m);
        md_code_language(m, language_of(tag->class_name));
        break;
    case IS_TABLE:
        md_table(m);
        break;
    case IS_ROW:
        md_row(m);
        break;
    case IS_CELL:
        md_cell(m);
        break;
    case IS_MAIN:
        enter_main(p);
        break;
    case IS_BASE:
        set_base(p, tag);
        break;
    default:
        break;
    }
}

static void close_element(struct page *p, const struct element *e)
{
    struct md *m = &p->md;

    switch (e->what) {
    case IS_BLOCK:
        if (e->n)
            md_break(m, e->n);
        break;
    case IS_HEADING:
        md_heading_end(m);
        break;
    case IS_LIST:
        md_list_end(m);
        break;
    case IS_ITEM:
    case IS_DEFINITION:
        md_break(m, 1);
        break;
    case IS_QUOTE:
        md_quote_end(m);
        break;
    case IS_SPAN:
        md_close_span(m, e->n);
        break;
    case IS_CODE_SPAN:
        md_close_span(m, MD_CODE);
        break;
    case IS_CODE:
        md_code_end(m);
        break;
    case IS_TABLE:
        md_table_end(m);
        break;
    case IS_ROW:
        md_row_end(m);
        break;
    case IS_CELL:
        md_cell_end(m);
        break;
    case IS_MAIN:
        leave_main(p);
        break;
    default:
        break;
    }
}

static void read_title(struct page *p, struct str text)
{
    CLEANUP(buf_release) struct buf decoded = BUF_INIT(4096);
    struct md line;

    if (!p->title || p->dropping.len) /* titles inside an <svg> are different */
        return;
    each_piece(str_clip(text, 4096), piece_to_buf, &decoded);
    md_init(&line, p->title);
    md_text(&line, buf_str(&decoded));
    md_release(&line);
    p->title = NULL;
}

static bool is_void(struct str name)
{
    static const char *const names[] = {"area",  "base", "br",   "col",   "embed",  "hr",    "img",
                                        "input", "link", "meta", "param", "source", "track", "wbr"};

    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        if (str_eq_nocase(name, str_of(names[i])))
            return true;
    }
    return false;
}

/* Whether the tag is part of a dropped element, or begins one. */
static bool is_dropped(struct page *p, const struct element *e, const struct html_tag *tag)
{
    if (p->dropping.len) {
        if (str_eq_nocase(tag->name, p->dropping)) {
            if (!tag->is_end)
                p->drop_depth++;
            else if (--p->drop_depth == 0)
                p->dropping = STR("");
        }
        return true;
    }
    if (tag->is_end || p->keep_all || is_void(tag->name) || str_eq_nocase(tag->name, STR("body")) ||
        str_eq_nocase(tag->name, STR("html")) || e->what == IS_MAIN)
        return false;
    if (e->what != IS_DROPPED && !tag->is_hidden && !str_is(tag->role, "navigation"))
        return false;
    p->dropping = tag->name;
    p->drop_depth = 1;
    return true;
}

static void convert(struct page *p, struct str html)
{
    while (html.len && !p->md.out->over) {
        const struct element *e;
        struct html_tag tag;
        size_t len = str_chr(html, '<');

        if (len && !p->dropping.len)
            each_piece(str_first(html, len), piece_to_md, &p->md);
        html = str_from(html, len);
        if (!html.len)
            break;
        len = html_tag_read(html, &tag);
        if (!len) {
            if (!p->dropping.len)
                md_text(&p->md, STR("<"));
            html = str_from(html, 1);
            continue;
        }
        html = str_from(html, len);
        if (!tag.name.len)
            continue;
        e = find_element(tag.name);
        if (!tag.is_end && (e->what == IS_RAW || e->what == IS_TITLE)) {
            len = html_raw_len(html, tag.name);
            if (e->what == IS_TITLE)
                read_title(p, str_first(html, len));
            html = str_from(html, len);
        } else if (!is_dropped(p, e, &tag)) {
            if (tag.is_end)
                close_element(p, e);
            else
                open_element(p, e, &tag);
        }
    }
    md_end(&p->md);
}

/* A mark put before a span that began inside and ended outside moves the text after it. */
static size_t to_character(const struct buf *b, size_t at)
{
    while (at < b->len && ((unsigned char)b->ptr[at] & 0xc0) == 0x80)
        at++;
    return at;
}

/* A page that marks its main part is that part. */
static void keep_main(struct page *p, struct buf *out, size_t start)
{
    size_t end = p->main_end < out->len ? p->main_end : out->len;

    if (p->main_start == SIZE_MAX || p->main_start + MAIN_MIN > end)
        return;
    end = to_character(out, end);
    buf_cut(out, end, out->len - end);
    buf_cut(out, start, to_character(out, p->main_start) - start);
}

static void trim(struct buf *out, size_t start)
{
    size_t lead = start;
    size_t len = out->len;

    while (len > start && (out->ptr[len - 1] == ' ' || out->ptr[len - 1] == '\n'))
        len--;
    buf_cut(out, len, out->len - len);
    while (lead < len && out->ptr[lead] == '\n')
        lead++;
    buf_cut(out, start, lead - start);
}

/* False when the page never ended a dropped element. */
static bool try_convert(struct str html, struct str base, bool keep_all, struct buf *out,
                        struct buf *title)
{
    struct page p = {
        .base = BUF_INIT(2 * ADDRESS_MAX),
        .title = title,
        .keep_all = keep_all,
        .main_start = SIZE_MAX,
        .main_end = SIZE_MAX,
    };
    size_t start = out->len;
    bool complete;

    buf_add(&p.base, str_first(base, ADDRESS_MAX));
    md_init(&p.md, out);
    convert(&p, html);
    complete = !p.dropping.len;
    keep_main(&p, out, start);
    trim(out, start);
    md_release(&p.md);
    buf_release(&p.base);
    return complete && out->len > start;
}

void html_to_markdown(struct str html, struct str base, struct buf *ret_markdown,
                      struct buf *ret_title)
{
    size_t start = ret_markdown->len;
    size_t title_len = ret_title ? ret_title->len : 0;

    if (try_convert(html, base, /*keep_all=*/false, ret_markdown, ret_title))
        return;
    /* A <nav> that is never closed, or a page that is all hidden, would leave nothing to read. */
    buf_cut(ret_markdown, start, ret_markdown->len - start);
    if (ret_title)
        buf_cut(ret_title, title_len, ret_title->len - title_len);
    try_convert(html, base, /*keep_all=*/true, ret_markdown, ret_title);
}
