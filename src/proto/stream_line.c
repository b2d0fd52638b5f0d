/*
 * stream_line: what all lines share. Pure.
 */
#include "proto/stream_line.h"

#include <string.h>

#include "agent/event.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/clock.h"
#include "json/json.h"
#include "proto/shorten.h"

struct jw *line_begin(struct stream_line *l, struct buf *out, const struct event *e,
                      unsigned number, const char *type, const char *subtype)
{
    *l = (struct stream_line){.event = e, .number = number};
    jw_init(&l->w, out, JW_CLEAN);
    jw_object(&l->w);
    jw_kcstr(&l->w, "type", type);
    if (subtype)
        jw_kcstr(&l->w, "subtype", subtype);
    return &l->w;
}

void line_end(struct stream_line *l)
{
    static const char digits[] = "0123456789abcdef";
    char uuid[ID_UUID_LEN + 1];

    memcpy(uuid, l->event->uuid, sizeof(uuid));
    for (unsigned n = l->number, i = 0; n; n >>= 4, i++) {
        const char *was = strchr(digits, uuid[7 - i]);

        uuid[7 - i] = digits[((was && *was ? (unsigned)(was - digits) : 0) + (n & 15)) & 15];
    }
    jw_kcstr(&l->w, "session_id", l->event->by.session);
    jw_kcstr(&l->w, "uuid", uuid);
    jw_object_end(&l->w);
    buf_addc(l->w.out, '\n');
}

void line_time(struct jw *w, const struct event *e)
{
    char when[25];

    clock_iso(e->time_ms, when);
    jw_kcstr(w, "timestamp", when);
}

/* A block as the API has it: without the keys that are only ours. */
void line_block(struct jw *w, struct str json)
{
    struct arena arena = ARENA_INIT;
    const struct json *block = NULL;
    bool is_long = json.len > SHORTEN_LINE_BYTES;
    bool is_result;

    if (json_parse(&arena, json, &block, NULL, NULL) < 0) {
        arena_release(&arena);
        jw_null(w); /* nested beyond all limits */
        return;
    }
    is_result = str_is(json_get_str(block, "type"), "tool_result");
    jw_object(w);
    JSON_EACH(block, member) {
        struct str key = json_key(member);

        if (str_is(key, "provider_data") || str_is(key, "input_text") ||
            (is_result && str_is(key, "name")))
            continue;
        jw_key_str(w, key);
        if (is_result && is_long && str_is(key, "content"))
            shorten_content(w, member, SHORTEN_LINE_BYTES / 2);
        else if (is_result && str_is(key, "content") && json_is(member, JSON_STRING))
            jw_str(w, str_chomp(json_str(member))); /* clients show it as it is */
        else
            jw_json(w, member);
    }
    if (is_result && !json_get(block, "is_error"))
        jw_kbool(w, "is_error", false);
    jw_object_end(w);
    arena_release(&arena);
}

void line_parent(struct jw *w, const struct event *e)
{
    jw_kcstr(w, "parent_tool_use_id", e->by.parent);
    if (identity_is_main(&e->by) || !e->by.depth)
        return;
    jw_kcstr(w, "agent_id", e->by.agent);
    jw_kcstr(w, "subagent_type", e->by.type);
    if (e->by.task)
        jw_kcstr(w, "task_description", e->by.task);
}

void line_empty_list(struct jw *w, const char *key)
{
    jw_key(w, key);
    jw_array(w);
    jw_array_end(w);
}

/* Where the next of both begins; lines.len: there is none. */
static size_t line_next_break(struct str lines)
{
    size_t at = 0;

    while (lines.len - at >= 3) {
        const char *p = memchr(lines.ptr + at, '\xe2', lines.len - at - 2);

        if (!p)
            break;
        at = (size_t)(p - lines.ptr);
        if (memcmp(p, "\xe2\x80\xa8", 3) == 0 || memcmp(p, "\xe2\x80\xa9", 3) == 0)
            return at;
        at++;
    }
    return lines.len;
}

bool line_escape_breaks(struct str lines, struct buf *ret)
{
    size_t at = line_next_break(lines);

    if (at == lines.len)
        return false;
    for (; at < lines.len; at = line_next_break(lines)) {
        buf_add(ret, str_first(lines, at));
        buf_adds(ret, lines.ptr[at + 2] == '\xa8' ? "\\u2028" : "\\u2029");
        lines = str_from(lines, at + 3);
    }
    buf_add(ret, lines);
    return true;
}
