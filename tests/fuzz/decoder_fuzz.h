/*
 * Any bytes as a provider's answer, for the fuzz target of each dialect.
 *
 * Input that begins with '{' or '[' is a whole answer, anything else a stream of server-sent
 * events; so a corpus is plain files. Checked: the promises of event.h (event_check.h), the same
 * events however the stream is cut, an answer only after its end, a message that survives the
 * transcript and can be sent back as a valid request. Other than streams are read as error bodies
 * too.
 */
#pragma once

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/utf8.h"
#include "fuzz.h"
#include "json/json.h"
#include "llm/dialect/dialect.h"
#include "llm/event_check.h"
#include "llm/message.h"
#include "llm/model.h"
#include "llm/reply.h"
#include "net/sse.h"

struct decoder_fuzz {
    const struct dialect *dialect;
    struct decoder *decoder;
    struct llm_fault fault;
};

static int decoder_fuzz_event(struct str name, struct str data, void *arg, struct err *err)
{
    struct decoder_fuzz *f = arg;

    return f->dialect->event(f->decoder, name, data, &f->fault, err);
}

static int decoder_fuzz_stream(struct decoder_fuzz *f, struct str text, size_t piece,
                               struct err *err)
{
    struct sse *sse = sse_new(1 << 20, decoder_fuzz_event, f);
    int rc = 0;

    while (rc == 0 && text.len) {
        rc = sse_feed(sse, str_first(text, piece), err);
        text = str_from(text, piece);
    }
    if (rc == 0)
        rc = sse_end(sse, err);
    sse_free(sse);
    return rc < 0 ? -1 : f->dialect->end(f->decoder, &f->fault, err);
}

/* Reads the answer; NULL when it failed. */
static struct message *decoder_fuzz_read(const struct dialect *dialect, const struct model *model,
                                         struct str text, size_t piece, struct event_check *check)
{
    bool whole = text.len && (text.ptr[0] == '{' || text.ptr[0] == '[');
    struct llm_request req = {.model = model, .no_stream = whole};
    struct reply *reply = reply_new(event_check_fn, check);
    struct decoder_fuzz f = {dialect, dialect->decoder_new(&req, reply), {0}};
    struct err err = {0};
    struct message *m;
    int rc;

    reply_origin(reply, model->provider, model->name);
    if (whole)
        rc = dialect->whole(f.decoder, text, &f.fault, &err);
    else
        rc = decoder_fuzz_stream(&f, text, piece, &err);
    FUZZ_CHECK(rc == 0 || err.code != ERR_NONE);
    FUZZ_CHECK(rc == 0 || err.text[0]);
    FUZZ_CHECK(rc < 0 || (reply_is_finished(reply) && check->stopped));
    FUZZ_CHECK(!f.fault.code || f.fault.code == err.code);

    m = reply_take(reply);
    FUZZ_CHECK(rc < 0 || (m && m->len == check->blocks));
    dialect->decoder_free(f.decoder);
    reply_free(reply);
    if (rc < 0) {
        message_unref(m);
        return NULL;
    }
    return m;
}

/* Written, read and written again: the same bytes, on one line. */
static void decoder_fuzz_transcript(const struct message *m)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    CLEANUP(buf_release) struct buf first = BUF_INIT(BUF_NO_LIMIT);
    CLEANUP(buf_release) struct buf second = BUF_INIT(BUF_NO_LIMIT);
    CLEANUP(message_unrefp) struct message *back = NULL;
    const struct json *v = NULL;

    message_write(m, &first);
    FUZZ_CHECK(str_chr(buf_str(&first), '\n') == first.len);
    FUZZ_CHECK(json_parse(&arena, buf_str(&first), &v, NULL, NULL) == 0);
    FUZZ_CHECK(message_parse(v, &back, NULL) == 0);
    FUZZ_CHECK(back->len == m->len);
    message_write(back, &second);
    FUZZ_CHECK(str_eq(buf_str(&first), buf_str(&second)));
}

/* Sent back in the next request: valid JSON in clean Unicode. */
static void decoder_fuzz_echo(const struct dialect *dialect, const struct model *model,
                              struct message *m)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    CLEANUP(buf_release) struct buf body = BUF_INIT(BUF_NO_LIMIT);
    CLEANUP(message_unrefp) struct message *user = message_user_text(STR("hello"));
    struct message *const messages[] = {user, m, user};
    struct llm_request req = {.model = model, .messages = messages, .message_count = 3};
    struct json_info info = {0};
    const struct json *v = NULL;
    struct err err = {0};

    FUZZ_CHECK(dialect->body(&req, &body, &err) == 0);
    FUZZ_CHECK(json_parse(&arena, buf_str(&body), &v, &info, &err) == 0);
    FUZZ_CHECK(json_is(v, JSON_OBJECT) && info.bad_utf8 == 0 && info.lone_surrogates == 0);
}

static void decoder_fuzz_fault(const struct dialect *dialect, struct str text)
{
    static const int statuses[] = {400, 401, 404, 413, 429, 500, 503, 529};
    struct str line = str_first(text, str_chr(text, '\n'));
    struct llm_fault fault;

    dialect->fault(statuses[text.len % ARRAY_LEN(statuses)], text, line, line, line, &fault);
    FUZZ_CHECK(fault.code != ERR_NONE && fault.text[0]);
    FUZZ_CHECK(utf8_is_valid(str_of(fault.text)) && !strchr(fault.text, '\n'));
}

static int decoder_fuzz(const struct dialect *dialect, const struct model *model,
                        const uint8_t *data, size_t size)
{
    CLEANUP(event_check_release) struct event_check check = EVENT_CHECK_INIT;
    CLEANUP(message_unrefp) struct message *m = NULL;
    struct str text = str_make((const char *)data, size);

    m = decoder_fuzz_read(dialect, model, text, size ? size : 1, &check);
    if (size % 4 == 0) { /* often enough, and the rest is faster */
        CLEANUP(event_check_release) struct event_check cut = EVENT_CHECK_INIT;
        CLEANUP(message_unrefp) struct message *other = NULL;

        other = decoder_fuzz_read(dialect, model, text, 1 + size / 4 % 5, &cut);
        FUZZ_CHECK(!m == !other);
        FUZZ_CHECK(str_eq(buf_str(&check.text), buf_str(&cut.text)));
    }
    if (m) {
        decoder_fuzz_transcript(m);
        decoder_fuzz_echo(dialect, model, m);
    }
    if (size < 64 || (size < 1024 && (text.ptr[0] == '{' || text.ptr[0] == '[')))
        decoder_fuzz_fault(dialect, text);
    return 0;
}
