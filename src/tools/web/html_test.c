/*
 * Pages, proper and not, and the markdown they become; entities, addresses and encodings.
 */
#include "tools/web/html.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/clock.h"
#include "tools/web/charset.h"
#include "unit.h"

#define BASE "https://e.org/a/b.html"

static const struct {
    const char *html;
    const char *want;
} page_cases[] = {
    {"", ""},
    {"just text", "just text"},
    {"  a \n\t b  ", "a b"},
    {"<p>one</p><p>two", "one\n\ntwo"},
    {"<div><div>a</div></div><div>b</div>", "a\nb"},
    {"a<br>b<br/>c", "a\nb\nc"},
    {"a<hr>b", "a\n\n---\n\nb"},
    {"<h1>A</h1><h3> B <b>c</b></h3>d", "# A\n\n### B **c**\n\nd"},
    {"<h2><div>A</div><div>B</div></h2>c", "## A B\n\nc"},
    {"<h2>open<p>text", "## open\n\ntext"},
    {"<h2></h2>x", "x"},
    {"<h2>Title<a href=\"#t\">\xc2\xb6</a></h2>", "## Title"},
    {"<p>a <b>b</b>, <i>c</i> <s>d</s> <code>e</code>.", "a **b**, *c* ~~d~~ `e`."},
    {"a<b> b </b>c", "a **b** c"},
    {"<b></b><i> </i>x", "x"},
    {"<b>one<p>two</b>", "one\n\ntwo"},
    {"<code>a`b</code>", "`` a`b ``"},
    {"<b><i>x</b>y</i>", "***x***y"},
    {"see <a href=\"x.html\">the page</a>.", "see [the page](https://e.org/a/x.html)."},
    {"<a href=/x?a=1&amp;b=2>q</a>", "[q](https://e.org/x?a=1&b=2)"},
    {"<a href='//o.org/y'>o</a>", "[o](https://o.org/y)"},
    {"<a href=\"javascript:go()\">go</a> <a href=\"#top\">top</a> <a name=x>n</a>", "go top n"},
    {"<a href=\"https://e.org/z\">https://e.org/z</a>", "https://e.org/z"},
    {"<a href=u><p>a</p><p>b</p></a>", "a\n\nb (https://e.org/a/u)"},
    {"<a href=u></a>x", "x"},
    {"<a href=u>a<a href=v>b</a>", "[a](https://e.org/a/u)[b](https://e.org/a/v)"},
    {"<img src=i.png alt='A &amp; B'><img src=j.png>", "![A & B](https://e.org/a/i.png)"},
    {"<img src='data:image/png;base64,xx' alt=pic>x", "x"},
    {"<base href='https://o.org/d/'><a href=x>y</a>", "[y](https://o.org/d/x)"},
    {"a<ul><li>b<li>c</ul>d", "a\n\n- b\n- c\n\nd"},
    {"<ol start=3><li><p>a</p></li><li><p>b</p><p>c</p></li></ol>", "3. a\n4. b\n\n   c"},
    {"<ul><li>a<ol><li>b</li><li>c</li></ol></li><li>d</li></ul>", "- a\n  1. b\n  2. c\n- d"},
    {"<ul><li></li><li>x</ul>", "- x"},
    {"<li>alone", "- alone"},
    {"</ul></p></b></table>x", "x"},
    {"<dl><dt>a<dd>b<dt>c<dd><p>d</p></dl>", "a\n: b\nc\n: d"},
    {"a<blockquote><p>b</p><p>c</p></blockquote>d", "a\n\n> b\n>\n> c\n\nd"},
    {"<blockquote>a<blockquote>b</blockquote></blockquote>", "> a\n>\n> > b"},
    {"<pre>\n  a\n\n  b &lt; c\n</pre>x", "```\n  a\n\n  b < c\n```\n\nx"},
    {"<pre><code class=\"x language-c++\">int <b>x</b>;</code></pre>", "```c++\nint x;\n```"},
    {"<pre>a```b</pre>", "````\na```b\n````"},
    {"<pre>a<br>b", "```\na\nb\n```"},
    {"<ul><li>x<pre>a\nb</pre></ul>", "- x\n\n  ```\n  a\n  b\n  ```"},
    {"<pre>  \n </pre>y", "y"},
    {"<table><tr><th>a</th><th>b|c</th></tr><tr><td>1<br>2</td><td></td></tr></table>x",
     "| a | b\\|c |\n|---|---|\n| 1 2 |  |\n\nx"},
    {"t<table><caption>c</caption><tr><td>a<td>b<tr><td>c<td>d</table>",
     "t\n\nc\n| a | b |\n|---|---|\n| c | d |"},
    {"<table><tr><td>left<td><table><tr><td>x<td>y</table></table>",
     "| left\n\n| x | y |\n|---|---|"},
    {"<table><tr><td><table><tr><td>x<td>y</table>z</table>", "| x | y |\n|---|---|\n\nz"},
    {"<table><tr><td><pre>1\n2</pre></table>", "```\n1\n2\n```"},
    {"<td>no table</td>", "no table"},
    {"<script>if (a</b>c) '<p>'</script >x<style>p{}</style>y", "xy"},
    {"a<!-- <p>b --> c<!doctype html><?php x ?>d<![CDATA[e]]>f", "a cdf"},
    {"<nav>menu<nav>x</nav></nav>text", "text"},
    {"text<svg><title>t</title><path></svg><button>b</button><select><option>o</select>", "text"},
    {"<div hidden>h</div><span aria-hidden=\"true\">s<span>t</span></span>x", "x"},
    {"<nav>never closed<p>all there is", "never closed\n\nall there is"},
    {"<body hidden>x", "x"},
    {"a < b && c > d <3 </ x>", "a < b && c > d <3"},
    {"a<b", "a"},
    {"<p class=\"unclosed", ""},
    {"<P CLASS=x>A</P><BR>B", "A\n\nB"},
    {"x&nbsp;y&shy;z&zwnj;", "x yz\xe2\x80\x8c"},
    {"a\x01\x7f"
     "b\xe2\x80\x8b"
     "c",
     "abc"},
};

static void pages(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(page_cases); i++) {
        CLEANUP(buf_release) struct buf out = BUF_INIT(1 << 20);

        html_to_markdown(str_of(page_cases[i].html), STR(BASE), &out, /*ret_title=*/NULL);
        if (!str_is(buf_str(&out), page_cases[i].want))
            fail_msg("%s\ngives\n%s\nnot\n%s", page_cases[i].html, buf_cstr(&out),
                     page_cases[i].want);
    }
}

static void main_part_and_title(void **state)
{
    CLEANUP(buf_release) struct buf page = BUF_INIT(1 << 20);
    CLEANUP(buf_release) struct buf out = BUF_INIT(1 << 20);
    CLEANUP(buf_release) struct buf title = BUF_INIT(1 << 20);

    (void)state;
    buf_adds(
        &page,
        "<head><title> A &amp;\n B </title><title>C</title></head><div>side</div><main><h1>M</h1>");
    for (int i = 0; i < 100; i++)
        buf_adds(&page, "<p>words</p>");
    buf_adds(&page, "</main><footer>foot</footer>");
    buf_adds(&out, "before");
    html_to_markdown(buf_str(&page), STR(BASE), &out, &title);
    assert_string_equal(buf_cstr(&title), "A & B");
    assert_true(str_starts(buf_str(&out), STR("before# M\n\nwords\n\nwords")));
    assert_true(str_ends(buf_str(&out), STR("words")));
    assert_false(str_has(buf_str(&out), STR("side")));

    /* One with nothing in it does not count. */
    buf_clear(&out);
    html_to_markdown(STR("a<main>b</main>c"), STR(BASE), &out, NULL);
    assert_string_equal(buf_cstr(&out), "a\n\nb\n\nc");
}

/* Each of these, repeated, once made some converter take forever or fall over. */
static void hostile(void **state)
{
    static const char *const pieces[] = {
        "<div>",
        "<ul><li>",
        "<blockquote>",
        "<b>",
        "<a href=x>",
        "<table><tr><td>",
        "<pre>",
        "<",
        "<!--",
        "<title",
        "<title>",
        "&",
        "&#",
        "<a href=\"",
        "</b>",
        "<p><b>x</b>",
        "<h1>",
        "<td>x",
        "<table><tr><td>a<td>b</table>",
        "<script>",
        "<nav>",
        "<b>x<i>y</b>",
        "`",
        "<code>`",
        "<ul></ol>",
        "</li>",
        "<dd>",
        "<main>",
        "</main>",
        "<a href='?'>y</a>",
    };
    CLEANUP(buf_release) struct buf page = BUF_INIT(64 << 20);
    int64_t start_ms;

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(pieces); i++) {
        CLEANUP(buf_release) struct buf out = BUF_INIT(4 << 20);

        buf_clear(&page);
        for (int k = 0; k < 100 * 1000; k++)
            buf_adds(&page, pieces[i]);
        buf_adds(&page, "end");
        start_ms = clock_mono_ms();
        html_to_markdown(buf_str(&page), STR(BASE), &out, NULL);
        print_message("%lld ms: %s\n", (long long)(clock_mono_ms() - start_ms), pieces[i]);
        assert_true(out.len <= (4 << 20));
    }
}

static const struct {
    const char *text;
    const char *want; /* NULL: none */
    size_t used;
} entity_cases[] = {
    {"&amp;", "&", 5},
    {"&amp", "&", 4},
    {"&lt=", "<", 3},
    {"&eacute;", "\xc3\xa9", 8},
    {"&eacute", NULL, 0},
    {"&nope;", NULL, 0},
    {"&#65;x", "A", 5},
    {"&#x41;", "A", 6},
    {"&#X41", "A", 5},
    {"&#128;", "\xe2\x82\xac", 6},
    {"&#0;", "\xef\xbf\xbd", 4},
    {"&#xD800;", "\xef\xbf\xbd", 8},
    {"&#99999999999;", "\xef\xbf\xbd", 14},
    {"&#;", NULL, 0},
    {"&#x;", NULL, 0},
    {"&;", NULL, 0},
    {"& a", NULL, 0},
    {"&mdash;", "\xe2\x80\x94", 7},
    {"&yuml;", "\xc3\xbf", 6},
    {"&frac34;", "\xc2\xbe", 8},
    {"&Upsilon;", "\xce\xa5", 9},
};

static void entities(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(entity_cases); i++) {
        char out[8];
        size_t len = 0;
        size_t used = html_entity(str_of(entity_cases[i].text), out, &len);

        if (used != entity_cases[i].used ||
            (used && !str_is(str_make(out, len), entity_cases[i].want)))
            fail_msg("%s: %zu bytes", entity_cases[i].text, used);
    }
}

static const struct {
    const char *base;
    const char *link;
    const char *want;
} address_cases[] = {
    {BASE, "c", "https://e.org/a/c"},
    {BASE, "./c/./d", "https://e.org/a/c/d"},
    {BASE, "../c", "https://e.org/c"},
    {BASE, "../../../c", "https://e.org/c"},
    {BASE, "c/../d/", "https://e.org/a/d/"},
    {BASE, "..", "https://e.org/"},
    {BASE, ".", "https://e.org/a/"},
    {BASE, "/", "https://e.org/"},
    {BASE, "/x/../y", "https://e.org/y"},
    {BASE, "?q=a/../b", "https://e.org/a/b.html?q=a/../b"},
    {BASE, "c?q#f", "https://e.org/a/c?q#f"},
    {BASE, "#f", BASE "#f"},
    {BASE, "", BASE},
    {BASE, "//o.org", "https://o.org"},
    {BASE, "http://o.org/x", "http://o.org/x"},
    {BASE, "mailto:a@b.c", "mailto:a@b.c"},
    {BASE, " c ", "https://e.org/a/c"},
    {"https://e.org", "c", "https://e.org/c"},
    {"https://e.org?x=/y/", "c", "https://e.org/c"},
    {"https://e.org/a/?x#y/z", "c", "https://e.org/a/c"},
    {"", "c", "c"},
};

static void addresses(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(address_cases); i++) {
        CLEANUP(buf_release) struct buf out = BUF_INIT(1000);

        html_resolve(str_of(address_cases[i].base), str_of(address_cases[i].link), &out);
        if (!str_is(buf_str(&out), address_cases[i].want))
            fail_msg("%s at %s: %s", address_cases[i].link, address_cases[i].base, buf_cstr(&out));
    }
}

static const struct {
    struct str bytes;
    const char *label;
    bool is_html;
    bool known;
    const char *want;
} charset_cases[] = {
    {STR_INIT("caf\xc3\xa9"), "", false, true, "caf\xc3\xa9"},
    {STR_INIT("caf\xe9 \x80"), "", false, true, "caf\xc3\xa9 \xe2\x82\xac"},
    {STR_INIT("caf\xe9"), "ISO-8859-1", false, true, "caf\xc3\xa9"},
    {STR_INIT("caf\xe9"), "utf-8", false, true, "caf\xef\xbf\xbd"},
    {STR_INIT("\x81"), "windows-1252", false, true, "\xef\xbf\xbd"},
    {STR_INIT("\xef\xbb\xbf"
              "a"),
     "latin1", false, true, "a"},
    {STR_INIT("\xff\xfe"
              "a\0\x3d\xd8\x00\xde"),
     "", false, true, "a\xf0\x9f\x98\x80"},
    {STR_INIT("\xfe\xff\0a\xd8\x3d"), "", false, true, "a\xef\xbf\xbd"},
    {STR_INIT("a\0b"), "utf-16le", false, true, "a\xef\xbf\xbd"},
    {STR_INIT("\0a"), "utf-16be", false, true, "a"},
    {STR_INIT("<meta charset=latin1>\xe9"), "", true, true, "<meta charset=latin1>\xc3\xa9"},
    {STR_INIT("<meta x><meta content='a; charset=utf-16'>\xc3\xa9"), "", true, true,
     "<meta x><meta content='a; charset=utf-16'>\xc3\xa9"},
    {STR_INIT("<meta charset=latin1>\xc3\xa9"), "", false, true, "<meta charset=latin1>\xc3\xa9"},
    {STR_INIT("a\x82"), "shift_jis", false, true, "a\xef\xbf\xbd"},
    {STR_INIT("\x93\xfa\x96\x7b"), "Shift_JIS", false, true, "\xe6\x97\xa5\xe6\x9c\xac"},
    {STR_INIT("\x82\x20x\x82\xa0"), "x-sjis", false, true, "\xef\xbf\xbd x\xe3\x81\x82"},
    {STR_INIT("\xc4\xe3\xba\xc3"), "gb2312", false, true, "\xe4\xbd\xa0\xe5\xa5\xbd"},
    {STR_INIT("\xc7\xd1\xb1\xdb"), "euc-kr", false, true, "\xed\x95\x9c\xea\xb8\x80"},
    {STR_INIT("\x1b$B4A\x1b(B!"), "iso-2022-jp", false, true, "\xe6\xbc\xa2!"},
    {STR_INIT("\xa7\x41"), "big5", false, true, "\xe4\xbd\xa0"},
    {STR_INIT("\xf2\xc5"), "koi8-r", false, true, "\xd0\xa0\xd0\xb5"},
    {STR_INIT("<meta charset=gbk>\xc4\xe3"), "", true, true, "<meta charset=gbk>\xe4\xbd\xa0"},
    {STR_INIT("\xb2\xe2\xca\xd4\xce\xc4"), "", false, true, "\xe6\xb5\x8b\xe8\xaf\x95\xe6\x96\x87"},
    {STR_INIT("caf\xe9"), "x-no-such", false, false, "caf\xef\xbf\xbd"},
    {STR_INIT("caf\xc3\xa9"), "utf-8//TRANSLIT", false, false, "caf\xc3\xa9"},
    {STR_INIT(""), "", true, true, ""},
};

static void charsets(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(charset_cases); i++) {
        CLEANUP(buf_release) struct buf out = BUF_INIT(1000);
        bool known = charset_to_utf8(charset_cases[i].bytes, str_of(charset_cases[i].label),
                                     charset_cases[i].is_html, &out);

        if (known != charset_cases[i].known || !str_is(buf_str(&out), charset_cases[i].want))
            fail_msg("row %zu: %d, '%s'", i, known, buf_cstr(&out));
    }
}

UNIT_TEST(html)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pages),     cmocka_unit_test(main_part_and_title),
        cmocka_unit_test(hostile),   cmocka_unit_test(entities),
        cmocka_unit_test(addresses), cmocka_unit_test(charsets),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
