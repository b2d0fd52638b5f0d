/*
 * markdown_inline: md4c reads the spans, one paragraph at a time. It must not find blocks in it, as
 * markdown_split.c has decided that already; so every line that could begin one gets a space in
 * front that md4c takes for white space within words, but not for indentation. UI thread.
 */
#include "tui/markdown/markdown_inline.h"

#include <md4c.h>
#include <string.h>

#include "base/buf.h"
#include "base/utf8.h"
#include "tools/web/html.h"
#include "tui/markdown/markdown_split.h"
#include "tui/screen/line.h"

#define GUARD "\xe1\x9a\x80" /* U+1680 OGHAM SPACE MARK; taken out again on the way back */

#define FLOWS 60 /* bytes */

static const unsigned inline_flags = MD_FLAG_COLLAPSEWHITESPACE | MD_FLAG_PERMISSIVEAUTOLINKS |
                                     MD_FLAG_STRIKETHROUGH | MD_FLAG_NOINDENTEDCODEBLOCKS |
                                     MD_FLAG_NOHTMLBLOCKS;

struct inline_draw {
    struct lines *out;
    const struct markdown_inline *how;
    unsigned strong, em, strike, code, links; /* how many of them we are in */
    uint16_t link;
    struct buf target; /* of a link that the terminal cannot open: shown after its text */
    struct buf shown;  /* the text of that link */
    bool is_line_start;
};

static struct style inline_style(const struct inline_draw *d)
{
    struct style style = d->how->style;

    if (d->links) {
        style.role = ROLE_LINK;
        style.link = d->link;
    } else if (d->code) {
        style.role = ROLE_CODE;
    }
    if (d->strong)
        style.flags |= STYLE_BOLD;
    if (d->em)
        style.flags |= STYLE_ITALIC;
    if (d->strike)
        style.flags |= STYLE_STRIKE;
    return style;
}

/* Where the next guard is. Its first byte is rare, and quickly seen not to be there. */
static size_t guard_find(struct str text)
{
    size_t n = str_chr(text, *GUARD);

    return n < text.len ? n + str_find(str_from(text, n), STR(GUARD)) : n;
}

static void inline_put(struct inline_draw *d, struct str text)
{
    while (text.len) {
        size_t n = guard_find(text);

        while (d->is_line_start && !d->code && n && *text.ptr == ' ') {
            text = str_from(text, 1);
            n--;
        }
        if (n) {
            d->is_line_start = false;
            lines_put(d->out, inline_style(d), str_first(text, n));
            if (d->target.len && d->shown.len < MARKDOWN_MAX_TARGET)
                buf_add(&d->shown, str_first(text, n));
        }
        text = str_from(text, n + strlen(GUARD));
    }
}

static void inline_break(struct inline_draw *d)
{
    lines_end(d->out);
    d->is_line_start = true;
}

static void inline_put_entity(struct inline_draw *d, struct str text)
{
    char out[8];
    size_t len;

    if (html_entity(text, out, &len))
        inline_put(d, str_make(out, len));
    else
        inline_put(d, text);
}

static bool html_is_break(struct str tag)
{
    if (tag.len < 4 || !str_eq_nocase(str_first(tag, 3), STR("<br")))
        return false;
    for (size_t i = 3; i + 1 < tag.len; i++) {
        if (tag.ptr[i] != ' ' && tag.ptr[i] != '/')
            return false;
    }
    return tag.ptr[tag.len - 1] == '>';
}

static int inline_text(MD_TEXTTYPE type, const MD_CHAR *ptr, MD_SIZE len, void *arg)
{
    struct inline_draw *d = arg;
    struct str text = str_make(ptr, len);

    switch (type) {
    case MD_TEXT_BR:
    case MD_TEXT_SOFTBR:
        inline_break(d);
        break;
    case MD_TEXT_NULLCHAR:
        inline_put(d, STR("\xef\xbf\xbd"));
        break;
    case MD_TEXT_ENTITY:
        inline_put_entity(d, text);
        break;
    case MD_TEXT_HTML:
        if (html_is_break(text))
            inline_break(d);
        else
            inline_put(d, text);
        break;
    default:
        inline_put(d, text);
        break;
    }
    return 0;
}

static void inline_enter_link(struct inline_draw *d, const MD_ATTRIBUTE *target)
{
    d->links++;
    if (d->links > 1)
        return;
    d->link = lines_link(d->out, str_make(target->text, target->size));
    buf_clear(&d->shown);
    buf_clear(&d->target);
    if ((!d->link || d->how->spells_links) && target->size && target->text[0] != '#')
        buf_add(&d->target, str_make(target->text, target->size)); /* md4c frees it soon */
}

static void inline_leave_link(struct inline_draw *d)
{
    struct style faint = {.role = ROLE_FAINT};
    struct str target = buf_str(&d->target);

    d->links--;
    if (d->links)
        return;
    d->link = 0;
    if (target.len && !str_ends(target, buf_str(&d->shown))) {
        lines_put(d->out, faint, d->shown.len ? STR(" (") : STR("("));
        lines_put(d->out, faint, target);
        lines_put(d->out, faint, STR(")"));
    }
    buf_clear(&d->target);
}

static int inline_enter(MD_SPANTYPE type, void *detail, void *arg)
{
    struct inline_draw *d = arg;

    switch (type) {
    case MD_SPAN_EM:
        d->em++;
        break;
    case MD_SPAN_STRONG:
        d->strong++;
        break;
    case MD_SPAN_DEL:
        d->strike++;
        break;
    case MD_SPAN_CODE:
        d->code++;
        break;
    case MD_SPAN_A:
        inline_enter_link(d, &((MD_SPAN_A_DETAIL *)detail)->href);
        break;
    case MD_SPAN_IMG:
        inline_enter_link(d, &((MD_SPAN_IMG_DETAIL *)detail)->src);
        break;
    default:
        break;
    }
    return 0;
}

static int inline_leave(MD_SPANTYPE type, void *detail, void *arg)
{
    struct inline_draw *d = arg;

    (void)detail;
    switch (type) {
    case MD_SPAN_EM:
        d->em--;
        break;
    case MD_SPAN_STRONG:
        d->strong--;
        break;
    case MD_SPAN_DEL:
        d->strike--;
        break;
    case MD_SPAN_CODE:
        d->code--;
        break;
    case MD_SPAN_A:
    case MD_SPAN_IMG:
        inline_leave_link(d);
        break;
    default:
        break;
    }
    return 0;
}

static int inline_block(MD_BLOCKTYPE type, void *detail, void *arg)
{
    (void)type;
    (void)detail;
    (void)arg;
    return 0;
}

/* Prose with hard line breaks at some width is reflowed; a shorter line was meant to end there, as
 * were lines marked so. */
static bool line_flows(struct str line)
{
    return line.len >= FLOWS && !str_ends(line, STR("  ")) && !str_ends(line, STR("\\"));
}

/* A lone tab is lost where md4c collapses white space. */
static void inline_add_words(struct buf *to, struct str words)
{
    while (words.len) {
        size_t n = str_chr(words, '\t');

        buf_add(to, str_first(words, n));
        if (n < words.len)
            buf_addc(to, ' ');
        words = str_from(words, n + 1);
    }
}

static void inline_add_part(struct buf *to, struct str part)
{
    while (part.len) {
        size_t n = guard_find(part);

        inline_add_words(to, str_first(part, n));
        if (n < part.len)
            buf_addc(to, ' ');
        part = str_from(part, n + strlen(GUARD));
    }
}

/* Where words are not parted by spaces, as in Chinese and Japanese, "**" beside a full stop or a
 * bracket neither opens nor closes by the letter of the rules, though it is meant to. The guard
 * makes it: for md4c it is white space. */
static void inline_add_strong(struct buf *to, struct str line, bool *in_strong)
{
    size_t from = 0;
    size_t i = 0;

    while (i < line.len) {
        char before = i ? line.ptr[i - 1] : ' ';
        size_t run = 0;

        while (i + run < line.len && line.ptr[i + run] == '*')
            run++;
        if (run == 2) {
            char behind = i + 2 < line.len ? line.ptr[i + 2] : ' ';

            inline_add_part(to, str_first(str_from(line, from), i - from));
            if (!*in_strong && (unsigned char)before >= 0x80)
                buf_adds(to, GUARD);
            buf_adds(to, "**");
            if (*in_strong && (unsigned char)behind >= 0x80)
                buf_adds(to, GUARD);
            *in_strong = !*in_strong;
            from = i + 2;
        }
        i += run ? run : line.ptr[i] == '\\' ? 2 : 1;
    }
    inline_add_part(to, str_from(line, from));
}

static void inline_add_line(struct buf *to, struct str line, bool is_new, bool *in_strong)
{
    char c;

    line = str_trim(line);
    c = line.len ? *line.ptr : 0;
    if (is_new && !(c >= 'a' && c <= 'z') && !(c >= 'A' && c <= 'Z'))
        buf_adds(to, GUARD);
    if (str_chr(line, '`') == line.len && str_has(line, STR("**")))
        inline_add_strong(to, line, in_strong);
    else
        inline_add_part(to, line);
}

static void inline_add_lines(struct buf *to, struct str text)
{
    bool in_strong = false;
    bool flows = false;
    struct str line;

    while (str_cut(&text, '\n', &line)) {
        if (to->len)
            buf_addc(to, flows ? ' ' : '\n');
        inline_add_line(to, line, /*is_new=*/!flows, &in_strong);
        flows = line_flows(line);
    }
}

/* Definitions of the links whose labels occur. */
static void inline_add_links(struct buf *to, struct str text, const struct markdown_link *links,
                             size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct str target = links[i].target;

        if (str_find_nocase(text, links[i].label) < text.len &&
            !memchr(target.ptr, '>', target.len))
            buf_addf(to, "\n\n[%.*s]: <%.*s>\n", STR_ARG(links[i].label), STR_ARG(target));
    }
}

static bool is_mark(struct str text, size_t at)
{
    switch (text.ptr[at]) {
    case '*':
    case '_':
    case '`':
    case '[':
    case '<':
    case '&':
    case '~':
    case '@':
    case '\\':
    case '\n':
    case '\t':
    case '\0':
        return true;
    case ' ': /* one too many is taken out */
        return at + 1 < text.len && text.ptr[at + 1] == ' ';
    case ':':
        return str_starts(str_from(text, at), STR("://"));
    case 'w':
        return str_starts(str_from(text, at), STR("www."));
    default:
        return false;
    }
}

/* Nothing in it is a mark. Most cells of tables are like that, and many lines. */
static bool text_is_plain(struct str text)
{
    for (size_t i = 0; i < text.len; i++) {
        if (is_mark(text, i))
            return false;
    }
    return true;
}

void markdown_inline_draw(struct str text, const struct markdown_inline *how, struct lines *ret)
{
    CLEANUP(buf_release) struct buf source = BUF_INIT(BUF_NO_LIMIT);
    struct inline_draw d = {
        .out = ret, .how = how, .target = BUF_INIT(BUF_NO_LIMIT), .shown = BUF_INIT(BUF_NO_LIMIT)};
    MD_PARSER parser = {
        .flags = inline_flags,
        .enter_block = inline_block,
        .leave_block = inline_block,
        .enter_span = inline_enter,
        .leave_span = inline_leave,
        .text = inline_text,
    };

    if (text_is_plain(text)) {
        lines_put(ret, how->style, str_trim(text));
        lines_end(ret);
        return;
    }
    inline_add_lines(&source, text);
    if (str_chr(text, '[') < text.len)
        inline_add_links(&source, text, how->links, how->link_count);
    if (source.len)
        md_parse(source.ptr, (MD_SIZE)source.len, &parser, &d);
    lines_end(ret);
    buf_release(&d.target);
    buf_release(&d.shown);
}
