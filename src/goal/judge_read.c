/*
 * judge_read: a verdict out of what a model wrote.
 *
 * One idea: a verdict that is not plain beyond doubt is none. Words around the object are fine; a
 * second object that could be the verdict, a member given twice, "ok" beside a criterion that does
 * not hold, or a reason that says nothing are not. Pure.
 */
#include "base/arena.h"
#include "base/err.h"
#include "base/utf8.h"
#include "goal/judge.h"
#include "json/json.h"
#include "json/jw.h"

#define ANSWER_MAX ((size_t)2 << 20)
#define ANSWER_TRIES 64 /* braces that may be looked at: words are full of them */
#define CRITERION_MAX 500

void judge_verdict_release(struct judge_verdict *v)
{
    buf_release(&v->reason);
    buf_release(&v->criteria);
    vec_release(&v->spends);
}

/* ---- Finding the object ---- */

/* Length of what the brace at the start of s opens, strings in it respected; 0 when it does not
 * close. *ret_members: how many members it has itself. */
static size_t object_length(struct str s, size_t *ret_members)
{
    size_t depth = 0;
    bool in_string = false;

    *ret_members = 0;
    for (size_t i = 0; i < s.len; i++) {
        char c = s.ptr[i];

        if (in_string) {
            if (c == '\\')
                i++;
            in_string = c != '"';
        } else if (c == '"') {
            in_string = true;
        } else if (c == '{' || c == '[') {
            depth++;
        } else if (c == '}' || c == ']') {
            depth--;
            if (!depth)
                return i + 1;
        } else if (c == ':' && depth == 1) {
            ++*ret_members;
        }
    }
    return 0;
}

/* What stands alone between fences, or the text itself. */
static struct str without_fence(struct str s)
{
    struct str line;
    struct str rest = s;

    if (!str_starts(s, STR("```")) || s.len < 6 || !str_ends(s, STR("```")) ||
        !str_cut(&rest, '\n', &line) || rest.len < 3)
        return s;
    return str_trim(str_first(rest, rest.len - 3));
}

struct finding {
    struct arena arena;
    const struct json *object;
    size_t members; /* as written; those given twice count twice */
    size_t count;   /* of objects that could be meant */
};

static void finding_release(struct finding *f)
{
    arena_release(&f->arena);
}

/* Takes what could be the verdict. False: this is no JSON. */
static bool finding_try(struct finding *f, struct str text, size_t members)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    const struct json *v;

    if (json_parse(&arena, text, &v, /*ret_info=*/NULL, /*err=*/NULL) < 0)
        return false;
    if (!json_get(v, "ok"))
        return true;
    arena_release(&f->arena);
    f->arena = arena;
    arena = (struct arena)ARENA_INIT;
    f->object = v;
    f->members = members;
    f->count++;
    return true;
}

static void finding_look(struct finding *f, struct str s)
{
    size_t at = str_chr(s, '{');

    for (int tries = 0; at < s.len && tries < ANSWER_TRIES && f->count < 2; tries++) {
        size_t members;
        size_t len = object_length(str_from(s, at), &members);

        /* What is inside of another object is not the answer; inside of mere braces it may be. */
        at += len && finding_try(f, str_first(str_from(s, at), len), members) ? len : 1;
        at += str_chr(str_from(s, at), '{');
    }
}

static int finding_find(struct finding *f, struct str answer, struct err *err)
{
    struct str s = without_fence(str_trim(answer));
    size_t members = 0;
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    struct err why = {0};
    const struct json *v;

    if (!s.len)
        return err_set(err, ERR_PROTOCOL, "the answer is empty");
    if (s.len > ANSWER_MAX)
        return err_set(err, ERR_PROTOCOL, "the answer has %zu bytes; a verdict is short", s.len);
    if (json_parse(&arena, s, &v, /*ret_info=*/NULL, &why) == 0) {
        if (!json_is(v, JSON_OBJECT))
            return err_set(err, ERR_PROTOCOL, "the answer is of type %s, not an object",
                           json_type_name(json_type(v)));
        object_length(s, &members);
        finding_try(f, s, members);
        return f->count ? 0 : err_set(err, ERR_PROTOCOL, "the object has no member \"ok\"");
    }
    finding_look(f, s);
    if (!f->count)
        return err_set(err, ERR_PROTOCOL, "there is no JSON object with \"ok\" in the answer (%s)",
                       why.text);
    if (f->count > 1)
        return err_set(err, ERR_PROTOCOL,
                       "there are several objects with \"ok\" in the answer: which one is meant is "
                       "not clear");
    return 0;
}

/* ---- Reading it ---- */

/* Text of a model for others to read: valid UTF-8, no controls but newlines and tabs, and an end.
 */
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

static bool is_given(const struct json *v)
{
    return v && json_type(v) != JSON_NULL;
}

static int read_bool(const struct json *object, const char *key, bool *ret, struct err *err)
{
    const struct json *v = json_get(object, key);

    if (!json_is(v, JSON_BOOL))
        return err_set(err, ERR_PROTOCOL, "\"%s\" must be true or false, not of type %s", key,
                       json_type_name(json_type(v)));
    *ret = json_bool(v, false);
    return 0;
}

static int read_reason(const struct json *v, struct buf *ret, struct err *err)
{
    if (!json_is(v, JSON_STRING))
        return err_set(err, ERR_PROTOCOL, "\"reason\" must be a text%s",
                       v ? "" : ", and it is missing");
    add_words(ret, str_trim(json_str(v)), JUDGE_MAX_REASON);
    if (!str_trim(buf_str(ret)).len)
        return err_set(err, ERR_PROTOCOL, "\"reason\" is empty: a verdict needs one");
    return 0;
}

static int read_criterion(const struct json *v, bool ok, struct jw *w, struct err *err)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(CRITERION_MAX);
    struct str state = json_get_str(v, "state");

    add_words(&text, str_trim(json_get_str(v, "text")), CRITERION_MAX);
    if (!text.len)
        return err_set(err, ERR_PROTOCOL, "each of \"criteria\" must have a \"text\"");
    if (!str_is_word_of(state, "met unmet unknown"))
        return err_set(err, ERR_PROTOCOL,
                       "the \"state\" of a criterion must be met, unmet or unknown");
    if (ok && !str_is(state, "met"))
        return err_set(err, ERR_PROTOCOL,
                       "\"ok\" is true, but the criterion \"%.*s\" is %.*s: one of them is wrong",
                       STR_ARG(str_clip(buf_str(&text), 100)), STR_ARG(state));
    jw_object(w);
    jw_kstr(w, "text", buf_str(&text));
    jw_kstr(w, "state", state);
    jw_object_end(w);
    return 0;
}

static int read_criteria(const struct json *v, bool ok, struct buf *ret, struct err *err)
{
    size_t count = 0;
    struct jw w;

    if (!is_given(v))
        return 0;
    if (!json_is(v, JSON_ARRAY))
        return err_set(err, ERR_PROTOCOL, "\"criteria\" must be an array");
    jw_init(&w, ret, JW_CLEAN);
    jw_array(&w);
    JSON_EACH(v, it) {
        if (count++ == JUDGE_MAX_CRITERIA)
            break;
        if (read_criterion(it, ok, &w, err) < 0)
            return -1;
    }
    jw_array_end(&w);
    return 0;
}

static int read_object(const struct finding *f, struct judge_verdict *ret, struct err *err)
{
    const struct json *impossible = json_get(f->object, "impossible");

    if (f->members != json_len(f->object))
        return err_set(err, ERR_PROTOCOL, "a member is given twice");
    if (read_bool(f->object, "ok", &ret->ok, err) < 0 ||
        (is_given(impossible) && read_bool(f->object, "impossible", &ret->impossible, err) < 0))
        return -1;
    if (ret->ok && ret->impossible)
        return err_set(err, ERR_PROTOCOL, "\"ok\" and \"impossible\" exclude each other");
    if (read_reason(json_get(f->object, "reason"), &ret->reason, err) < 0)
        return -1;
    return read_criteria(json_get(f->object, "criteria"), ret->ok, &ret->criteria, err);
}

int judge_read(struct str answer, struct judge_verdict *ret, struct err *err)
{
    CLEANUP(judge_verdict_release) struct judge_verdict v = JUDGE_VERDICT_INIT;
    CLEANUP(finding_release) struct finding f = {0};

    if (finding_find(&f, answer, err) < 0 || read_object(&f, &v, err) < 0)
        return -1;
    ret->ok = v.ok;
    ret->impossible = v.impossible;
    buf_move(&ret->reason, &v.reason);
    buf_move(&ret->criteria, &v.criteria);
    return 0;
}
