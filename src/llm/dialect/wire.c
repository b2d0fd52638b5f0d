/*
 * Helpers for writing request bodies. Pure; runs on the thread of the agent that makes the request.
 */
#include "llm/dialect/wire.h"

#include "base/buf.h"
#include "base/err.h"
#include "json/json.h"
#include "json/jw.h"
#include "llm/dialect/dialect.h"
#include "llm/message.h"
#include "llm/model.h"

#define WIRE_HEAD_BYTES 2000 /* keys, model, limits */
#define WIRE_TOOL_BYTES 100  /* around the texts of a tool */

void wire_key(const struct llm_request *req, const char *dialect, struct buf *out)
{
    buf_addf(out, "%s %.*s %.*s", dialect, STR_ARG(req->model->provider),
             STR_ARG(req->model->name));
}

struct str wire_list(const struct llm_request *req, size_t at, struct str key, wire_list_fn write)
{
    struct message *m = req->messages[at];
    struct str made = message_wire_get(m, key);

    if (!made.len) {
        CLEANUP(buf_release) struct buf json = BUF_INIT(BUF_NO_LIMIT);
        struct jw w;
        struct wire_writer c = {.req = req, .arena = ARENA_INIT, .w = &w};

        jw_init(&w, &json, JW_CLEAN);
        jw_array(&w);
        write(&c, at);
        jw_array_end(&w);
        arena_release(&c.arena);
        message_wire_set(m, key, buf_str(&json));
        made = message_wire_get(m, key);
    }
    return str_make(made.ptr + 1, made.len - 2); /* without the brackets */
}

const struct block *wire_call(const struct llm_request *req, size_t at, struct str id)
{
    /* Results follow their calls directly; the loop goes further only in histories that were cut.
     */
    for (size_t i = at; i-- > 0;) {
        const struct message *m = req->messages[i];

        for (size_t k = 0; m->role == ROLE_ASSISTANT && k < m->len; k++)
            if (m->blocks[k].kind == BLOCK_TOOL_USE && str_eq(m->blocks[k].id, id))
                return &m->blocks[k];
    }
    return NULL;
}

struct str wire_vendor_id(const struct llm_request *req, const struct block *call,
                          struct arena *arena)
{
    return json_get_str(call ? block_data(call, req->model, arena) : NULL, "id");
}

void wire_name(struct jw *w, struct str name)
{
    char out[64];
    size_t n = 0;

    for (size_t i = 0; i < name.len && n < sizeof(out); i++) {
        char c = name.ptr[i];

        out[n++] = str_is_alnum(c) || c == '-' ? c : '_';
    }
    jw_str(w, n ? str_make(out, n) : STR("unnamed"));
}

void wire_result_text(const struct block *result, struct buf *out)
{
    size_t start = out->len;

    for (size_t i = 0; i < result->content_len; i++) {
        const struct block *b = &result->content[i];

        if ((b->kind != BLOCK_TEXT && b->kind != BLOCK_DOCUMENT) || !b->text.len)
            continue;
        if (out->len > start)
            buf_addc(out, '\n');
        buf_add(out, b->text);
    }
}

void wire_result_str(struct jw *w, const struct block *result, struct str text)
{
    jw_str_begin(w);
    if (result->is_error && !str_starts(text, STR("Error")))
        jw_str_part(w, STR("Error: "));
    jw_str_part(w, text);
    jw_str_end(w);
}

bool wire_takes(const struct llm_request *req, const struct block *b)
{
    if (!b->data.len && !b->url.len)
        return false;
    return b->kind == BLOCK_DOCUMENT || req->model->images;
}

void wire_left_out(const struct llm_request *req, const struct block *b, struct buf *out)
{
    const char *what = b->kind == BLOCK_IMAGE ? "image" : "document";

    if (b->data.len || b->url.len)
        buf_addf(out, "[%s left out: %.*s takes no %ss]", what, STR_ARG(req->model->name), what);
    else
        buf_addf(out, "[%s left out: it is empty]", what);
}

void wire_url(struct jw *w, const struct block *b)
{
    if (!b->data.len) {
        jw_str(w, b->url);
        return;
    }
    jw_str_begin(w);
    jw_str_part(w, STR("data:"));
    jw_str_part(w, b->media_type.len        ? b->media_type
                   : b->kind == BLOCK_IMAGE ? STR("image/png")
                                            : STR("application/pdf"));
    jw_str_part(w, STR(";base64,"));
    jw_str_part(w, b->data);
    jw_str_end(w);
}

struct str wire_file_name(const struct block *b)
{
    if (b->title.len)
        return b->title;
    return str_is(b->media_type, "application/pdf") ? STR("document.pdf") : STR("document");
}

void wire_schema(struct jw *w, struct str schema)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    const struct json *v = NULL;

    if (json_parse(&arena, schema, &v, /*ret_info=*/NULL, /*err=*/NULL) == 0 &&
        json_is(v, JSON_OBJECT))
        jw_json(w, v);
    else
        jw_raw(w, STR("{\"type\":\"object\",\"properties\":{}}"));
}

void wire_tool_schema(struct jw *w, const struct llm_tool *t)
{
    if (t->is_clean)
        jw_raw(w, t->schema);
    else
        wire_schema(w, t->schema);
}

static void write_made(struct jw *w, struct str text, struct str json)
{
    if (json.len)
        jw_raw(w, json);
    else
        jw_str(w, text);
}

void wire_description(struct jw *w, const struct llm_tool *t)
{
    write_made(w, t->description, t->description_json);
}

void wire_system(struct jw *w, const struct llm_request *req)
{
    write_made(w, req->system, req->system_json);
}

size_t wire_head_room(const struct llm_request *req)
{
    size_t room = WIRE_HEAD_BYTES + (req->system_json.len ? req->system_json : req->system).len;

    for (size_t i = 0; i < req->tool_count; i++) {
        const struct llm_tool *t = &req->tools[i];

        room += WIRE_TOOL_BYTES + t->name.len + t->schema.len +
                (t->description_json.len ? t->description_json : t->description).len;
    }
    return room;
}

int64_t wire_max_tokens(const struct llm_request *req)
{
    int64_t n = req->max_tokens > 0 ? req->max_tokens : req->model->default_output;

    return n > 0 ? n : 0;
}

int wire_check(const struct buf *out, size_t start, struct err *err)
{
    if (out->over || out->len - start > WIRE_MAX_BYTES)
        return err_set(
            err, ERR_TOO_BIG,
            "the request is %.1f MB long, and %zu MB is the most that is taken: with fewer "
            "or smaller images, or compacted, it would fit",
            (double)(out->len - start) / (1 << 20), WIRE_MAX_BYTES >> 20);
    return 0;
}
