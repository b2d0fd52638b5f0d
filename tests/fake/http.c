/* HTTP/1.1 requests, parsed from the start each time more has arrived: heads are small. */
#include "http.h"

#include "base/err.h"

void http_request_release(struct http_request *r)
{
    buf_release(&r->unchunked);
}

struct str http_header(const struct http_request *r, const char *name)
{
    for (size_t i = 0; i < r->field_count; i++) {
        if (str_eq_nocase(r->fields[i].name, str_of(name)))
            return r->fields[i].value;
    }
    return (struct str){0};
}

const char *http_reason(int status)
{
    static const struct {
        int status;
        const char *text;
    } reasons[] = {
        {200, "OK"},
        {301, "Moved Permanently"},
        {302, "Found"},
        {307, "Temporary Redirect"},
        {308, "Permanent Redirect"},
        {400, "Bad Request"},
        {401, "Unauthorized"},
        {402, "Payment Required"},
        {403, "Forbidden"},
        {404, "Not Found"},
        {408, "Request Timeout"},
        {409, "Conflict"},
        {413, "Payload Too Large"},
        {429, "Too Many Requests"},
        {500, "Internal Server Error"},
        {502, "Bad Gateway"},
        {503, "Service Unavailable"},
        {504, "Gateway Timeout"},
        {529, "Overloaded"},
    };

    for (size_t i = 0; i < ARRAY_LEN(reasons); i++) {
        if (reasons[i].status == status)
            return reasons[i].text;
    }
    return "Status";
}

static struct str take_line(struct str *rest)
{
    struct str line = {0};

    str_cut(rest, '\n', &line);
    if (str_ends(line, STR("\r")))
        line.len--;
    return line;
}

static int parse_request_line(struct str line, struct http_request *r, struct err *err)
{
    struct str rest = line, version = {0};
    size_t question;

    str_cut(&rest, ' ', &r->method);
    str_cut(&rest, ' ', &r->target);
    str_cut(&rest, ' ', &version);
    if (!r->method.len || !r->target.len || !str_starts(version, STR("HTTP/1.")))
        return err_set(err, ERR_PROTOCOL, "not an HTTP/1 request: '%.*s'",
                       STR_ARG(str_clip(line, 60)));
    r->keep_alive = !str_is(version, "HTTP/1.0");
    question = str_chr(r->target, '?');
    r->path = str_first(r->target, question);
    r->query = str_from(r->target, question + 1);
    return 0;
}

static int parse_field(struct str line, struct http_request *r, struct err *err)
{
    size_t colon = str_chr(line, ':');

    if (colon == line.len || r->field_count == HTTP_MAX_HEADERS)
        return err_set(err, ERR_PROTOCOL, "bad header: '%.*s'", STR_ARG(str_clip(line, 60)));
    r->fields[r->field_count++] = (struct http_field){
        .name = str_first(line, colon),
        .value = str_trim(str_from(line, colon + 1)),
    };
    return 0;
}

static int hex_value(struct str text, size_t *ret)
{
    size_t n = 0;

    if (!text.len || text.len > 8)
        return -1;
    for (size_t i = 0; i < text.len; i++) {
        char c = text.ptr[i];
        size_t digit;

        if (c >= '0' && c <= '9')
            digit = (size_t)(c - '0');
        else if ((c | 32) >= 'a' && (c | 32) <= 'f')
            digit = (size_t)((c | 32) - 'a') + 10;
        else
            return -1;
        n = n << 4 | digit;
    }
    *ret = n;
    return 0;
}

static int parse_chunks(struct str in, size_t start, struct http_request *r, struct err *err)
{
    size_t at = start;

    buf_init(&r->unchunked, HTTP_MAX_BODY);
    for (;;) {
        struct str rest = str_from(in, at), line;
        size_t newline = str_chr(rest, '\n'), size;

        if (newline == rest.len)
            return 0;
        line = str_trim(str_first(rest, newline));
        if (hex_value(str_first(line, str_chr(line, ';')), &size) < 0)
            return err_set(err, ERR_PROTOCOL, "bad chunk size");
        if (rest.len - newline - 1 < size + 2)
            return 0;
        buf_add(&r->unchunked, str_make(rest.ptr + newline + 1, size));
        at += newline + 1 + size + 2;
        if (size == 0)
            break;
    }
    r->body = buf_str(&r->unchunked);
    r->used = at;
    return buf_check(&r->unchunked, err) < 0 ? -1 : 1;
}

static int parse_body(struct str in, size_t start, struct http_request *r, struct err *err)
{
    struct str length = http_header(r, "content-length");
    int64_t n = 0;

    r->wants_continue =
        str_eq_nocase(http_header(r, "expect"), STR("100-continue")) && in.len == start;
    if (str_eq_nocase(http_header(r, "transfer-encoding"), STR("chunked")))
        return parse_chunks(in, start, r, err);
    if (length.len && (str_to_i64(length, &n, NULL) < 0 || n < 0))
        return err_set(err, ERR_PROTOCOL, "bad content-length");
    if ((size_t)n > HTTP_MAX_BODY)
        return err_set(err, ERR_TOO_BIG, "a body of %lld bytes", (long long)n);
    if (in.len - start < (size_t)n)
        return 0;
    r->body = str_make(in.ptr + start, (size_t)n);
    r->used = start + (size_t)n;
    return 1;
}

int http_parse(struct str in, struct http_request *r, struct err *err)
{
    size_t end = str_find(str_first(in, HTTP_MAX_HEAD), STR("\r\n\r\n"));
    struct str head;

    if (end == str_first(in, HTTP_MAX_HEAD).len)
        return in.len >= HTTP_MAX_HEAD ? err_set(err, ERR_TOO_BIG, "the head has no end") : 0;
    head = str_first(in, end);
    if (parse_request_line(take_line(&head), r, err) < 0)
        return -1;
    while (head.len) {
        if (parse_field(take_line(&head), r, err) < 0)
            return -1;
    }
    if (str_eq_nocase(http_header(r, "connection"), STR("close")))
        r->keep_alive = false;
    return parse_body(in, end + 4, r, err);
}
