/*
 * post: runs on the handler's own thread; the waiter's cancel ends it at once.
 */
#include "hooks/post.h"

#include "base/mem.h"
#include "base/strv.h"
#include "conf/conf.h"
#include "hooks/handler.h"
#include "hooks/output.h"
#include "net/net.h"

#define POST_MAX_HEADER ((size_t)64 << 10)

/* --- headers -------------------------------------------------------------------------------- */

static bool is_name_char(char c)
{
    return str_is_alnum(c) || c == '_';
}

/* The name of a variable at the start of the text, and how many bytes it takes; 0 if there is none.
 */
static size_t find_name(struct str text, struct str *ret)
{
    bool braced = str_starts(text, STR("${"));
    size_t start = braced ? 2 : 1;
    size_t end = start;

    if (!str_starts(text, STR("$")))
        return 0;
    while (end < text.len && is_name_char(text.ptr[end]))
        end++;
    if (end == start || (text.ptr[start] >= '0' && text.ptr[start] <= '9') ||
        (braced && (end == text.len || text.ptr[end] != '}')))
        return 0;
    *ret = str_from(str_first(text, end), start);
    return braced ? end + 1 : end;
}

/* Appends the value of a header as it is sent: one line. */
static void post_fill(const struct conf *conf, const struct strv *allowed, struct str value,
                      struct buf *ret)
{
    while (value.len) {
        struct str name;
        size_t taken = find_name(value, &name);

        if (!taken) {
            buf_addc(ret, value.ptr[0]);
        } else if (allowed && strv_has(allowed, name)) {
            CLEANUP(mem_freep) char *key = mem_dup(name.ptr, name.len);
            const char *found = conf_env(conf, key);

            for (; found && *found; found++) {
                if (*found != '\r' && *found != '\n') /* a line break would start another header */
                    buf_addc(ret, *found);
            }
        }
        value = str_from(value, taken ? taken : 1);
    }
}

static void add_headers(const struct post_place *p, const struct handler_spec *h,
                        struct net_request *r)
{
    bool has_type = false;

    for (size_t i = 0; h->headers && i < h->headers->len; i++) {
        CLEANUP(buf_release) struct buf line = BUF_INIT(POST_MAX_HEADER);
        struct str header = str_of(h->headers->ptr[i]);

        has_type = has_type || str_eq_nocase(str_first(header, 13), STR("content-type:"));
        post_fill(p->conf, h->allowed, header,
                  &line); /* header names are not expanded: '$' has no meaning there */
        strv_add(&r->headers, buf_str(&line));
    }
    if (!has_type)
        strv_adds(&r->headers, "Content-Type: application/json");
}

/* --- the exchange --------------------------------------------------------------------------- */

static int await_answer(const struct net_stream *stream, struct mailbox *mail,
                        struct cancel *cancel, int *ret_status, struct buf *ret, struct err *err)
{
    for (;;) {
        struct mail *m;
        struct net_mail *n;
        int rc = 1;

        if (mailbox_take(mail, cancel, /*deadline_ms=*/-1, &m, err) < 0)
            return -1;
        n = (struct net_mail *)m;
        if (m->kind != &net_mail_kind || n->stream != stream) {
            mail_free(m);
            continue;
        }
        if (n->what == NET_HEAD) {
            *ret_status = n->status;
        } else if (n->what == NET_BYTES) {
            buf_add(ret, buf_str(&n->bytes));
            net_used(n->stream, n->bytes.len);
        } else {
            rc = n->end.code ? err_set(err, (enum err_code)n->end.code, "%s", n->end.text) : 0;
        }
        mail_free(m);
        if (rc <= 0)
            return rc;
    }
}

static int post(const struct post_place *p, const struct handler_spec *h,
                const struct hook_input *in, struct cancel *cancel, struct buf *ret,
                struct err *err)
{
    CLEANUP(mem_freep) char *url = mem_dup(h->url.ptr, h->url.len);
    struct net_request request = {
        .method = "POST",
        .url = url,
        .body = BUF_INIT(BUF_NO_LIMIT),
        .idle_ms = HANDLER_MAX_TIMEOUT_MS, /* the waiter enforces the limit */
        .max_bytes = OUTPUT_MAX_BYTES,
    };
    struct mailbox *mail = mailbox_new();
    struct net_stream *stream;
    int status = 0;
    int rc = -1;

    buf_add(&request.body, in->json);
    add_headers(p, h, &request);
    stream = net_start(p->net, &request, mail, err);
    if (stream)
        rc = await_answer(stream, mail, cancel, &status, ret, err);
    net_stream_unref(stream);
    net_request_release(&request);
    mailbox_close(mail);
    mailbox_unref(mail);
    if (rc == 0 && (status < 200 || status > 299))
        return err_set(err, ERR_IO, "the server answered with HTTP %d", status);
    return rc;
}

void post_send(void *arg, struct hook_handler *h, const struct hook_input *in,
               struct cancel *cancel, struct handler_call_result *ret)
{
    const struct post_place *p = arg;

    if (p->net)
        ret->rc = post(p, hook_handler_spec(h), in, cancel, &ret->answer, &ret->err);
    else
        ret->rc = err_set(&ret->err, ERR_UNSUPPORTED, "this session was started without a network");
}
