/* Requests, recorded. */
#include "record.h"

#include <fcntl.h>

#include "base/err.h"
#include "base/file.h"
#include "http.h"
#include "json/jw.h"

int record_open(struct record *r, const char *file, struct err *err)
{
    r->fd = open(file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (r->fd < 0)
        return err_sys(err, ERR_IO, "cannot write '%s'", file);
    return 0;
}

void record_clear(struct record *r)
{
    for (size_t i = 0; i < RECORD_MAX_KEPT; i++)
        mem_freep(&r->kept[i].text);
    r->count = 0;
}

void record_release(struct record *r)
{
    record_clear(r);
    fd_closep(&r->fd);
}

static void put_headers(const struct http_request *http, struct jw *w)
{
    jw_key(w, "headers");
    jw_object(w);
    for (size_t i = 0; i < http->field_count; i++) {
        char name[128];
        size_t n = 0;

        for (; n < http->fields[i].name.len && n < sizeof(name) - 1; n++) {
            char c = http->fields[i].name.ptr[n];

            name[n] = c >= 'A' && c <= 'Z' ? (char)(c | 32) : c;
        }
        jw_key_str(w, str_make(name, n));
        jw_str(w, http->fields[i].value);
    }
    jw_object_end(w);
}

size_t record_add(struct record *r, const struct http_request *http, struct str session,
                  const struct json *body, uint64_t connection, const struct record_times *at)
{
    CLEANUP(buf_release) struct buf line = BUF_INIT(BUF_NO_LIMIT);
    size_t n = ++r->count, slot = (n - 1) % RECORD_MAX_KEPT, before_body;
    struct jw w;

    jw_init(&w, &line, 0);
    jw_object(&w);
    jw_ki64(&w, "n", (int64_t)n);
    jw_ki64(&w, "t_us", at->t_us);
    jw_ki64(&w, "done_us", at->done_us);
    jw_ki64(&w, "answered_us", at->answered_us);
    jw_ki64(&w, "connection", (int64_t)connection);
    jw_kstr(&w, "session", session);
    jw_kstr(&w, "method", http->method);
    jw_kstr(&w, "path", http->target);
    put_headers(http, &w);
    before_body = line.len;
    if (body)
        jw_kjson(&w, "body", body);
    else if (http->body.len)
        jw_kstr(&w, "body_text", http->body);

    mem_freep(&r->kept[slot].text);
    r->kept[slot].text =
        mem_dup(line.ptr, line.len > before_body + RECORD_MAX_BODY ? before_body : line.len);
    r->kept[slot].end = RECORD_OPEN;
    jw_object_end(&w);
    buf_addc(&line, '\n');
    if (r->fd >= 0)
        fd_write_all(r->fd, buf_str(&line), NULL);
    return n;
}

void record_set_end(struct record *r, size_t n, enum record_end end)
{
    if (n && n <= r->count && r->count - n < RECORD_MAX_KEPT)
        r->kept[(n - 1) % RECORD_MAX_KEPT].end = end;
}

void record_write(const struct record *r, struct buf *out)
{
    static const char *const ends[] = {"open", "sent", "closed"};
    size_t first = r->count > RECORD_MAX_KEPT ? r->count - RECORD_MAX_KEPT : 0;

    buf_addc(out, '[');
    for (size_t n = first; n < r->count; n++) {
        size_t slot = n % RECORD_MAX_KEPT;

        buf_addf(out, "%s%s,\"end\":\"%s\"}", n > first ? ",\n" : "", r->kept[slot].text,
                 ends[r->kept[slot].end]);
    }
    buf_adds(out, "]\n");
}
