/*
 * Every row is parsed whole and cut in two at each byte, in three at each pair of bytes (short
 * rows) and byte by byte: all must give the same events, written as "name|data;" with LF shown as
 * "\n".
 */
#include "net/sse.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/err.h"
#include "unit.h"

static void add_shown(struct buf *out, struct str s)
{
    for (size_t i = 0; i < s.len; i++) {
        if (s.ptr[i] == '\n')
            buf_adds(out, "\\n");
        else if (s.ptr[i] == '\0')
            buf_adds(out, "\\0");
        else
            buf_addc(out, s.ptr[i]);
    }
}

static int record(struct str name, struct str data, void *arg, struct err *err)
{
    struct buf *out = arg;

    if (str_is(data, "fail"))
        return err_set(err, ERR_PROTOCOL, "told to fail");
    add_shown(out, name);
    buf_addc(out, '|');
    add_shown(out, data);
    buf_addc(out, ';');
    return 0;
}

/* Feeds text cut at a and b; what went wrong is appended as "!CODE". */
static void parse(struct str text, size_t a, size_t b, size_t max_bytes, struct buf *out)
{
    struct str parts[] = {str_first(text, a), str_first(str_from(text, a), b - a),
                          str_from(text, b)};
    struct sse *s = sse_new(max_bytes, record, out);
    struct err err = {0};
    int r = 0;

    for (size_t i = 0; i < ARRAY_LEN(parts) && r == 0; i++)
        r = sse_feed(s, parts[i], &err);
    if (r == 0)
        r = sse_end(s, &err);
    if (r < 0)
        buf_addf(out, "!%s", err_code_name(err.code));
    sse_free(s);
}

static void parse_bytes(struct str text, size_t max_bytes, struct buf *out)
{
    struct sse *s = sse_new(max_bytes, record, out);
    struct err err = {0};
    int r = 0;

    for (size_t i = 0; i < text.len && r == 0; i++) {
        char c = text.ptr[i]; /* so that a slice kept by mistake points at a dead byte */

        r = sse_feed(s, str_make(&c, 1), &err);
        c = '#';
    }
    if (r == 0)
        r = sse_end(s, &err);
    if (r < 0)
        buf_addf(out, "!%s", err_code_name(err.code));
    sse_free(s);
}

struct sse_case {
    const char *what;
    struct str text;
    size_t max_bytes; /* 0: 1000 */
    const char *want;
};

static const struct sse_case cases[] = {
    {"empty stream", STR_INIT(""), 0, ""},
    {"one event", STR_INIT("data: hello\n\n"), 0, "|hello;"},
    {"named", STR_INIT("event: ping\ndata: {}\n\n"), 0, "ping|{};"},
    {"name behind data", STR_INIT("data: 1\nevent: e\n\n"), 0, "e|1;"},
    {"last name counts", STR_INIT("event: a\nevent: b\ndata: 1\n\n"), 0, "b|1;"},
    {"name is for one event", STR_INIT("event: a\ndata: 1\n\ndata: 2\n\n"), 0, "a|1;|2;"},
    {"name without data is dropped", STR_INIT("event: a\n\ndata: 2\n\n"), 0, "|2;"},
    {"two data lines", STR_INIT("data: YHOO\ndata: +2\ndata: 10\n\n"), 0, "|YHOO\\n+2\\n10;"},
    /* The examples of the HTML standard, section 9.2.6. */
    {"comment, data, id",
     STR_INIT(": test stream\n\ndata: first event\nid: 1\n\ndata:second event\nid\n\n"
              "data:  third event\n\n"),
     0, "|first event;|second event;| third event;"},
    {"empty data lines", STR_INIT("data\n\ndata\ndata\n\ndata:"), 0, "|;|\\n;|;"},
    {"one space goes", STR_INIT("data:test\n\ndata: test\n\n"), 0, "|test;|test;"},
    {"a tab stays", STR_INIT("data:\tx\n\n"), 0, "|\tx;"},
    {"colons in the value", STR_INIT("data: a:b: c\n\n"), 0, "|a:b: c;"},
    {"retry and unknown fields", STR_INIT("retry: 10\nfoo: bar\nfoo\nDATA: no\ndata: y\n\n"), 0,
     "|y;"},
    {"field names are exact", STR_INIT("data : x\n data: x\ndatax: x\ndat: x\n\n"), 0, ""},
    {"comments inside an event", STR_INIT("data: a\n: noise\n:\ndata: b\n\n"), 0, "|a\\nb;"},
    {"CRLF", STR_INIT("event: e\r\ndata: 1\r\n\r\ndata: 2\r\n\r\n"), 0, "e|1;|2;"},
    {"CR", STR_INIT("event: e\rdata: 1\r\rdata: 2\r\r"), 0, "e|1;|2;"},
    {"mixed line ends", STR_INIT("data: 1\r\n\ndata: 2\n\r\ndata: 3\r\r\ndata: 4\n\rdata: 5\r\n"),
     0, "|1;|2;|3;|4;|5;"},
    {"CR LF LF is two line ends", STR_INIT("data: 1\r\n\nevent: e\r\n\r\ndata: 2\n\n"), 0,
     "|1;|2;"},
    {"byte order mark",
     STR_INIT("\xef\xbb\xbf"
              "data: 1\n\n"),
     0, "|1;"},
    {"only the first one",
     STR_INIT("\xef\xbb\xbf\xef\xbb\xbf"
              "data: 1\n\ndata: 2\n\n"),
     0, "|2;"},
    {"not at a later line",
     STR_INIT("\n\xef\xbb\xbf"
              "data: 1\n\n"),
     0, ""},
    {"mark alone, then an event", STR_INIT("\xef\xbb\xbf\ndata: 1\n\n"), 0, "|1;"},
    {"half a mark",
     STR_INIT("\xef\xbb"
              "data: 1\n\n"),
     0, ""},
    {"no blank line at the end", STR_INIT("event: e\ndata: 1\n"), 0, "e|1;"},
    {"no line end at the end", STR_INIT("event: e\ndata: 1"), 0, "e|1;"},
    {"ends in a CR", STR_INIT("data: 1\r"), 0, "|1;"},
    {"ends in a comment", STR_INIT("data: 1\n\n: bye"), 0, "|1;"},
    {"blank lines", STR_INIT("\n\n\r\n\r\rdata: 1\n\n\n\n"), 0, "|1;"},
    {"NUL and invalid UTF-8 pass", STR_INIT("data: a\0b\xff\n\n"), 0, "|a\\0b\xff;"},
    {"NUL in a field name", STR_INIT("da\0ta: x\n\n"), 0, ""},
    {"callback fails", STR_INIT("data: 1\n\ndata: fail\n\ndata: 3\n\n"), 0, "|1;!PROTOCOL"},
    {"line at the limit", STR_INIT("data: 89\n\n"), 8, "|89;"},
    {"line past the limit", STR_INIT("data: 890\n\n"), 8, "!TOO_BIG"},
    {"lines add up", STR_INIT("data: 1\n\ndata: 2\ndata: 3\n\n"), 14, "|1;|2\\n3;"},
    {"lines add up to too much", STR_INIT("data: 1\n\ndata: 2\ndata: 3\n\n"), 13, "|1;!TOO_BIG"},
    {"comments do not add up", STR_INIT(":456789\n:456789\n:456789\ndata: 1\n\n"), 8, "|1;"},
    {"a long comment", STR_INIT("data: 1\n\n:234567890\n"), 9, "|1;!TOO_BIG"},
    {"a long name", STR_INIT("event: 89\n\n"), 8, "!TOO_BIG"},
    {"many names", STR_INIT("event: 8\nevent: 8\n\n"), 12, "!TOO_BIG"},
    {"unfinished and too long", STR_INIT("data: 7890"), 9, "!TOO_BIG"},
    {"the mark counts, cut or not",
     STR_INIT("\xef\xbb\xbf"
              "data: 7\n\n"),
     9, "!TOO_BIG"},
};

static void expect(const struct sse_case *c, const char *how, size_t a, size_t b,
                   const struct buf *got)
{
    if (str_eq(buf_str(got), str_of(c->want)))
        return;
    fail_msg("%s (%s, cut at %zu and %zu): got '%s', want '%s'", c->what, how, a, b, buf_cstr(got),
             c->want);
}

static void same_events_however_cut(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const struct sse_case *c = &cases[i];
        size_t max_bytes = c->max_bytes ? c->max_bytes : 1000;
        CLEANUP(buf_release) struct buf got = BUF_INIT(10000);

        parse_bytes(c->text, max_bytes, &got);
        expect(c, "bytes", 0, 0, &got);
        for (size_t a = 0; a <= c->text.len; a++) {
            for (size_t b = a; b <= c->text.len; b++) {
                buf_clear(&got);
                parse(c->text, a, b, max_bytes, &got);
                expect(c, "parts", a, b, &got);
            }
        }
    }
}

struct view {
    struct str chunk;
    int inside;
};

static int check_view(struct str name, struct str data, void *arg, struct err *err)
{
    struct view *v = arg;

    (void)name;
    (void)err;
    v->inside += data.ptr >= v->chunk.ptr && data.ptr + data.len <= v->chunk.ptr + v->chunk.len;
    return 0;
}

static void an_event_inside_one_chunk_is_not_copied(void **state)
{
    struct view v = {STR("data: half\n\nevent: e\ndata: one\n\ndata: two\n\ndata: tail"), 0};
    struct sse *s = sse_new(100, check_view, &v);

    (void)state;
    assert_int_equal(sse_feed(s, STR("event: x\n"), NULL), 0);
    assert_int_equal(sse_feed(s, v.chunk, NULL), 0);
    assert_int_equal(v.inside, 3);
    sse_free(s);
    sse_free(NULL);
}

static int add_len(struct str name, struct str data, void *arg, struct err *err)
{
    (void)name;
    (void)err;
    *(size_t *)arg += data.len;
    return 0;
}

/* CR-only and LF-only text of some size, whole: a search that starts over on each line would take
 * minutes here. */
static void long_streams_take_linear_time(void **state)
{
    static const char eols[] = {'\n', '\r'};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(eols); i++) {
        CLEANUP(buf_release) struct buf text = BUF_INIT(BUF_NO_LIMIT);
        size_t got = 0;
        struct sse *s = sse_new(1000, add_len, &got);

        for (int n = 0; n < 400000; n++)
            buf_addf(&text, "data: 1234567%c%c", eols[i], eols[i]);
        assert_int_equal(sse_feed(s, buf_str(&text), NULL), 0);
        assert_int_equal(got, 400000 * 7);
        sse_free(s);
    }
}

UNIT_TEST(sse)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_events_however_cut),
        cmocka_unit_test(an_event_inside_one_chunk_is_not_copied),
        cmocka_unit_test(long_streams_take_linear_time),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
