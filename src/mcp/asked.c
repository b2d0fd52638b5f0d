/*
 * A question is registered from put() until its thread has mailed the answer, so that it can be
 * withdrawn and waited for.
 */
#include "mcp/asked.h"

#include <stdlib.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/strv.h"
#include "json/json.h"
#include "json/jw.h"
#include "mcp/wire.h"
#include "sync/cancel.h"

struct question {
    struct asked *desk;
    struct cancel *cancel;
    struct buf id, method, params;
    int64_t number; /* not 0: params are many questions */
};

static void asked_mail_free(struct mail *mail)
{
    struct asked_mail *m = (struct asked_mail *)mail;

    buf_release(&m->id);
    buf_release(&m->result);
    free(m);
}

const struct mail_kind asked_mail_kind = {"mcp question", asked_mail_free};

void asked_init(struct asked *a)
{
    gate_init(&a->gate);
}

void asked_release(struct asked *a)
{
    gate_take(&a->gate);
    while (a->running.len)
        (void)gate_wait(&a->gate, /*deadline_ms=*/-1);
    gate_give(&a->gate);
    vec_release(&a->running);
    gate_release(&a->gate);
}

static void write_roots(const struct asked *a, struct buf *ret)
{
    CLEANUP(strv_release) struct strv roots = STRV_INIT;
    struct jw w;

    if (a->roots)
        a->roots(a->arg, &roots);
    jw_init(&w, ret, 0);
    jw_object(&w);
    jw_key(&w, "roots");
    jw_array(&w);
    for (size_t i = 0; i < roots.len; i++) {
        CLEANUP(buf_release) struct buf uri = BUF_INIT(64 << 10);

        buf_adds(&uri, "file://");
        for (const char *p = roots.ptr[i]; *p; p++) {
            if (str_is_alnum(*p) || strchr("/-_.~", *p))
                buf_addc(&uri, *p);
            else
                buf_addf(&uri, "%%%02X", (unsigned char)*p);
        }
        jw_object(&w);
        jw_kstr(&w, "uri", buf_str(&uri));
        jw_object_end(&w);
    }
    jw_array_end(&w);
    jw_object_end(&w);
}

static int answer_one(struct question *q, struct str method, const struct json *params,
                      struct buf *ret, struct err *err)
{
    struct asked *a = q->desk;

    if (str_is(method, "roots/list")) {
        write_roots(a, ret);
        return 0;
    }
    if (!a->ask)
        return err_set(err, ERR_UNSUPPORTED, "nobody can be asked");
    return a->ask(a->arg, a->server, method, params, q->cancel, ret, err);
}

static int answer_all(struct question *q, const struct json *questions, struct buf *ret,
                      struct err *err)
{
    struct jw w;

    jw_init(&w, ret, 0);
    jw_object(&w);
    JSON_EACH(questions, one) {
        CLEANUP(buf_release) struct buf result = BUF_INIT(WIRE_MAX_MESSAGE);

        if (answer_one(q, json_get_str(one, "method"), json_get(one, "params"), &result, err) < 0)
            return -1;
        jw_key_str(&w, json_key(one));
        jw_raw(&w, buf_str(&result));
    }
    jw_object_end(&w);
    return buf_check(ret, err);
}

static void question_free(struct question *q)
{
    struct asked *a = q->desk;

    gate_take(&a->gate);
    for (size_t i = 0; i < a->running.len; i++) {
        if (a->running.ptr[i] == q) {
            a->running.ptr[i] = a->running.ptr[--a->running.len];
            break;
        }
    }
    cancel_unref(q->cancel);
    buf_release(&q->id);
    buf_release(&q->method);
    buf_release(&q->params);
    free(q);
    gate_wake(&a->gate);
    gate_give(&a->gate);
}

static void question_run(void *arg)
{
    struct question *q = arg;
    struct asked_mail *m = mem_zalloc(sizeof(*m));
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    const struct json *params = NULL;
    struct err err = {0};
    int r;

    m->mail.kind = &asked_mail_kind;
    m->number = q->number;
    buf_init(&m->result, WIRE_MAX_MESSAGE);
    buf_init(&m->id, 1024);
    buf_add(&m->id, buf_str(&q->id));
    r = json_parse(&arena, buf_str(&q->params), &params, NULL, &err);
    if (r == 0)
        r = q->number ? answer_all(q, params, &m->result, &err)
                      : answer_one(q, buf_str(&q->method), params, &m->result, &err);
    if (r < 0) {
        bool is_no = err.code == ERR_DENIED;

        m->code = is_no ? -1 : err.code == ERR_UNSUPPORTED ? -32601 : -32603;
        m->refusal = is_no ? "The user refused" : "The question could not be asked";
    }
    mailbox_send(q->desk->mail, &m->mail);
    question_free(q);
}

static int put(struct asked *a, struct str id, int64_t number, struct str method, struct str params)
{
    struct question *q = mem_zalloc(sizeof(*q));
    bool is_too_many;

    q->desk = a;
    q->number = number;
    q->cancel = cancel_new(a->ending);
    buf_init(&q->id, 1024);
    buf_init(&q->method, 200);
    buf_init(&q->params, WIRE_MAX_MESSAGE);
    buf_add(&q->id, id);
    buf_add(&q->method, method);
    buf_add(&q->params, params.len ? params : STR("{}"));
    gate_take(&a->gate);
    is_too_many = a->running.len >= ASKED_MAX;
    vec_push(&a->running, q);
    gate_give(&a->gate);
    if (is_too_many || q->id.over || q->method.over ||
        thread_start_loose("mcp ask", question_run, q, NULL) < 0) {
        question_free(q);
        return -1;
    }
    return 0;
}

int asked_put(struct asked *a, struct str id, struct str method, const struct json *params)
{
    return put(a, id, /*number=*/0, method, json_raw(params));
}

int asked_put_all(struct asked *a, int64_t number, const struct json *questions)
{
    return put(a, STR(""), number, STR(""), json_raw(questions));
}

void asked_withdraw(struct asked *a, struct str id, int64_t number)
{
    gate_take(&a->gate);
    VEC_EACH(&a->running, q) {
        if (number ? (*q)->number == number : id.len && str_eq(buf_str(&(*q)->id), id))
            cancel_set((*q)->cancel);
    }
    gate_give(&a->gate);
}
