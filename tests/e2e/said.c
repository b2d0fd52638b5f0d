/*
 * said: reads stream-json, line by line. Main thread.
 */
#include "said.h"

#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "json/json.h"

static struct said_call *said_find(struct said *s, struct str id)
{
    VEC_EACH(&s->calls, c) {
        if (str_eq(c->id, id))
            return c;
    }
    return NULL;
}

static int said_add_call(struct said *s, const struct json *block, struct err *err)
{
    struct said_call c = {
        .id = json_get_str(block, "id"),
        .name = json_get_str(block, "name"),
        .input = json_get(block, "input"),
        .retries = s->retries,
    };

    if (!c.id.len || said_find(s, c.id))
        return err_set(err, ERR_PROTOCOL, "a call without an id of its own: '%.*s'", STR_ARG(c.id));
    vec_push(&s->calls, c);
    return 0;
}

static int said_add_result(struct said *s, const struct json *block, struct err *err)
{
    struct str id = json_get_str(block, "tool_use_id");
    struct said_call *c = said_find(s, id);
    const struct json *content = json_get(block, "content");
    CLEANUP(buf_release) struct buf text = BUF_INIT(BUF_NO_LIMIT);

    if (!c || c->results)
        return err_set(err, ERR_PROTOCOL, "a result of %s: '%.*s'",
                       c ? "a call that has one" : "no call", STR_ARG(id));
    if (c > s->calls.ptr && !c[-1].results)
        return err_set(err, ERR_PROTOCOL, "the result of '%.*s' comes before that of '%.*s'",
                       STR_ARG(id), STR_ARG(c[-1].id));
    buf_add(&text, json_str(content));
    JSON_EACH(content, part) {
        buf_add(&text, json_get_str(part, "text"));
        c->has_image = c->has_image || str_is(json_get_str(part, "type"), "image");
    }
    c->text = arena_str(&s->arena, buf_str(&text));
    c->is_error = json_get_bool(block, "is_error", false);
    c->results++;
    return 0;
}

static int said_add_line(struct said *s, const struct json *line, struct err *err)
{
    struct str type = json_get_str(line, "type");

    s->is_last = str_is(type, "result");
    if (s->is_last)
        s->result = line;
    s->retries += str_is(json_get_str(line, "subtype"), "api_retry");
    if (!s->init && str_is(json_get_str(line, "subtype"), "init"))
        s->init = line;
    if (!str_is(type, "assistant") && !str_is(type, "user"))
        return 0;
    JSON_EACH(json_path(line, "message.content"), block) {
        struct str kind = json_get_str(block, "type");

        if (str_is(kind, "tool_use") && said_add_call(s, block, err) < 0)
            return -1;
        if (str_is(kind, "tool_result") && said_add_result(s, block, err) < 0)
            return -1;
    }
    return 0;
}

int said_read(struct said *s, struct str out, struct err *err)
{
    struct str line;

    *s = (struct said){.arena = ARENA_INIT};
    if (out.len && out.ptr[out.len - 1] != '\n')
        return err_set(err, ERR_PROTOCOL, "the last line is not whole");
    while (str_cut(&out, '\n', &line)) {
        const struct json *v;

        if (!line.len)
            continue;
        if (json_parse(&s->arena, line, &v, /*ret_info=*/NULL, err) < 0)
            return err_prefix(err, "'%.*s'", STR_ARG(str_clip(line, 100)));
        if (!json_is(v, JSON_OBJECT))
            return err_set(err, ERR_PROTOCOL, "a line is no object");
        if (said_add_line(s, v, err) < 0)
            return -1;
    }
    VEC_EACH(&s->calls, c) {
        if (c->results != 1)
            return err_set(err, ERR_PROTOCOL, "the call '%.*s' (%.*s) has no result",
                           STR_ARG(c->id), STR_ARG(c->name));
    }
    return 0;
}

void said_release(struct said *s)
{
    vec_release(&s->calls);
    arena_release(&s->arena);
}
