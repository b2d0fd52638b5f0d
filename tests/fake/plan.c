/* Plans: head and framed body of a response, spoiled as its fault says. */
#include "plan.h"

#include <zlib.h>

#include "base/err.h"
#include "http.h"
#include "llm/scenario/scenario.h"

/* Each stretch between two waits is compressed and flushed, so that the pace survives. */
static void compress_body(struct tape *w)
{
    struct tape out;
    z_stream z = {0};
    size_t at = 0;

    tape_init(&out);
    if (deflateInit2(&z, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK)
        BUG("deflateInit2");
    for (size_t i = 0; i <= w->waits.len; i++) {
        bool last = i == w->waits.len;
        size_t stop = last ? w->bytes.len : w->waits.ptr[i].at;
        size_t room = deflateBound(&z, stop - at) + 64;

        z.next_in = (unsigned char *)w->bytes.ptr + at;
        z.avail_in = (unsigned)(stop - at);
        z.next_out = (unsigned char *)buf_room(&out.bytes, room);
        z.avail_out = (unsigned)room;
        deflate(&z, last ? Z_FINISH : Z_SYNC_FLUSH);
        buf_grown(&out.bytes, room - z.avail_out);
        if (!last)
            tape_wait(&out, w->waits.ptr[i].ms);
        at = stop;
    }
    deflateEnd(&z);
    tape_release(w);
    *w = out;
}

static void add_head(const struct plan_head *h, const char *type, size_t length, struct buf *out)
{
    buf_addf(out, "HTTP/1.1 %d %s\r\ncontent-type: %s\r\n", h->status, http_reason(h->status),
             type);
    if (h->id_name.len)
        buf_addf(out, "%.*s: %.*s\r\n", STR_ARG(h->id_name), STR_ARG(h->id));
    if (h->fault && h->fault->kind == FAULT_GZIP)
        buf_adds(out, "content-encoding: gzip\r\n");
    if (h->fault && h->fault->kind == FAULT_REDIRECT)
        buf_addf(out, "location: %.*s\r\n", STR_ARG(h->fault->text));
    for (size_t i = 0; h->fault && i < h->fault->header_count; i++)
        buf_addf(out, "%.*s\r\n", STR_ARG(h->fault->headers[i]));
    if (h->chunked)
        buf_adds(out, "cache-control: no-cache\r\ntransfer-encoding: chunked\r\n");
    else
        buf_addf(out, "content-length: %zu\r\n", length);
    buf_addf(out, "connection: %s\r\n\r\n", h->keep ? "keep-alive" : "close");
}

static void add_chunk(struct buf *out, struct str bytes)
{
    if (!bytes.len)
        return;
    buf_addf(out, "%zx\r\n", bytes.len);
    buf_add(out, bytes);
    buf_adds(out, "\r\n");
}

/* The body as far as it goes, one chunk (or plain stretch) between two waits. */
static void add_body(const struct plan_head *h, const struct tape *body, struct tape *out)
{
    struct str all = buf_str(&body->bytes);
    size_t at = 0;

    for (size_t i = 0; i <= body->waits.len; i++) {
        size_t stop = i < body->waits.len ? body->waits.ptr[i].at : all.len;
        struct str stretch = str_make(all.ptr + at, stop - at);

        if (h->chunked)
            add_chunk(&out->bytes, stretch);
        else
            buf_add(&out->bytes, stretch);
        if (i < body->waits.len)
            tape_wait(out, body->waits.ptr[i].ms);
        at = stop;
    }
}

/* Replaces the pace by `step` bytes every `ms`. */
static void make_slow(struct tape *w, size_t step, int64_t ms)
{
    w->waits.len = 0;
    for (size_t at = step; at < w->bytes.len; at += step)
        vec_push(&w->waits, ((struct tape_wait){at, ms}));
}

void plan_make(const struct plan_head *h, struct tape *body, struct plan *ret)
{
    const struct scenario_fault *f = h->fault;
    const char *type = f && f->kind == FAULT_TYPE ? f->text.ptr : h->type;
    size_t length;
    bool whole = true;

    if (f && f->kind == FAULT_GARBAGE)
        tape_insert(body, (size_t)f->at, f->text);
    if (f && f->kind == FAULT_GZIP)
        compress_body(body);
    length = body->bytes.len;
    ret->end = h->keep ? PLAN_KEEP : PLAN_CLOSE;
    if (f && (f->kind == FAULT_CUT || f->kind == FAULT_RESET || f->kind == FAULT_STALL)) {
        tape_cut(body, (size_t)f->at);
        whole = false;
        ret->end = f->kind == FAULT_CUT     ? PLAN_CLOSE
                   : f->kind == FAULT_RESET ? PLAN_RESET
                                            : PLAN_SILENT;
    }

    tape_init(&ret->out);
    add_head(h, type, length, &ret->out.bytes);
    add_body(h, body, &ret->out);
    if (whole && h->chunked)
        buf_adds(&ret->out.bytes, "0\r\n\r\n");
    if (f && f->kind == FAULT_SLOW)
        make_slow(&ret->out, (size_t)f->at, f->ms);
    tape_release(body);
    *body = (struct tape){0};
}

void plan_release(struct plan *p)
{
    tape_release(&p->out);
    *p = (struct plan){0};
}
