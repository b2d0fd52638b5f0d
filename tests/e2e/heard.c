/*
 * heard: walks each request's messages once. Where the dialects differ is in two functions that
 * list the calls and the results of a message; the rules stand once. Main thread.
 */
#include "heard.h"

#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/strv.h"
#include "json/json.h"

#define HEARD_MAX_DEPTH 100

/* How a dialect says it. */
struct heard_dialect {
    const char *name;
    const char *user, *assistant, *results; /* roles */
    void (*list_calls)(const struct json *message, struct strv *ids);
    void (*list_results)(const struct json *message, struct strv *ids);
};

static void anthropic_calls(const struct json *message, struct strv *ids)
{
    JSON_EACH(json_get(message, "content"), block) {
        if (str_is(json_get_str(block, "type"), "tool_use"))
            strv_add(ids, json_get_str(block, "id"));
    }
}

/* Results come first: one after something else is not counted, and reported missing. */
static void anthropic_results(const struct json *message, struct strv *ids)
{
    JSON_EACH(json_get(message, "content"), block) {
        if (!str_is(json_get_str(block, "type"), "tool_result"))
            return;
        strv_add(ids, json_get_str(block, "tool_use_id"));
    }
}

static void chat_calls(const struct json *message, struct strv *ids)
{
    JSON_EACH(json_get(message, "tool_calls"), call) {
        strv_add(ids, json_get_str(call, "id"));
    }
}

static void chat_results(const struct json *message, struct strv *ids)
{
    if (str_is(json_get_str(message, "role"), "tool"))
        strv_add(ids, json_get_str(message, "tool_call_id"));
}

static const struct heard_dialect heard_dialects[] = {
    {"anthropic", "user", "assistant", "user", anthropic_calls, anthropic_results},
    {"openai-chat", "user", "assistant", "tool", chat_calls, chat_results},
};

/* What the walk knows of the messages so far. */
struct heard_walk {
    const struct heard_dialect *dialect;
    struct strv open; /* calls of the last answer */
    size_t answered;  /* of them */
    struct strv ids;  /* of all calls */
    struct str last;  /* role of the last message; empty: none yet */
};

static int walk_answer(struct heard_walk *w, const struct json *message, struct err *err)
{
    if (!w->last.len || str_is(w->last, w->dialect->assistant))
        return err_set(err, ERR_PROTOCOL, "an answer stands where the user should speak");
    strv_clear(&w->open);
    w->answered = 0;
    w->dialect->list_calls(message, &w->open);
    for (size_t i = 0; i < w->open.len; i++) {
        if (strv_has(&w->ids, str_of(w->open.ptr[i])))
            return err_set(err, ERR_PROTOCOL, "the id %s is used twice", w->open.ptr[i]);
        strv_adds(&w->ids, w->open.ptr[i]);
    }
    return 0;
}

static int walk_results(struct heard_walk *w, const struct json *message, struct err *err)
{
    CLEANUP(strv_release) struct strv results = STRV_INIT;

    w->dialect->list_results(message, &results);
    for (size_t i = 0; i < results.len; i++) {
        if (w->answered == w->open.len)
            return err_set(err, ERR_PROTOCOL, "the result %s has no call", results.ptr[i]);
        if (strcmp(results.ptr[i], w->open.ptr[w->answered]) != 0)
            return err_set(err, ERR_PROTOCOL, "the result %s stands where %s should",
                           results.ptr[i], w->open.ptr[w->answered]);
        w->answered++;
    }
    return 0;
}

static int walk_all_answered(const struct heard_walk *w, struct err *err)
{
    if (w->answered < w->open.len)
        return err_set(err, ERR_PROTOCOL, "the call %s has no result", w->open.ptr[w->answered]);
    return 0;
}

static int walk_message(struct heard_walk *w, const struct json *message, struct err *err)
{
    struct str role = json_get_str(message, "role");
    bool is_user = str_is(role, w->dialect->user);
    int r = 0;

    if (is_user && str_is(w->last, w->dialect->user))
        return err_set(err, ERR_PROTOCOL, "the user speaks twice");
    if (is_user || str_is(role, w->dialect->results)) {
        r = walk_results(w, message, err);
        if (r == 0 && is_user)
            r = walk_all_answered(w, err);
    } else if (str_is(role, w->dialect->assistant)) {
        r = walk_all_answered(w, err);
        if (r == 0)
            r = walk_answer(w, message, err);
    } else if (w->last.len) { /* system, developer: only before all others */
        return err_set(err, ERR_PROTOCOL, "a message of '%.*s' in the middle", STR_ARG(role));
    } else {
        return 0;
    }
    w->last = role;
    return r;
}

static int walk_messages(struct heard_walk *w, const struct json *messages, struct err *err)
{
    JSON_EACH(messages, message) {
        if (walk_message(w, message, err) < 0)
            return -1;
    }
    if (walk_all_answered(w, err) < 0)
        return -1;
    if (!w->last.len || str_is(w->last, w->dialect->assistant))
        return err_set(err, ERR_PROTOCOL, "it does not end with the user");
    return 0;
}

/* The same except the places of the cache breakpoints. */
static bool heard_same(const struct json *a, const struct json *b, int depth)
{
    const struct json *x = json_first(a);
    const struct json *y = json_first(b);

    if (json_type(a) != json_type(b) || depth > HEARD_MAX_DEPTH)
        return false;
    if (!json_is(a, JSON_OBJECT) && !json_is(a, JSON_ARRAY))
        return json_equal(a, b);
    for (;; x = json_next(x), y = json_next(y)) {
        if (x && str_is(json_key(x), "cache_control"))
            x = json_next(x);
        if (y && str_is(json_key(y), "cache_control"))
            y = json_next(y);
        if (!x || !y)
            return !x && !y;
        if (!str_eq(json_key(x), json_key(y)) || !heard_same(x, y, depth + 1))
            return false;
    }
}

/* No earlier message is changed or removed. */
static int heard_goes_on(const struct json *before, const struct json *now, struct err *err)
{
    const struct json *b = json_first(now);
    size_t at = 0;

    JSON_EACH(before, a) {
        if (!b || !heard_same(a, b, 0))
            return err_set(err, ERR_PROTOCOL, "message %zu is not what it was", at);
        b = json_next(b);
        at++;
    }
    return 0;
}

static int heard_request(const struct heard_dialect *dialect, const struct json *first,
                         const struct json *before, const struct json *body, struct err *err)
{
    static const char *const fixed[] = {"system", "tools", "model"};
    struct heard_walk walk = {.dialect = dialect};
    int r;

    for (size_t i = 0; i < ARRAY_LEN(fixed); i++) {
        if (!str_eq(json_raw(json_get(first, fixed[i])), json_raw(json_get(body, fixed[i]))))
            return err_set(err, ERR_PROTOCOL, "'%s' is not what it was", fixed[i]);
    }
    if (!json_len(json_get(body, "tools")))
        return err_set(err, ERR_PROTOCOL, "there are no tools");
    r = walk_messages(&walk, json_get(body, "messages"), err);
    strv_release(&walk.open);
    strv_release(&walk.ids);
    if (r < 0)
        return -1;
    return heard_goes_on(json_get(before, "messages"), json_get(body, "messages"), err);
}

static const struct heard_dialect *heard_dialect(const char *name)
{
    for (size_t i = 0; i < ARRAY_LEN(heard_dialects); i++) {
        if (strcmp(heard_dialects[i].name, name) == 0)
            return &heard_dialects[i];
    }
    return NULL;
}

int heard_check(struct str record, const char *dialect, size_t *ret_requests, struct err *err)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    const struct heard_dialect *d = heard_dialect(dialect);
    const struct json *first = NULL;
    const struct json *before = NULL;
    struct str line;
    size_t n = 0;

    if (!d)
        return err_set(err, ERR_BAD_INPUT, "no rules for '%s'", dialect);
    while (str_cut(&record, '\n', &line)) {
        const struct json *request;
        const struct json *body;

        if (!line.len)
            continue;
        if (json_parse(&arena, line, &request, /*ret_info=*/NULL, err) < 0)
            return -1;
        body = json_get(request, "body");
        n++;
        first = first ? first : body;
        if (heard_request(d, first, before, body, err) < 0)
            return err_prefix(err, "request %zu", n);
        before = body;
    }
    *ret_requests = n;
    return 0;
}
