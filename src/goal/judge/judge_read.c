/*
 * judge_read: a verdict out of a model's reply.
 *
 * One idea: a reply either is a verdict as a whole, or it is none. It is one call of the tool
 * `verdict`, or, from servers that ignore tools, a text that consists of the same JSON object and
 * nothing else. No object is ever searched for inside of text, so that a verdict that the judge
 * merely quotes cannot count. Pure.
 */
#include "base/arena.h"
#include "base/err.h"
#include "base/utf8.h"
#include "goal/judge/judge.h"
#include "json/json.h"
#include "json/jw.h"
#include "json/schema.h"
#include "llm/message.h"

#define ANSWER_MAX ((size_t)2 << 20)
#define CRITERION_MAX 500

const char judge_verdict_schema[] =
    "{\"type\":\"object\",\"properties\":{"
    "\"ok\":{\"type\":\"boolean\",\"description\":\"Whether the whole condition holds now.\"},"
    "\"reason\":{\"type\":\"string\",\"description\":\"Why; if it does not hold, which part is "
    "missing "
    "and where.\"},"
    "\"criteria\":{\"type\":\"array\",\"items\":{\"type\":\"object\",\"properties\":{"
    "\"text\":{\"type\":\"string\"},"
    "\"state\":{\"type\":\"string\",\"enum\":[\"met\",\"unmet\",\"unknown\"]}},"
    "\"required\":[\"text\",\"state\"],\"additionalProperties\":false}},"
    "\"impossible\":{\"type\":\"boolean\",\"description\":\"True only if no further work of the "
    "agent could make the condition hold.\"}},"
    "\"required\":[\"ok\",\"reason\"],\"additionalProperties\":false}";

void judge_verdict_release(struct judge_verdict *v)
{
    buf_release(&v->reason);
    buf_release(&v->criteria);
}

/* ---- The object ---- */

/* Text of a model for others to read: valid UTF-8, no control characters but newlines and tabs, at
 * most max bytes. */
static void add_words(struct buf *out, struct str s, size_t max)
{
    static const struct str dots = STR_INIT(" […]");

    for (size_t at = 0; at < s.len;) {
        size_t n = utf8_decode(str_from(s, at), /*ret_code=*/NULL);
        struct str shown = n ? str_first(str_from(s, at), n) : STR("\xef\xbf\xbd");
        unsigned char c = (unsigned char)shown.ptr[0];

        if (out->len + shown.len + dots.len > max) {
            buf_add(out, dots);
            return;
        }
        if ((c >= ' ' && c != 0x7f) || c == '\n' || c == '\t')
            buf_add(out, shown);
        at += n ? n : 1;
    }
}

static int read_criterion(const struct json *v, bool ok, struct jw *w, struct err *err)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(CRITERION_MAX);
    struct str state = json_get_str(v, "state");

    add_words(&text, str_trim(json_get_str(v, "text")), CRITERION_MAX);
    if (!text.len)
        return err_set(err, ERR_PROTOCOL, "the \"text\" of a criterion is empty");
    if (ok && !str_is(state, "met"))
        return err_set(err, ERR_PROTOCOL,
                       "\"ok\" is true, but the criterion \"%.*s\" is %.*s: one of them is wrong",
                       STR_ARG(str_clip(buf_str(&text), 100)), STR_ARG(state));
    if (!w)
        return 0;
    jw_object(w);
    jw_kstr(w, "text", buf_str(&text));
    jw_kstr(w, "state", state);
    jw_object_end(w);
    return 0;
}

/* All of them are checked; the first JUDGE_MAX_CRITERIA are kept. */
static int read_criteria(const struct json *v, bool ok, struct buf *ret, struct err *err)
{
    size_t count = 0;
    struct jw w;

    if (!v)
        return 0;
    jw_init(&w, ret, JW_CLEAN);
    jw_array(&w);
    JSON_EACH(v, it) {
        if (read_criterion(it, ok, count++ < JUDGE_MAX_CRITERIA ? &w : NULL, err) < 0)
            return -1;
    }
    jw_array_end(&w);
    return 0;
}

static int check_schema(const struct json *v, struct err *err)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    const struct json *schema = NULL;

    if (json_parse(&arena, str_of(judge_verdict_schema), &schema, /*ret_info=*/NULL, err) < 0)
        BUG("the schema of a verdict is no JSON");
    return schema_check(schema, v, err);
}

static int read_object(struct str text, struct judge_verdict *ret, struct err *err)
{
    CLEANUP(judge_verdict_release) struct judge_verdict v = JUDGE_VERDICT_INIT;
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    struct json_info info = {0};
    const struct json *object = NULL;
    struct err why = {0};

    if (text.len > ANSWER_MAX)
        return err_set(err, ERR_PROTOCOL, "it has %zu bytes; a verdict is short", text.len);
    if (json_parse(&arena, text, &object, &info, &why) < 0)
        return err_set(err, ERR_PROTOCOL, "it is not one JSON object and nothing else (%s)",
                       why.text);
    if (!json_is(object, JSON_OBJECT))
        return err_set(err, ERR_PROTOCOL, "it is of type %s, not an object",
                       json_type_name(json_type(object)));
    if (info.overridden)
        return err_set(err, ERR_PROTOCOL, "a member is given twice");
    if (check_schema(object, &why) < 0)
        return err_set(err, ERR_PROTOCOL, "%s", why.text);
    v.ok = json_get_bool(object, "ok", false);
    v.impossible = json_get_bool(object, "impossible", false);
    if (v.ok && v.impossible)
        return err_set(err, ERR_PROTOCOL, "\"ok\" and \"impossible\" exclude each other");
    add_words(&v.reason, str_trim(json_get_str(object, "reason")), JUDGE_MAX_REASON);
    if (!str_trim(buf_str(&v.reason)).len)
        return err_set(err, ERR_PROTOCOL, "\"reason\" is empty: a verdict needs one");
    if (read_criteria(json_get(object, "criteria"), v.ok, &v.criteria, err) < 0)
        return -1;
    ret->ok = v.ok;
    ret->impossible = v.impossible;
    buf_move(&ret->reason, &v.reason);
    buf_move(&ret->criteria, &v.criteria);
    return 0;
}

/* ---- The reply ---- */

int judge_read_text(struct str answer, struct judge_verdict *ret, struct err *err)
{
    struct str text = json_unfenced(answer);

    if (!text.len)
        return err_set(err, ERR_PROTOCOL, "it is empty");
    return read_object(text, ret, err);
}

/* Only a reply that came to its own end says what the judge wanted to say. */
static int check_stop(enum llm_stop stop, struct err *err)
{
    switch (stop) {
    case STOP_END_TURN:
    case STOP_TOOL_USE:
        return 0;
    case STOP_CONTEXT_FULL:
        return err_set(err, ERR_CONTEXT_FULL, "the case does not fit the model");
    case STOP_MAX_TOKENS:
        return err_set(err, ERR_PROTOCOL, "it was cut off; be brief");
    case STOP_REFUSAL:
        return err_set(err, ERR_PROTOCOL, "the model refused to judge");
    case STOP_NONE:
        return err_set(err, ERR_PROTOCOL, "the server does not say why it ended");
    default:
        return err_set(err, ERR_PROTOCOL, "it ended early (%s)", llm_stop_name(stop));
    }
}

static const struct block *find_call(const struct message *m, const char *name)
{
    for (size_t i = 0; i < m->len; i++) {
        if (m->blocks[i].kind == BLOCK_TOOL_USE && (!name || str_is(m->blocks[i].name, name)))
            return &m->blocks[i];
    }
    return NULL;
}

bool judge_reply_looks(const struct message *reply, enum llm_stop stop)
{
    return check_stop(stop, /*err=*/NULL) == 0 && find_call(reply, /*name=*/NULL) &&
           !find_call(reply, JUDGE_TOOL);
}

int judge_read(const struct message *reply, enum llm_stop stop, struct judge_verdict *ret,
               struct err *err)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(BUF_NO_LIMIT); /* by the reply's own limit */
    const struct block *call = find_call(reply, JUDGE_TOOL);

    if (check_stop(stop, err) < 0)
        return -1;
    if (call && message_count(reply, BLOCK_TOOL_USE) > 1)
        return err_set(err, ERR_PROTOCOL, "the verdict must be the only call of its reply");
    if (call && call->input_bad)
        return err_set(err, ERR_PROTOCOL, "the input of the call is not a JSON object");
    if (call)
        return read_object(str_trim(call->input).len ? call->input : STR("{}"), ret, err);
    if (find_call(reply, /*name=*/NULL))
        return err_set(err, ERR_PROTOCOL, "it calls other tools where a verdict was due");
    if (message_count(reply, BLOCK_OTHER))
        return err_set(err, ERR_PROTOCOL, "it holds something else than text");
    message_text(reply, &text);
    return judge_read_text(buf_str(&text), ret, err);
}
