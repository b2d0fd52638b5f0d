/*
 * shorten: long values in short. Pure.
 */
#include "proto/shorten.h"

#include "base/arena.h"
#include "base/buf.h"
#include "json/json.h"
#include "json/jw.h"

#define SHORTEN_STRING_BYTES ((size_t)16 << 10) /* in what a tool answered a hook */
#define SHORTEN_NOTE_BYTES ((size_t)200)

/* A string value; of a longer one the beginning, and how long it was. */
static void write_cut(struct jw *w, struct str s, size_t max)
{
    CLEANUP(buf_release) struct buf note = BUF_INIT(SHORTEN_NOTE_BYTES);

    if (s.len <= max) {
        jw_str(w, s);
        return;
    }
    buf_addf(&note, "… (%zu bytes in all)", s.len);
    jw_str_begin(w);
    jw_str_part(w, str_clip(s, max));
    jw_str_part(w, buf_str(&note));
    jw_str_end(w);
}

/* A block that does not fit is named. */
static void write_named(struct jw *w, const struct json *block)
{
    CLEANUP(buf_release) struct buf note = BUF_INIT(SHORTEN_NOTE_BYTES);
    struct str type = json_get_str(block, "type");
    struct str media = json_str(json_path(block, "source.media_type"));

    buf_addf(&note, "[%.*s%s%.*s, %zu bytes: not repeated here]", STR_ARG(str_clip(type, 40)),
             media.len ? " " : "", STR_ARG(str_clip(media, 40)), json_raw(block).len);
    jw_object(w);
    jw_kcstr(w, "type", "text");
    jw_kstr(w, "text", buf_str(&note));
    jw_object_end(w);
}

void shorten_content(struct jw *w, const struct json *content, size_t max_bytes)
{
    size_t left = max_bytes;

    if (!json_is(content, JSON_ARRAY)) {
        write_cut(w, json_str(content), left / SHORTEN_ESCAPES);
        return;
    }
    jw_array(w);
    JSON_EACH(content, block) {
        size_t before = w->out->len;

        if (json_raw(block).len <= left) {
            jw_json(w, block);
        } else if (str_is(json_get_str(block, "type"), "text")) {
            jw_object(w);
            jw_kcstr(w, "type", "text");
            jw_key(w, "text");
            write_cut(w, json_get_str(block, "text"), left / SHORTEN_ESCAPES);
            jw_object_end(w);
        } else {
            write_named(w, block);
        }
        left -= left < w->out->len - before ? left : w->out->len - before;
    }
    jw_array_end(w);
}

/* As deep as the parser lets it be. */
static void write_cut_strings(struct jw *w, const struct json *v)
{
    switch (json_type(v)) {
    case JSON_STRING:
        write_cut(w, json_str(v), SHORTEN_STRING_BYTES);
        break;
    case JSON_ARRAY:
        jw_array(w);
        JSON_EACH(v, item) {
            write_cut_strings(w, item);
        }
        jw_array_end(w);
        break;
    case JSON_OBJECT:
        jw_object(w);
        JSON_EACH(v, member) {
            jw_key_str(w, json_key(member));
            write_cut_strings(w, member);
        }
        jw_object_end(w);
        break;
    default:
        jw_json(w, v);
    }
}

void shorten_hook_input(struct jw *w, struct str json)
{
    struct arena arena = ARENA_INIT;
    const struct json *input = NULL;

    if (json.len <= SHORTEN_LINE_BYTES || json_parse(&arena, json, &input, NULL, NULL) < 0) {
        jw_raw(w, json);
        return;
    }
    jw_object(w);
    JSON_EACH(input, member) {
        struct str key = json_key(member);

        jw_key_str(w, key);
        if (str_is(key, "tool_response") || str_is(key, "error"))
            write_cut_strings(w, member);
        else
            jw_json(w, member);
    }
    jw_object_end(w);
    arena_release(&arena);
}
