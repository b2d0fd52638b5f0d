/*
 * line: styled lines in one piece of memory.
 *
 * Made anew with every frame, so putting text in is a scan for the bytes that need care and a copy
 * of the rest. What has been let in once is harmless and is only copied from then on. One thread.
 */
#include "tui/screen/line.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/strv.h"
#include "base/utf8.h"
#include "tui/screen/ansi.h"
#include "tui/screen/width.h"

#define LINES_TAB 8
#define LINES_MAX_LINKS UINT16_MAX
#define LINES_MAX_TARGET 2000 /* terminals stop near it */
#define LINES_REPLACEMENT STR("\xef\xbf\xbd")

void lines_release(struct lines *ls)
{
    buf_release(&ls->text);
    vec_release(&ls->spans);
    vec_release(&ls->ends);
    if (ls->links)
        strv_release(ls->links);
    mem_freep(&ls->links);
}

void lines_clear(struct lines *ls)
{
    buf_clear(&ls->text);
    ls->spans.len = 0;
    ls->ends.len = 0;
    ls->tab_at = 0;
    if (ls->links)
        strv_clear(ls->links);
}

/* Where the line begins that is being written. */
static struct line_end lines_open(const struct lines *ls)
{
    return ls->ends.len ? ls->ends.ptr[ls->ends.len - 1] : (struct line_end){0};
}

/* Harmless text. */
static void lines_append(struct lines *ls, struct style style, struct str text)
{
    struct line_end open = lines_open(ls);
    uint32_t from = (uint32_t)ls->text.len - open.text;
    bool has_spans = ls->spans.len > open.spans;

    buf_add(&ls->text, text);
    if (ls->text.len == open.text + from) /* nothing, or no room for it */
        return;
    if (has_spans ? style_eq(ls->spans.ptr[ls->spans.len - 1].style, style)
                  : style_eq(STYLE(ROLE_TEXT), style))
        return;
    if (!has_spans && from)
        vec_push(&ls->spans, ((struct span){0, STYLE(ROLE_TEXT)}));
    vec_push(&ls->spans, ((struct span){from, style}));
}

int lines_column(const struct lines *ls)
{
    size_t from = lines_open(ls).text;
    int col = 0;

    if (ls->tab_at > from) {
        from = ls->tab_at;
        col = ls->tab_col;
    }
    return col + width_of(str_from(buf_str(&ls->text), from));
}

void lines_spaces(struct lines *ls, struct style style, int cells)
{
    static const char spaces[] = "                                                                ";

    while (cells > 0) {
        int n = cells < (int)sizeof(spaces) - 1 ? cells : (int)sizeof(spaces) - 1;

        lines_append(ls, style, str_make(spaces, (size_t)n));
        cells -= n;
    }
}

static void lines_tab(struct lines *ls, struct style style)
{
    int col = lines_column(ls);
    int to = (col / LINES_TAB + 1) * LINES_TAB;

    lines_spaces(ls, style, to - col);
    ls->tab_at = ls->text.len;
    ls->tab_col = to;
}

enum lines_care {
    LINES_FINE,
    LINES_TAKEN_OUT,
    LINES_SPACE,
    LINES_REPLACED,
};

/* What becomes of the character at the start of s, and its bytes. */
static enum lines_care lines_care(struct str s, size_t *ret_len)
{
    unsigned char c = (unsigned char)s.ptr[0];
    uint32_t code;
    size_t len = 1;

    *ret_len = len;
    if (c < 0x80)
        return c == '\n' ? LINES_SPACE : c < 0x20 || c == 0x7f ? LINES_TAKEN_OUT : LINES_FINE;
    len = utf8_decode(s, &code);
    if (!len)
        return LINES_REPLACED;
    *ret_len = len;
    if (code < 0xa0)
        return LINES_TAKEN_OUT;
    if (code == 0x2028 || code == 0x2029)
        return LINES_SPACE;
    return utf8_turns_text(code) ? LINES_REPLACED : LINES_FINE;
}

/* Joiners and variation selectors belong to the emoji before them. */
static bool lines_is_unseen(struct str s, size_t at)
{
    uint32_t code;

    if (!utf8_decode(str_from(s, at), &code))
        return false;
    if ((code == 0x200d || code == 0xfe0f) && at && (unsigned char)s.ptr[at - 1] >= 0x80)
        return false;
    return code == '\n' || utf8_is_unseen(code);
}

/* The beginning that can be taken as it is. */
static size_t lines_fine(const struct lines *ls, struct str s)
{
    size_t at = 0;
    size_t len;

    while (at < s.len) {
        unsigned char c = (unsigned char)s.ptr[at];

        if (c >= 0x20 && c < 0x7f)
            at++;
        else if (c < 0x80 || lines_care(str_from(s, at), &len) != LINES_FINE ||
                 (ls->shows_all && lines_is_unseen(s, at)))
            break;
        else
            at += len;
    }
    return at;
}

/* ansi: the style it changes; NULL: all sequences are taken out. */
static size_t lines_escape(struct lines *ls, struct str s, struct style base, struct style *ansi)
{
    size_t len = ansi_length(s);
    struct str target;

    if (!ansi)
        return len;
    if (!ansi_style(str_first(s, len), base, ansi) && ansi_link(str_first(s, len), &target))
        ansi->link = target.len ? lines_link(ls, target) : base.link;
    return len;
}

/* "^[", "<U+200B>". */
static size_t lines_mark(struct lines *ls, struct style style, struct str s)
{
    char mark[16];
    uint32_t code = 0;
    size_t len = utf8_decode(s, &code);

    if (code < 0x20 || code == 0x7f)
        snprintf(mark, sizeof(mark), "^%c", (int)(code ^ 0x40));
    else
        snprintf(mark, sizeof(mark), "<U+%04X>", (unsigned)code);
    lines_append(ls, style, str_of(mark));
    return len;
}

static void lines_feed(struct lines *ls, struct style base, struct str text, struct style *ansi)
{
    size_t at = 0;

    while (at < text.len) {
        struct str rest = str_from(text, at);
        struct style style = ansi ? *ansi : base;
        size_t len = lines_fine(ls, rest);

        if (len) {
            lines_append(ls, style, str_first(rest, len));
            at += len;
            continue;
        }
        if (rest.ptr[0] == '\t') {
            lines_tab(ls, style);
            len = 1;
        } else if (ls->shows_all && lines_is_unseen(text, at)) {
            len = lines_mark(ls, style, rest);
        } else if (rest.ptr[0] == '\033') {
            len = lines_escape(ls, rest, base, ansi);
        } else {
            enum lines_care care = lines_care(rest, &len);

            if (care == LINES_SPACE)
                lines_append(ls, style, STR(" "));
            else if (care == LINES_REPLACED)
                lines_append(ls, style, LINES_REPLACEMENT);
        }
        at += len;
    }
}

void lines_put(struct lines *ls, struct style style, struct str text)
{
    lines_feed(ls, style, text, NULL);
}

void lines_puts(struct lines *ls, enum style_role role, const char *text)
{
    lines_feed(ls, STYLE(role), str_of(text), NULL);
}

void lines_putf(struct lines *ls, struct style style, const char *fmt, ...)
{
    char small[256];
    CLEANUP(buf_release) struct buf large = BUF_INIT(LINES_MAX_BYTES);
    va_list args;
    int n;

    va_start(args, fmt);
    n = vsnprintf(small, sizeof(small), fmt, args);
    va_end(args);
    if (n < 0)
        return;
    if ((size_t)n < sizeof(small)) {
        lines_put(ls, style, str_make(small, (size_t)n));
        return;
    }
    va_start(args, fmt);
    buf_addv(&large, fmt, args);
    va_end(args);
    lines_put(ls, style, buf_str(&large));
}

void lines_put_ansi(struct lines *ls, struct style style, struct str text)
{
    struct style now = style;

    lines_feed(ls, style, text, &now);
}

void lines_end(struct lines *ls)
{
    vec_push(&ls->ends, ((struct line_end){(uint32_t)ls->text.len, (uint32_t)ls->spans.len}));
}

/* --- Links --- */

static bool lines_may_link(struct str target)
{
    static const char *const schemes[] = {"http://", "https://", "mailto:", "file://"};

    for (size_t i = 0; i < ARRAY_LEN(schemes); i++) {
        struct str scheme = str_of(schemes[i]);

        if (target.len > scheme.len && str_eq_nocase(str_first(target, scheme.len), scheme))
            return true;
    }
    return false;
}

static uint16_t lines_add_link(struct lines *ls, struct str target)
{
    if (!ls->links)
        ls->links = mem_zalloc(sizeof(*ls->links));
    if (ls->links->len && str_is(target, ls->links->ptr[ls->links->len - 1]))
        return (uint16_t)ls->links->len;
    if (ls->links->len == LINES_MAX_LINKS)
        return 0;
    strv_add(ls->links, target);
    return (uint16_t)ls->links->len;
}

uint16_t lines_link(struct lines *ls, struct str target)
{
    CLEANUP(buf_release) struct buf safe = BUF_INIT(LINES_MAX_TARGET);

    target = str_trim(target);
    if (!lines_may_link(target))
        return 0;
    for (size_t i = 0; i < target.len; i++) {
        unsigned char c = (unsigned char)target.ptr[i];

        if (c > 0x20 && c < 0x7f)
            buf_addc(&safe, (char)c);
        else
            buf_addf(&safe, "%%%02X", c);
    }
    return safe.over ? 0 : lines_add_link(ls, buf_str(&safe));
}

struct str line_link(struct line l, struct style style)
{
    const struct strv *links = l.of ? l.of->links : NULL;

    if (!style.link || !links || style.link > links->len)
        return (struct str){0};
    return str_of(links->ptr[style.link - 1]);
}

/* --- Finished lines --- */

struct line lines_at(const struct lines *ls, size_t i)
{
    struct line_end from = i ? ls->ends.ptr[i - 1] : (struct line_end){0};
    struct line_end to = ls->ends.ptr[i];

    return (struct line){
        .text = str_make(ls->text.len ? ls->text.ptr + from.text : NULL, to.text - from.text),
        .spans = ls->spans.len ? ls->spans.ptr + from.spans : NULL,
        .span_count = to.spans - from.spans,
        .of = ls,
    };
}

int line_width(struct line l)
{
    return width_of(l.text);
}

void lines_put_part(struct lines *to, struct line l, size_t from, size_t end)
{
    size_t i = 0;

    while (i + 1 < l.span_count && l.spans[i + 1].from <= from)
        i++;
    while (from < end) {
        struct style style = l.span_count ? l.spans[i].style : STYLE(ROLE_TEXT);
        size_t stop = i + 1 < l.span_count && l.spans[i + 1].from < end ? l.spans[i + 1].from : end;

        if (style.link && l.of != to) {
            struct str target = line_link(l, style);

            style.link = target.len ? lines_add_link(to, target) : 0;
        }
        lines_append(to, style, str_make(l.text.ptr + from, stop - from));
        from = stop;
        i++;
    }
}

void lines_put_line(struct lines *to, struct line l)
{
    lines_put_part(to, l, 0, l.text.len);
}

void lines_add(struct lines *to, struct line l)
{
    lines_put_line(to, l);
    lines_end(to);
}

/* Whether all of it can be taken as it lies there: no links to be numbered anew, nothing begun. */
static bool lines_can_join(const struct lines *to, const struct lines *from)
{
    struct line_end open = lines_open(to);

    return !(from->links && from->links->len) && to->text.len == open.text &&
           to->spans.len == open.spans && !to->text.over &&
           lines_open(from).text <= to->text.max - to->text.len;
}

void lines_add_all(struct lines *to, const struct lines *from)
{
    struct line_end open = lines_open(to);
    struct line_end all = lines_open(from);

    if (!lines_can_join(to, from)) {
        for (size_t i = 0; i < lines_count(from); i++)
            lines_add(to, lines_at(from, i));
        return;
    }
    buf_add(&to->text, str_first(buf_str(&from->text), all.text));
    while (to->spans.cap - to->spans.len < all.spans)
        to->spans.ptr = vec_grow(to->spans.ptr, &to->spans.cap, sizeof(*to->spans.ptr));
    if (all.spans)
        memcpy(to->spans.ptr + to->spans.len, from->spans.ptr, all.spans * sizeof(*to->spans.ptr));
    to->spans.len += all.spans;
    VEC_EACH(&from->ends, end) {
        vec_push(&to->ends, ((struct line_end){open.text + end->text, open.spans + end->spans}));
    }
}

/* The mark for omitted text, at most so wide. */
static struct str lines_gap(int cells, bool ascii)
{
    return ascii ? str_first(STR("..."), (size_t)(cells > 0 ? cells : 0)) : STR("…");
}

/* The beginning up to byte `to`, and the gap in its style. */
static void lines_put_gap(struct lines *ls, struct line l, size_t to, struct str gap)
{
    size_t i = 0;

    while (i + 1 < l.span_count && l.spans[i + 1].from <= to)
        i++;
    lines_put_part(ls, l, 0, to);
    lines_append(ls, l.span_count ? STYLE(l.spans[i].style.role) : STYLE(ROLE_TEXT), gap);
}

void lines_add_cut(struct lines *to, struct line l, int cells, bool ascii)
{
    struct str keep = width_first(l.text, cells);
    struct str gap = lines_gap(cells, ascii);

    if (keep.len < l.text.len && cells > 0)
        lines_put_gap(to, l, width_first(l.text, cells - width_of(gap)).len, gap);
    else
        lines_put_part(to, l, 0, keep.len);
    lines_end(to);
}

void lines_add_squeezed(struct lines *to, struct line l, int cells, bool ascii)
{
    struct str gap = lines_gap(cells, ascii);
    int room = cells - width_of(gap);
    size_t tail = l.text.len;
    int used = 0;

    if (line_width(l) <= cells || room < 2) {
        lines_add_cut(to, l, cells, ascii);
        return;
    }
    for (;;) {
        int wide;
        size_t len = width_prev(l.text, tail, &wide);

        if (used + wide > room / 2)
            break;
        used += wide;
        tail -= len;
    }
    lines_put_gap(to, l, width_first(l.text, room - used).len, gap);
    lines_put_part(to, l, tail, l.text.len);
    lines_end(to);
}

void lines_text(const struct lines *ls, struct buf *ret)
{
    for (size_t i = 0; i < lines_count(ls); i++) {
        buf_add(ret, lines_at(ls, i).text);
        buf_addc(ret, '\n');
    }
}
