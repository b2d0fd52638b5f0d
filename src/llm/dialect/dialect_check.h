/*
 * Test helper for dialects: feeds streams to a decoder and prints the result as text; compares
 * request bodies as JSON values.
 *
 * In a row's texts ' stands for ", for readability; a stream has one event per line.
 */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/vec.h"
#include "json/json.h"
#include "json/jw.h"
#include "llm/dialect/dialect.h"
#include "llm/event_check.h"
#include "llm/message.h"
#include "llm/model.h"
#include "llm/reply.h"

struct stream_case {
    const char *label;
    const char *lines;
    const char *expect; /* see dialect_check_play() */
};

struct fault_case {
    const char *label;
    int status;
    const char *body;
    const char *retry_after;
    const char *expect; /* see dialect_check_fault() */
};

struct body_case {
    const char *label;
    struct llm_request req; /* model and messages are filled in */
    const struct model *model;
    const char *messages; /* list for message_parse(); NULL = one user message "hi" */
    const char *path;     /* into the body; "" is the whole */
    const char *expect;   /* NULL: absent */
};

static inline struct str dialect_check_text(const char *text, struct arena *arena)
{
    char *copy = arena_cstr(arena, str_of(text));

    for (char *p = copy; *p; p++)
        if (*p == '\'')
            *p = '"';
    return str_of(copy);
}

static inline void dialect_check_fault(const struct llm_fault *f, struct buf *out)
{
    buf_addf(out, "%s%s%s%s", err_code_name(f->code), f->retry ? " retry" : "",
             f->overloaded ? " overloaded" : "", f->drop_stream_options ? " drop" : "");
    if (f->wait_ms >= 0)
        buf_addf(out, " %lldms", (long long)f->wait_ms);
    buf_addf(out, ": %s", f->text);
}

/* provider_data of each block, except its origin. */
static inline void dialect_check_data(const struct message *m, struct buf *out)
{
    for (size_t i = 0; i < m->len; i++) {
        CLEANUP(arena_release) struct arena arena = ARENA_INIT;
        const struct json *data = NULL;
        size_t n = 0;

        if (m->blocks[i].provider_data.len &&
            json_parse(&arena, m->blocks[i].provider_data, &data, NULL, NULL) < 0)
            fail_msg("provider_data is not JSON");
        JSON_EACH(data, it) {
            if (str_is(json_key(it), "provider") || str_is(json_key(it), "model"))
                continue;
            if (n++ == 0)
                buf_addf(out, "data %zu", i);
            buf_addf(out, " %.*s=%.*s", STR_ARG(json_key(it)), STR_ARG(json_raw(it)));
        }
        if (n)
            buf_addc(out, '\n');
    }
}

/* The events as written by event_check.h, then provider_data; if the stream fails, "ERROR" and the
 * fault or error. */
static inline void dialect_check_play(const struct dialect *dialect, const struct llm_request *req,
                                      struct str lines, bool whole, struct buf *out)
{
    CLEANUP(event_check_release) struct event_check check = EVENT_CHECK_INIT;
    struct reply *reply = reply_new(event_check_fn, &check);
    struct decoder *d = dialect->decoder_new(req, reply);
    struct llm_fault fault = {.code = ERR_NONE};
    struct err err = {0};
    struct str line;
    int rc = 0;

    reply_origin(reply, req->model->provider, req->model->name);
    if (whole) {
        rc = dialect->whole(d, lines, &fault, &err);
    } else {
        while (rc == 0 && str_cut(&lines, '\n', &line))
            if (line.len)
                rc = dialect->event(d, STR(""), line, &fault, &err);
        if (rc == 0)
            rc = dialect->end(d, &fault, &err);
    }
    if (rc < 0) {
        buf_adds(out, "ERROR ");
        if (fault.code != ERR_NONE) {
            assert_int_equal(fault.code, err.code);
            dialect_check_fault(&fault, out);
        } else {
            buf_addf(out, "%s: %s", err_code_name(err.code), err.text);
        }
        buf_addc(out, '\n');
    } else {
        struct message *m = reply_take(reply);

        assert_non_null(m);
        buf_add(out, buf_str(&check.text));
        dialect_check_data(m, out);
        message_unref(m);
    }
    dialect->decoder_free(d);
    reply_free(reply);
}

static inline void dialect_check_streams(const struct dialect *dialect,
                                         const struct llm_request *req,
                                         const struct stream_case *rows, size_t len, bool whole)
{
    for (size_t i = 0; i < len; i++) {
        CLEANUP(buf_release) struct buf got = BUF_INIT(BUF_NO_LIMIT);
        CLEANUP(arena_release) struct arena arena = ARENA_INIT;

        dialect_check_play(dialect, req, dialect_check_text(rows[i].lines, &arena), whole, &got);
        if (!str_eq(buf_str(&got), dialect_check_text(rows[i].expect, &arena)))
            fail_msg("%s: got\n%sinstead of\n%s", rows[i].label, buf_cstr(&got), rows[i].expect);
    }
}

static inline void dialect_check_faults(const struct dialect *dialect,
                                        const struct fault_case *rows, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        CLEANUP(buf_release) struct buf got = BUF_INIT(BUF_NO_LIMIT);
        CLEANUP(arena_release) struct arena arena = ARENA_INIT;
        struct llm_fault fault;

        dialect->fault(rows[i].status, dialect_check_text(rows[i].body, &arena),
                       str_of(rows[i].retry_after), STR(""), STR(""), &fault);
        dialect_check_fault(&fault, &got);
        if (!str_eq(buf_str(&got), dialect_check_text(rows[i].expect, &arena)))
            fail_msg("%s: got\n%s\ninstead of\n%s", rows[i].label, buf_cstr(&got), rows[i].expect);
    }
}

struct dialect_check_history {
    VEC(struct message *) list;
};

static inline void dialect_check_history(struct dialect_check_history *h, struct str text)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    const struct json *v = NULL;
    struct err err = {0};

    if (json_parse(&arena, text, &v, NULL, &err) < 0)
        fail_msg("the row's messages: %s", err.text);
    JSON_EACH(v, it) {
        struct message *m = NULL;

        if (message_parse(it, &m, &err) < 0)
            fail_msg("the row's messages: %s", err.text);
        vec_push(&h->list, m);
    }
}

static inline void dialect_check_history_free(struct dialect_check_history *h)
{
    VEC_EACH(&h->list, m)
        message_unref(*m);
    vec_release(&h->list);
}

static inline void dialect_check_body(const struct dialect *dialect, const struct body_case *row)
{
    CLEANUP(buf_release) struct buf first = BUF_INIT(BUF_NO_LIMIT);
    CLEANUP(buf_release) struct buf second = BUF_INIT(BUF_NO_LIMIT);
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    CLEANUP(dialect_check_history_free) struct dialect_check_history history = {0};
    const struct json *body = NULL, *expect = NULL, *got;
    struct llm_request req = row->req;
    struct err err = {0};

    dialect_check_history(
        &history, dialect_check_text(
                      row->messages ? row->messages : "[{'role':'user','content':'hi'}]", &arena));
    req.model = row->model;
    req.messages = history.list.ptr;
    req.message_count = history.list.len;
    if (dialect->body(&req, &first, &err) < 0)
        fail_msg("%s: %s", row->label, err.text);
    /* The second body is made from cached JSON and must be the same. */
    if (dialect->body(&req, &second, &err) < 0 || !str_eq(buf_str(&first), buf_str(&second)))
        fail_msg("%s: the second body differs\n%s\n%s", row->label, buf_cstr(&first),
                 buf_cstr(&second));

    if (json_parse(&arena, buf_str(&first), &body, NULL, &err) < 0)
        fail_msg("%s: %s in\n%s", row->label, err.text, buf_cstr(&first));
    got = row->path[0] ? json_path(body, row->path) : body;
    if (!row->expect) {
        if (got)
            fail_msg("%s: %s should be absent in\n%s", row->label, row->path, buf_cstr(&first));
        return;
    }
    if (json_parse(&arena, dialect_check_text(row->expect, &arena), &expect, NULL, &err) < 0)
        fail_msg("%s: expected value: %s", row->label, err.text);
    if (!json_equal(got, expect))
        fail_msg("%s: got\n%.*s\ninstead of\n%s", row->label,
                 STR_ARG(got ? json_raw(got) : STR("nothing")), row->expect);
}

static inline void dialect_check_bodies(const struct dialect *dialect, const struct body_case *rows,
                                        size_t len)
{
    for (size_t i = 0; i < len; i++)
        dialect_check_body(dialect, &rows[i]);
}
