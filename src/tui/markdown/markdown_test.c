/*
 * markdown: what blocks and spans look like, at several widths; that the pieces the text comes in
 * do not matter; what the tail shows of text that has only begun.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "tui/markdown/markdown.h"
#include "tui/screen/line.h"
#include "unit.h"

#define ROWS 24

struct draw_case {
    int cols;
    bool ascii;
    const char *text;
    const char *shown;
};

static const struct draw_case draw_cases[] = {
    /* paragraphs and spans */
    {80, false, "", ""},
    {80, false, "\n\n \n", ""},
    {80, false, "plain", "plain\n"},
    {80, false, "a **b** *c* `d` ~~e~~ _f_ __g__", "a b c d e f g\n"},
    {80, false, "one\ntwo  \nthree\\\nfour", "one\ntwo\nthree\nfour\n"},
    {80, false, "one\n\n\n\ntwo\n", "one\n\ntwo\n"},
    {80, false, "a\tb \t c **d\te** `f\tg`", "a b c d e f g\n"},
    {80, false, "&amp; &lt;b&gt; &copy; &#65; &nope; \\*no\\*", "& <b> © A &nope; *no*\n"},
    {80, false, "2 * 3 * 4, snake_case_name, 5*3", "2 * 3 * 4, snake_case_name, 5*3\n"},
    {80, false, "<br> a<br/>b <b>c</b>", "\na\nb <b>c</b>\n"},
    {20, false, "the quick brown fox jumps over it", "the quick brown fox\njumps over it\n"},
    {20, false, "日本語の長い文章です。これは折り返されます",
     "日本語の長い文章で\nす。これは折り返され\nます\n"},
    {80, false,
     "a line that is so long that it was broken by whoever has written it,\nand goes on. "
     "This one  \nis short.",
     "a line that is so long that it was broken by whoever has written it, and goes\non. This "
     "one\nis short.\n"},
    {80, false, "a\r\nb\r\n\r\nc\r\n", "a\nb\n\nc\n"},
    {80, false, "**注意：**これは**「引用」**です。**a** b", "注意：これは「引用」です。a b\n"},
    {80, false, "日本**", "日本**\n"},
    /* headings and rules */
    {80, false, "# One\n## Two ##\n###### Six\n####### no\n#no",
     "One\n\nTwo\n\nSix\n\n####### no\n#no\n"},
    {80, false, "One\n===\nTwo\nlines\n---\ntext", "One\n\nTwo\nlines\n\ntext\n"},
    {20, false, "a\n\n***\n- - -\nb", "a\n\n────────────────────\n\n────────────────────\n\nb\n"},
    {20, true, "a\n\n___", "a\n\n--------------------\n"},
    /* links */
    {80, false, "[text](https://x.y) <https://a.b> www.c.d ![alt](http://p.q/r.png)",
     "text https://a.b www.c.d alt\n"},
    {80, false, "[the file](src/a.c:3) [src/b.c](src/b.c) [top](#top)",
     "the file (src/a.c:3) src/b.c top\n"},
    {80, false, "[a]: https://x.y 'Title'\n[b]: <https://z.w>\nsee [a], [text][B], [c]",
     "see a, text, [c]\n"},
    /* not known then, so it is shown; and known from there on */
    {80, false, "see [a]\n\n[a]: https://x.y", "see [a]\n\n[a]: https://x.y\n"},
    {80, false, "see [b][1]\n\n[1]: https://x.y 'T'\n[2]: <https://z.w>\n\nand [c][1]",
     "see [b][1]\n\n[1]: https://x.y 'T'\n[2]: https://z.w\n\nand c\n"},
    {80, false, "- see [a]\n\n[a]: x.md\ntext", "• see [a]\n\n[a]: x.md\ntext\n"},
    {80, false, "[^1]: a footnote", "[^1]: a footnote\n"},
    /* lists */
    {80, false, "- a\n- b\n  - c\n    - d\n- e", "• a\n• b\n  ◦ c\n    ▪ d\n• e\n"},
    {80, true, "- a\n  * b\n    + c", "- a\n  - b\n    - c\n"},
    {80, false, "- a\n\n- b\n\n  more of b\n\nafter", "• a\n\n• b\n\n  more of b\n\nafter\n"},
    {80, false, "1. a\n1. b\n1. c\n", "1. a\n2. b\n3. c\n"},
    {80, false, "3) a\n4) b\n7) c\n", "3) a\n4) b\n7) c\n"},
    {80, false, "1. a\n   - b\n   - c\n2. d", "1. a\n   ◦ b\n   ◦ c\n2. d\n"},
    {80, false, "- [ ] a\n- [x] b\n- [X] c\n- [y] d", "☐ a\n☑ b\n☑ c\n• [y] d\n"},
    {80, true, "- [ ] a\n- [x] b", "[ ] a\n[x] b\n"},
    {80, false, "text:\n- a\n- b\ntext", "text:\n• a\n• b\n  text\n"},
    {80, false, "in the year\n1999. It was", "in the year\n1999. It was\n"},
    {80, false, "-\n- a\n-\n\n  b", "•\n• a\n•\n\nb\n"},
    {80, false, "-one\n+two\n1.three", "-one\n+two\n1.three\n"},
    {20, false, "- the quick brown fox jumps", "• the quick brown\n  fox jumps\n"},
    {20, false, "100. the quick brown fox jumps", "100. the quick brown\n     fox jumps\n"},
    {20, false,
     "- a\n  - b\n    - c\n      - d\n        - e\n          - f\n            - g h i j k l",
     "• a\n  ◦ b\n    ▪ c\n      • d\n        ◦ e\n        ▪ f\n        • g h i j k\n          "
     "l\n"},
    {80, false, "- > a\n  > b\n- # c", "• │ a\n  │ b\n• c\n"},
    /* quotes */
    {80, false, "> a\n> b\n>\n> c\nlazy\n\nafter", "│ a\n│ b\n│\n│ c\n│ lazy\n\nafter\n"},
    {80, true, "> a\n>> b\n> - c", "| a\n| | b\n| - c\n"},
    {80, false, "> a\n\n> b", "│ a\n\n│ b\n"},
    /* code */
    {80, false, "```c\nint x;\n\n\ty();\n```\nafter", "  c\n  int x;\n\n          y();\n\nafter\n"},
    {20, false, "```\n0123456789012345678901234\n```", "01234567890123456789\n01234\n"},
    {80, false, "~~~\n```\n~~~", "  ```\n"},
    {80, false, "````\n```\n````", "  ```\n"},
    {80, false, "- a\n  ```sh\n  ls\n    -l\n  ```\n- b", "• a\n    sh\n    ls\n      -l\n• b\n"},
    {80, false, "- ```\n  x\n  ```", "•   x\n"},
    {80, false, "> ```\n> x\n> ```", "│   x\n"},
    {80, false, "> ```\n> x\ny", "│   x\n\ny\n"},
    {80, false, "```\nopen", "  open\n"},
    {80, false, "a\n\n    b\n\n      c\n\nd", "a\n\n  b\n\n    c\n\nd\n"},
    {80, false, "``` a`b\nc", "``` a`b\nc\n"},
    /* tables */
    {80, false, "| a | b |\n|---|--:|\n| 1 | 2 |\n| 日本 | **x** |\nafter",
     "┌───────┬───┐\n│ a     │ b │\n├───────┼───┤\n│ 1     │ 2 │\n│ 日本  │ x │\n│ after │   │\n"
     "└───────┴───┘\n"},
    {80, true, "a|b\n:-:|-\nlong cell|`x|y`\\|z\n\nafter",
     "+-----------+-------+\n|     a     | b     |\n+-----------+-------+\n| long cell | x|y|z "
     "|\n+-----------+-------+\n\nafter\n"},
    {80, false, "| a |\n| - | - |", "| a |\n| - | - |\n"},
    {80, false, "text\n| a |\n|---|", "text\n\n┌───┐\n│ a │\n└───┘\n"},
    {30, false, "|name|what it does|\n|-|-|\n|x|it has many words in it|\n|y|few|",
     "┌──────┬─────────────────────┐\n│ name │ what it does        │\n├──────┼──────────────"
     "───────┤\n│ x    │ it has many words   │\n│      │ in it               │\n├──────┼───────"
     "──────────────┤\n│ y    │ few                 │\n└──────┴─────────────────────┘\n"},
    {20, false, "|name|description|remark|\n|-|-|-|\n|x|it has many words|no|\n|y|few||",
     "name: x\ndescription: it has\n  many words\nremark: no\n────────\nname: y\ndescription: "
     "few\n"},
    {80, false, "|a|b|\n|-|-|\n|1<br>2|3|",
     "┌───┬───┐\n│ a │ b │\n├───┼───┤\n│ 1 │ 3 │\n│ 2 │   │\n└───┴───┘\n"},
    {80, false, "| | |\n|-|-|\n|1|2|", "┌───┬───┐\n│ 1 │ 2 │\n└───┴───┘\n"},
    /* html */
    {80, false, "<details>\n<summary>a *b*</summary>\n\ntext",
     "<details>\n<summary>a *b*</summary>\n\ntext\n"},
    {80, false, "<!-- a\n\nb -->\nc", "<!-- a\n\nb -->\nc\n"},
    /* hostile text */
    {80, false, "a\x1b[31mb\x1b]0;x\x07 \xff \xe2\x80\xae", "ab \ufffd \ufffd\n"},
    {80, false, ">>>>>>>>>>>> x", "│ │ │ │ │ │ │ │ >>>> x\n"},
};

static void show(struct str text, int cols, bool ascii, struct buf *ret)
{
    CLEANUP(lines_release) struct lines out = LINES_INIT;
    struct markdown_spec spec = {.ascii = ascii};

    markdown_draw(text, &spec, cols, &out);
    lines_text(&out, ret);
}

static void blocks_and_spans(void **state)
{
    bool failed = false;

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(draw_cases); i++) {
        const struct draw_case *c = &draw_cases[i];
        CLEANUP(buf_release) struct buf out = BUF_INIT(BUF_NO_LIMIT);

        show(str_of(c->text), c->cols, c->ascii, &out);
        if (strcmp(buf_cstr(&out), c->shown) != 0) {
            print_error("row %zu at %d columns: %s\n--- shown\n%s--- expected\n%s---\n", i, c->cols,
                        c->text, buf_cstr(&out), c->shown);
            failed = true;
        }
    }
    assert_false(failed);
}

/* Something of everything. */
static const char document[] =
    "# Heading with `code`\n\nA paragraph with **bold\nover lines**, [a link](https://x.y/z) and\n"
    "https://bare.example, 日本語 and é.\n\n- item one\n- item *two*\n  1. nested\n  2. more\n\n"
    "     with a paragraph\n- [x] task\n  ```rust\n  fn main() { /* open\n\n  still */ let x = "
    "'a'; }\n"
    "  ```\n\n> quote\n> ```\n> code\n> ```\nlazy\n\n| a | b |\n|:-:|--|\n| 1 | two words |\n| 3 |"
    " 4 |\n\nSetext\nheading\n===\n\n    indented\n\n    code\n\n<div>\nhtml\n</div>\n\n[ref]: "
    "https://r.s\nuse [ref] here\n***\n~~~python\nx = '''a\nb'''\n~~~\n1. one\n1. two\n\n\ttabbed\n"
    "- \n\nend **open `mark";

static uint32_t roll(uint32_t *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return *seed >> 8;
}

static void check_rows(const struct lines *out, int cols, uint32_t seed)
{
    for (size_t i = 0; i < lines_count(out); i++) {
        if (line_width(lines_at(out, i)) > cols)
            fail_msg("seed %u: '%.*s' is wider than %d", seed, STR_ARG(lines_at(out, i).text),
                     cols);
    }
}

/* Text in random pieces, taken and looked at whenever. */
static void stream(struct str text, const struct markdown_spec *spec, int cols, uint32_t seed,
                   uint32_t step, struct lines *ret)
{
    struct markdown *m = markdown_new(spec);

    while (text.len) {
        size_t n = 1 + roll(&seed) % step;

        markdown_add(m, str_first(text, n));
        text = str_from(text, n);
        if (roll(&seed) % 3 == 0)
            markdown_take(m, cols, ROWS, ret);
        if (roll(&seed) % 3 == 0) {
            CLEANUP(lines_release) struct lines tail = LINES_INIT;

            markdown_tail(m, cols, ROWS, &tail);
            check_rows(&tail, cols, seed);
            assert_true(lines_count(&tail) <= ROWS);
        }
    }
    markdown_end(m);
    markdown_take(m, cols, ROWS, ret);
    markdown_free(m);
}

static void must_be_same(const struct lines *a, const struct lines *b, uint32_t seed)
{
    if (lines_count(a) != lines_count(b))
        fail_msg("seed %u: %zu rows, %zu at once", seed, lines_count(a), lines_count(b));
    for (size_t i = 0; i < lines_count(a); i++) {
        if (!line_eq(lines_at(a, i), lines_at(b, i)))
            fail_msg("seed %u: row %zu is '%.*s', at once '%.*s'", seed, i,
                     STR_ARG(lines_at(a, i).text), STR_ARG(lines_at(b, i).text));
    }
}

static void pieces_do_not_matter(void **state)
{
    static const int widths[] = {20, 33, 80, 200};
    struct lines margin = LINES_INIT;
    struct markdown_spec spec;

    (void)state;
    lines_puts(&margin, ROLE_ACCENT, "● ");
    lines_end(&margin);
    lines_puts(&margin, ROLE_TEXT, "  ");
    lines_end(&margin);
    spec = (struct markdown_spec){.first = lines_at(&margin, 0), .rest = lines_at(&margin, 1)};
    for (uint32_t seed = 0; seed < 400; seed++) {
        int cols = widths[seed % ARRAY_LEN(widths)];
        CLEANUP(lines_release) struct lines whole = LINES_INIT;
        CLEANUP(lines_release) struct lines parts = LINES_INIT;

        markdown_draw(str_of(document), &spec, cols, &whole);
        stream(str_of(document), &spec, cols, seed, 1 + seed % 40, &parts);
        must_be_same(&parts, &whole, seed);
        check_rows(&whole, cols, seed);
        assert_true(str_starts(lines_at(&whole, 0).text, STR("● ")));
        assert_true(str_starts(lines_at(&whole, 2).text, STR("  ")));
    }
    lines_release(&margin);
}

/* Lines and paragraphs that are longer than one piece. */
static void long_ones_do_not_matter(void **state)
{
    static const char *const units[] = {
        "word ",  "x",        "日本",  "**b** ",      "`",
        "line\n", "- item\n", "> q\n", "[a](b ",      "|a|b|\n|-|-|\n",
        "* ",     "\\",       "&amp;", "```\ncode\n", "a\n\n-\n",
        "    ",   "<b>",      "\xff",  "\u1680",      "http://x.y/",
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(units); i++) {
        CLEANUP(buf_release) struct buf text = BUF_INIT(BUF_NO_LIMIT);
        CLEANUP(lines_release) struct lines whole = LINES_INIT;
        CLEANUP(lines_release) struct lines parts = LINES_INIT;
        struct markdown_spec spec = {0};

        while (text.len < 50000)
            buf_adds(&text, units[i]);
        markdown_draw(buf_str(&text), &spec, 80, &whole);
        stream(buf_str(&text), &spec, 80, (uint32_t)i, 7000, &parts);
        must_be_same(&parts, &whole, (uint32_t)i);
        check_rows(&whole, 80, (uint32_t)i);
    }
}

/* A table that is longer than the window is not waited for. */
static void long_tables_flow(void **state)
{
    struct markdown_spec spec = {0};
    struct markdown *m = markdown_new(&spec);
    CLEANUP(lines_release) struct lines out = LINES_INIT;
    size_t before;

    (void)state;
    markdown_add(m, STR("|a|b|\n|-|-|\n"));
    for (int i = 0; i < 8; i++) {
        markdown_add(m, STR("|x|y|\n"));
        markdown_take(m, 80, 12, &out);
        assert_int_equal(lines_count(&out), 0);
    }
    markdown_add(m, STR("|x|y|\n"));
    markdown_take(m, 80, 12, &out);
    assert_int_equal(lines_count(&out), 12);
    before = lines_count(&out);
    markdown_add(m, STR("|longer|z|\n"));
    markdown_take(m, 80, 12, &out);
    assert_true(lines_count(&out) > before); /* wrapped into columns that are already fixed */
    assert_int_equal(line_width(lines_at(&out, before)), 9);
    markdown_add(m, STR("\n"));
    markdown_end(m);
    markdown_take(m, 80, 12, &out);
    assert_true(str_starts(lines_at(&out, lines_count(&out) - 1).text, STR("└")));
    markdown_free(m);
}

struct tail_case {
    const char *text;
    const char *taken, *tail;
};

static const struct tail_case tail_cases[] = {
    {"a paragraph", "", "a paragraph\n"},
    {"one\n\ntw", "one\n", "\ntw\n"},
    {"some **bol", "", "some bol\n"},
    {"some **bold*", "", "some bold\n"},
    {"some **", "", "some\n"},
    {"some `cod", "", "some cod\n"},
    {"some `", "", "some\n"},
    {"a ``co`d", "", "a co`d\n"},
    {"some ~~gon", "", "some gon\n"},
    {"[text](https://x.", "", "text\n"},
    {"**a `b", "", "a b\n"},
    {"5*3 and 2 * 3", "", "5*3 and 2 * 3\n"},
    {"text\n-", "", "text\n"}, /* not a heading yet */
    {"text\n--", "", "text\n"},
    {"text\n- i", "", "text\n• i\n"},
    {"text\n- i\n", "text\n", "• i\n"},
    {"- one\n- tw", "", "• one\n• tw\n"},
    {"- one\n- two\n", "• one\n", "• two\n"},
    {"- one\n-", "", "• one\n"},
    {"1. one\n2", "", "1. one\n"},
    {"- one\n- [x", "", "• one\n"},
    {"- one\n- [x] y", "", "• one\n☑ y\n"},
    {"```c\nint x;\nint", "  c\n  int x;\n", "  int\n"},
    {"```c\nint x;\n``", "  c\n  int x;\n", ""},
    {"``", "", ""},
    {"| a | b |", "", "┌───┬───┐\n│ a │ b │\n└───┴───┘\n"},
    {"| a | b |\n|--", "", "┌───┬───┐\n│ a │ b │\n└───┴───┘\n"},
    {"| a | b |\n|-|-|\n| 1 | 2", "", "┌───┬───┐\n│ a │ b │\n├───┼───┤\n│ 1 │ 2 │\n└───┴───┘\n"},
    {"caf\xc3", "", "caf\n"},
    {"a\n\n# He", "a\n", "\nHe\n"},
};

static void tails(void **state)
{
    bool failed = false;

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(tail_cases); i++) {
        const struct tail_case *c = &tail_cases[i];
        CLEANUP(lines_release) struct lines out = LINES_INIT;
        CLEANUP(buf_release) struct buf taken = BUF_INIT(BUF_NO_LIMIT);
        CLEANUP(buf_release) struct buf tail = BUF_INIT(BUF_NO_LIMIT);
        struct markdown_spec spec = {0};
        struct markdown *m = markdown_new(&spec);

        markdown_add(m, str_of(c->text));
        markdown_take(m, 80, ROWS, &out);
        lines_text(&out, &taken);
        lines_clear(&out);
        markdown_tail(m, 80, ROWS, &out);
        lines_text(&out, &tail);
        if (strcmp(buf_cstr(&taken), c->taken) != 0 || strcmp(buf_cstr(&tail), c->tail) != 0) {
            print_error("row %zu: %s\n--- taken\n%s--- tail\n%s---\n", i, c->text, buf_cstr(&taken),
                        buf_cstr(&tail));
            failed = true;
        }
        markdown_free(m);
    }
    assert_false(failed);
}

static void tails_are_short(void **state)
{
    struct markdown_spec spec = {0};
    struct markdown *m = markdown_new(&spec);
    CLEANUP(lines_release) struct lines out = LINES_INIT;

    (void)state;
    for (int i = 0; i < 1000; i++)
        markdown_add(m, STR("many words "));
    markdown_tail(m, 20, 5, &out);
    assert_int_equal(lines_count(&out), 5);
    markdown_free(m);
}

static void links_are_spelled(void **state)
{
    CLEANUP(lines_release) struct lines out = LINES_INIT;
    CLEANUP(buf_release) struct buf text = BUF_INIT(BUF_NO_LIMIT);
    struct markdown_spec spec = {.spells_links = true};

    (void)state;
    markdown_draw(STR("[a](https://x.y/z) https://x.y www.x.y me@x.y [x.y](http://x.y)"), &spec, 80,
                  &out);
    lines_text(&out, &text);
    assert_string_equal(buf_cstr(&text), "a (https://x.y/z) https://x.y www.x.y me@x.y x.y\n");
}

struct style_case {
    const char *text;
    size_t row;
    const char *part; /* the first place where it stands has this style */
    enum style_role role;
    unsigned flags;
    const char *link;
};

static const struct style_case style_cases[] = {
    {"a **b** c", 0, "b", ROLE_TEXT, STYLE_BOLD, ""},
    {"a *b* c", 0, "b", ROLE_TEXT, STYLE_ITALIC, ""},
    {"a ***b*** c", 0, "b", ROLE_TEXT, STYLE_BOLD | STYLE_ITALIC, ""},
    {"a ~~b~~ c", 0, "b", ROLE_TEXT, STYLE_STRIKE, ""},
    {"a `b` c", 0, "b", ROLE_CODE, 0, ""},
    {"a `b` c", 0, "c", ROLE_TEXT, 0, ""},
    {"[b](https://x.y)", 0, "b", ROLE_LINK, 0, "https://x.y"},
    {"see https://x.y/z, ok", 0, "https", ROLE_LINK, 0, "https://x.y/z"},
    {"see https://x.y/z, ok", 0, "ok", ROLE_TEXT, 0, ""},
    {"www.x.org", 0, "www", ROLE_LINK, 0, "http://www.x.org"},
    {"me@x.org", 0, "me", ROLE_LINK, 0, "mailto:me@x.org"},
    {"[b](javascript:x)", 0, "b", ROLE_LINK, 0, ""},
    {"[b](src/x.c)", 0, "(", ROLE_FAINT, 0, ""},
    {"[b]: http://x.y\n[B]", 0, "B", ROLE_LINK, 0, "http://x.y"},
    {"# h *e*", 0, "h", ROLE_HEADING, STYLE_BOLD | STYLE_UNDERLINE, ""},
    {"## h", 0, "h", ROLE_HEADING, STYLE_BOLD, ""},
    {"### h", 0, "h", ROLE_HEADING, 0, ""},
    {"> q", 0, "q", ROLE_QUOTE, 0, ""},
    {"> q", 0, "│", ROLE_FAINT, 0, ""},
    {"- i", 0, "•", ROLE_FAINT, 0, ""},
    {"- [x] i", 0, "☑", ROLE_GOOD, 0, ""},
    {"|h|\n|-|\n|c|", 1, "h", ROLE_TEXT, STYLE_BOLD, ""},
    {"|h|\n|-|\n|c|", 3, "c", ROLE_TEXT, 0, ""},
    {"|h|\n|-|\n|c|", 3, "│", ROLE_FAINT, 0, ""},
    {"```c\nint x;\n```", 0, "c", ROLE_FAINT, 0, ""},
    {"```c\nint x;\n```", 1, "int", ROLE_KEYWORD, 0, ""},
    {"```c\n/*\nint x;\n```", 2, "int", ROLE_COMMENT, 0, ""},
};

static void styles(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(style_cases); i++) {
        const struct style_case *c = &style_cases[i];
        CLEANUP(lines_release) struct lines out = LINES_INIT;
        struct markdown_spec spec = {0};
        struct style style = STYLE(ROLE_TEXT);
        struct line row;
        size_t at;

        markdown_draw(str_of(c->text), &spec, 80, &out);
        assert_true(lines_count(&out) > c->row);
        row = lines_at(&out, c->row);
        at = str_find(row.text, str_of(c->part));
        if (at == row.text.len)
            fail_msg("row %zu: no '%s' in '%.*s'", i, c->part, STR_ARG(row.text));
        for (size_t n = 0; n < row.span_count && row.spans[n].from <= at; n++)
            style = row.spans[n].style;
        if (style.role != c->role || style.flags != c->flags ||
            !str_is(line_link(row, style), c->link))
            fail_msg("row %zu: '%s' has role %d, flags %d, link '%.*s'", i, c->part, style.role,
                     style.flags, STR_ARG(line_link(row, style)));
    }
}

UNIT_TEST(markdown)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_and_spans),     cmocka_unit_test(styles),
        cmocka_unit_test(links_are_spelled),    cmocka_unit_test(tails),
        cmocka_unit_test(tails_are_short),      cmocka_unit_test(long_tables_flow),
        cmocka_unit_test(pieces_do_not_matter), cmocka_unit_test(long_ones_do_not_matter),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
