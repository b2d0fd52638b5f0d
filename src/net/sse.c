/*
 * Server-sent events. An event that lies in one chunk is delivered as slices of that chunk; only
 * data that must outlive the chunk (an unfinished line, the fields of an unfinished event) is
 * copied. The size limit counts lines, never chunks, so that the same bytes give the same events
 * and the same failure however they are cut. Runs on the caller's thread.
 */
#include "net/sse.h"

#include "base/buf.h"
#include "base/err.h"

#define SSE_MAX_ID ((size_t)1024)

struct sse {
    sse_event_fn fn;
    void *arg;
    size_t max_bytes;

    size_t used;          /* bytes of the current event's field lines so far */
    struct str name;      /* of the current event: a slice of the chunk, of tail or of kept_name */
    struct str data;      /* likewise */
    bool has_data;        /* an empty data line is data, too */
    struct buf kept_name; /* where name and data move when their chunk goes away */
    struct buf kept_data;

    struct buf tail; /* the start of a line whose end has not arrived */
    struct buf last_id;
    int64_t retry_ms;
    bool any_line; /* a byte order mark may stand before the first line only */
    bool after_cr; /* an LF right now belongs to the CR before it */
};

/* Finds line ends. It remembers both searches, so that a stream that uses only one kind is not
 * searched to its end for the other kind again on every line. */
struct eol {
    const char *lf;
    const char *cr;
};

static const char *eol_search(const char *at, const char *end, char c)
{
    const char *found = memchr(at, c, (size_t)(end - at));

    return found ? found : end;
}

static const char *eol_next(struct eol *e, const char *at, const char *end)
{
    if (!e->lf || e->lf < at)
        e->lf = eol_search(at, end, '\n');
    if (!e->cr || e->cr < at)
        e->cr = eol_search(at, end, '\r');
    return e->lf < e->cr ? e->lf : e->cr;
}

struct sse *sse_new(size_t max_bytes, sse_event_fn fn, void *arg)
{
    struct sse *s = mem_zalloc(sizeof(*s));

    s->fn = fn;
    s->arg = arg;
    s->max_bytes = max_bytes;
    buf_init(&s->kept_name, BUF_NO_LIMIT); /* sse_check() bounds all three */
    buf_init(&s->kept_data, BUF_NO_LIMIT);
    buf_init(&s->tail, BUF_NO_LIMIT);
    buf_init(&s->last_id, SSE_MAX_ID);
    s->retry_ms = -1;
    return s;
}

void sse_free(struct sse *s)
{
    if (!s)
        return;
    buf_release(&s->kept_name);
    buf_release(&s->kept_data);
    buf_release(&s->tail);
    buf_release(&s->last_id);
    free(s);
}

static int sse_check(const struct sse *s, size_t line_len, struct err *err)
{
    if (line_len <= s->max_bytes - s->used)
        return 0;
    return err_set(err, ERR_TOO_BIG, "an event of the stream is longer than %zu bytes",
                   s->max_bytes);
}

static void sse_keep(struct buf *kept, struct str *view)
{
    if (view->ptr == kept->ptr)
        return;
    buf_clear(kept);
    buf_add(kept, *view);
    *view = buf_str(kept);
}

static void sse_add_data(struct sse *s, struct str value)
{
    if (!s->has_data) {
        s->has_data = true;
        s->data = value;
        return;
    }
    sse_keep(&s->kept_data, &s->data);
    buf_addc(&s->kept_data, '\n');
    buf_add(&s->kept_data, value);
    s->data = buf_str(&s->kept_data);
}

static int sse_deliver(struct sse *s, struct err *err)
{
    struct str name = s->name;
    struct str data = s->data;
    bool has_data = s->has_data;

    s->used = 0;
    s->name = STR("");
    s->data = STR("");
    s->has_data = false;
    return has_data ? s->fn(name, data, s->arg, err) : 0;
}

/* Where a reconnect begins, and when. */
static int sse_keep_place(struct sse *s, struct str field, struct str value)
{
    int64_t ms;

    if (str_is(field, "id") && str_chr(value, '\0') == value.len) {
        buf_clear(&s->last_id);
        buf_add(&s->last_id, value);
    } else if (str_is(field, "retry") && str_to_i64(value, &ms, NULL) == 0 && ms >= 0) {
        s->retry_ms = ms;
    }
    return 0;
}

static int sse_line(struct sse *s, struct str line, struct err *err)
{
    size_t line_len = line.len;
    struct str field;
    struct str value;

    if (sse_check(s, line_len, err) < 0)
        return -1;
    if (!s->any_line && str_starts(line, STR("\xef\xbb\xbf")))
        line = str_from(line, 3);
    s->any_line = true;
    if (!line.len)
        return sse_deliver(s, err);

    field = str_first(line, str_chr(line, ':')); /* a comment is a line with an empty field */
    value = str_from(line, field.len + 1);
    if (value.len && value.ptr[0] == ' ')
        value = str_from(value, 1);
    if (str_is(field, "data"))
        sse_add_data(s, value);
    else if (str_is(field, "event"))
        s->name = value;
    else
        return sse_keep_place(s, field, value);
    s->used += line_len;
    return 0;
}

int sse_feed(struct sse *s, struct str bytes, struct err *err)
{
    const char *at = bytes.ptr;
    const char *end;
    struct eol eol = {0};

    if (!bytes.len)
        return 0;
    end = at + bytes.len;
    while (at < end) {
        const char *stop;
        struct str line;

        if (s->after_cr) {
            s->after_cr = false;
            if (*at == '\n') {
                at++;
                continue;
            }
        }
        stop = eol_next(&eol, at, end);
        line = str_make(at, (size_t)(stop - at));
        if (stop == end)
            break;
        if (at == bytes.ptr && s->tail.len) {
            buf_add(&s->tail, line);
            line = buf_str(&s->tail);
        }
        s->after_cr = *stop == '\r';
        at = stop + 1;
        if (sse_line(s, line, err) < 0)
            return -1;
    }

    /* The chunk goes away. What name and data show may also lie in the old tail:
     * move them first. */
    sse_keep(&s->kept_name, &s->name);
    sse_keep(&s->kept_data, &s->data);
    if (at != bytes.ptr)
        buf_clear(&s->tail);
    buf_add(&s->tail, str_make(at, (size_t)(end - at)));
    return sse_check(s, s->tail.len, err);
}

int sse_end(struct sse *s, struct err *err)
{
    if (s->tail.len && sse_line(s, buf_str(&s->tail), err) < 0)
        return -1;
    if (sse_deliver(s, err) < 0)
        return -1;
    buf_clear(&s->tail);
    return 0;
}

struct str sse_last_id(const struct sse *s)
{
    return buf_str(&s->last_id);
}

int64_t sse_retry_ms(const struct sse *s)
{
    return s->retry_ms;
}
