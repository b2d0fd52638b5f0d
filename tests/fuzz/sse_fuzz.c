/*
 * Any bytes as an event stream. The first byte chooses how the rest is cut into pieces, the second
 * a size limit. Whole and in pieces it must give the same events and the same failure, and both the
 * same as a second parser, which is slow and plain and has the whole stream available.
 */
#include "net/sse.h"

#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "fuzz.h"

#define STREAM_BYTES 400 /* longer ones take longer and find nothing else */

struct record {
    struct buf text; /* "name NUL data NUL NUL" of each event */
    bool failed;
};

static void record_event(struct record *r, struct str name, struct str data)
{
    buf_add(&r->text, name);
    buf_addc(&r->text, '\0');
    buf_add(&r->text, data);
    buf_add(&r->text, STR("\0\0"));
}

static int on_event(struct str name, struct str data, void *arg, struct err *err)
{
    (void)err;
    record_event(arg, name, data);
    return 0;
}

static void record_init(struct record *r)
{
    *r = (struct record){.text = BUF_INIT(BUF_NO_LIMIT)};
}

/* Pieces of 1 to 32 bytes, by a small generator, from a place that is overwritten after each: a
 * slice of it kept too long shows other bytes. Seed 0 feeds all at once. */
static void parse_pieces(struct str stream, unsigned seed, size_t max_bytes, struct record *r)
{
    struct sse *s = sse_new(max_bytes, on_event, r);
    struct err err = {0};
    char piece[32];
    int result = 0;

    if (!seed) {
        result = sse_feed(s, stream, &err);
        stream = STR("");
    }
    while (stream.len && result == 0) {
        size_t len;

        seed = seed * 1103515245u + 12345u;
        len = (seed >> 16) % sizeof(piece) + 1;
        len = len < stream.len ? len : stream.len;
        memcpy(piece, stream.ptr, len);
        result = sse_feed(s, str_make(piece, len), &err);
        memset(piece, '#', sizeof(piece));
        stream = str_from(stream, len);
    }
    if (result == 0)
        result = sse_end(s, &err);
    r->failed = result < 0;
    FUZZ_CHECK(result == 0 || err.code == ERR_TOO_BIG);
    sse_free(s);
}

/* The plain one: takes one line after the other off the stream. */
struct plain {
    struct buf name;
    struct buf data;
    bool has_data;
    size_t used;
};

static void plain_deliver(struct plain *p, struct record *r)
{
    if (p->has_data)
        record_event(r, buf_str(&p->name), str_first(buf_str(&p->data), p->data.len - 1));
    buf_clear(&p->name);
    buf_clear(&p->data);
    p->has_data = false;
    p->used = 0;
}

static void plain_line(struct plain *p, struct str line, struct record *r)
{
    struct str value = STR("");
    struct str field = line;

    if (!line.len) {
        plain_deliver(p, r);
        return;
    }
    for (size_t i = 0; i < line.len; i++) {
        if (line.ptr[i] == ':') {
            field = str_first(line, i);
            value = str_from(line, i + 1);
            break;
        }
    }
    if (value.len && value.ptr[0] == ' ')
        value = str_from(value, 1);
    if (str_is(field, "data")) {
        buf_add(&p->data, value);
        buf_addc(&p->data, '\n');
        p->has_data = true;
    } else if (str_is(field, "event")) {
        buf_clear(&p->name);
        buf_add(&p->name, value);
    }
}

static void parse_plainly(struct str stream, size_t max_bytes, struct record *r)
{
    struct plain p = {.name = BUF_INIT(BUF_NO_LIMIT), .data = BUF_INIT(BUF_NO_LIMIT)};
    size_t start = 0;
    bool first = true;

    while (start < stream.len && !r->failed) {
        size_t end = start;
        size_t next;
        struct str line;
        size_t counted;

        while (end < stream.len && stream.ptr[end] != '\n' && stream.ptr[end] != '\r')
            end++;
        next = end + 1;
        if (end + 1 < stream.len && stream.ptr[end] == '\r' && stream.ptr[end + 1] == '\n')
            next++;
        line = str_first(str_from(stream, start), end - start);
        counted = line.len;
        if (counted > max_bytes - p.used) {
            r->failed = true;
            break;
        }
        if (first && str_starts(line, STR("\xef\xbb\xbf")))
            line = str_from(line, 3);
        first = false;
        plain_line(&p, line, r);
        if (str_is(line, "data") || str_is(line, "event") || str_starts(line, STR("data:")) ||
            str_starts(line, STR("event:")))
            p.used += counted;
        start = next;
    }
    if (!r->failed)
        plain_deliver(&p, r);
    buf_release(&p.name);
    buf_release(&p.data);
}

static void check_same(const struct record *a, const struct record *b)
{
    FUZZ_CHECK(a->failed == b->failed);
    FUZZ_CHECK(str_eq(buf_str(&a->text), buf_str(&b->text)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct record whole;
    struct record pieces;
    struct record plain;
    struct str stream;
    size_t max_bytes;

    if (size < 2)
        return 0;
    stream = str_first(str_make((const char *)data + 2, size - 2), STREAM_BYTES);
    max_bytes = data[1] < 128 ? data[1] : 100000;
    record_init(&whole);
    record_init(&pieces);
    record_init(&plain);
    parse_pieces(stream, 0, max_bytes, &whole);
    parse_pieces(stream, data[0] + 1u, max_bytes, &pieces);
    parse_plainly(stream, max_bytes, &plain);
    check_same(&whole, &pieces);
    check_same(&whole, &plain);
    buf_release(&whole.text);
    buf_release(&pieces.text);
    buf_release(&plain.text);
    return 0;
}
