/*
 * The JSON of one message for chat completions. Runs on the thread of the agent that makes the
 * request.
 */
#include "llm/dialect/chat_piece.h"

#include "base/arena.h"
#include "base/buf.h"
#include "json/json.h"
#include "json/jw.h"
#include "llm/dialect/chat_server.h"
#include "llm/dialect/dialect.h"
#include "llm/dialect/wire.h"
#include "llm/message.h"
#include "llm/model.h"

#define SHORT_ID_LEN 9

struct piece_writer {
    const struct llm_request *req;
    const struct chat_server *server;
    struct arena arena; /* provider_data being read */
};

/* The id of a call in the request: the vendor's own, else ours. */
static struct str call_id(struct piece_writer *c, const struct block *call, struct str ours,
                          char space[static SHORT_ID_LEN])
{
    static const char digits[] = "0123456789abcdefghijklmnopqrstuvwxyz";
    struct str id = wire_vendor_id(c->req, call, &c->arena);

    if (id.len)
        return id;
    if (!(c->server->habits & CHAT_SHORT_IDS))
        return ours;
    uint64_t hash = str_hash(ours);
    for (size_t i = 0; i < SHORT_ID_LEN; i++) {
        space[i] = digits[hash % 36];
        hash /= 36;
    }
    return str_make(space, SHORT_ID_LEN);
}

/* Whether the server accepts this image or document. */
static bool takes(const struct piece_writer *c, const struct block *b)
{
    if (b->kind == BLOCK_DOCUMENT && !(b->data.len && (c->server->habits & CHAT_FILES)))
        return false;
    return wire_takes(c->req, b);
}

static void write_result(struct piece_writer *c, struct jw *w, size_t at, const struct block *b)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(BUF_NO_LIMIT);
    char space[SHORT_ID_LEN];

    wire_result_text(b, &text);
    for (size_t i = 0; i < b->content_len; i++) {
        const struct block *part = &b->content[i];

        if (part->kind != BLOCK_IMAGE && (part->kind != BLOCK_DOCUMENT || part->text.len))
            continue;
        if (text.len)
            buf_addc(&text, '\n');
        if (takes(c, part))
            buf_adds(&text, part->kind == BLOCK_IMAGE ? "[image: in the next message]"
                                                      : "[document: in the next message]");
        else
            wire_left_out(c->req, part, &text);
    }

    jw_object(w);
    jw_kcstr(w, "role", "tool");
    jw_kstr(w, "tool_call_id", call_id(c, wire_call(c->req, at, b->id), b->id, space));
    jw_key(w, "content");
    wire_result_str(w, b, buf_str(&text));
    jw_object_end(w);
}

static void write_text_part(struct jw *w, struct str text)
{
    jw_object(w);
    jw_kcstr(w, "type", "text");
    jw_kstr(w, "text", text);
    jw_object_end(w);
}

static void write_image_part(struct jw *w, const struct block *b)
{
    jw_object(w);
    jw_kcstr(w, "type", "image_url");
    jw_key(w, "image_url");
    jw_object(w);
    jw_key(w, "url");
    wire_url(w, b);
    jw_kcstr(w, "detail", "auto");
    jw_object_end(w);
    jw_object_end(w);
}

static void write_file_part(struct jw *w, const struct block *b)
{
    jw_object(w);
    jw_kcstr(w, "type", "file");
    jw_key(w, "file");
    jw_object(w);
    jw_kstr(w, "filename", wire_file_name(b));
    jw_key(w, "file_data");
    wire_url(w, b);
    jw_object_end(w);
    jw_object_end(w);
}

/* One block of a user message as an element of a content array. */
static void write_part(struct piece_writer *c, struct jw *w, const struct block *b)
{
    if (b->text.len) {
        write_text_part(w, b->text);
    } else if (b->kind != BLOCK_IMAGE && b->kind != BLOCK_DOCUMENT) {
        return;
    } else if (!takes(c, b)) {
        CLEANUP(buf_release) struct buf note = BUF_INIT(BUF_NO_LIMIT);

        wire_left_out(c->req, b, &note);
        write_text_part(w, buf_str(&note));
    } else if (b->kind == BLOCK_IMAGE) {
        write_image_part(w, b);
    } else {
        write_file_part(w, b);
    }
}

/* True for content that cannot be part of a string. */
static bool is_media(const struct piece_writer *c, const struct block *b)
{
    return (b->kind == BLOCK_IMAGE || b->kind == BLOCK_DOCUMENT) && !b->text.len && takes(c, b);
}

/* The `tool` messages of a user message. */
static void write_results(struct piece_writer *c, struct jw *w, size_t at)
{
    const struct message *m = c->req->messages[at];

    for (size_t i = 0; i < m->len; i++)
        if (m->blocks[i].kind == BLOCK_TOOL_RESULT)
            write_result(c, w, at, &m->blocks[i]);
}

/* The remaining blocks as one string. */
static void write_text(struct piece_writer *c, struct jw *w, const struct message *m)
{
    bool first = true;

    jw_str_begin(w);
    for (size_t i = 0; i < m->len; i++) {
        CLEANUP(buf_release) struct buf note = BUF_INIT(BUF_NO_LIMIT);
        const struct block *b = &m->blocks[i];
        struct str text = b->text;

        if (!text.len && (b->kind == BLOCK_IMAGE || b->kind == BLOCK_DOCUMENT)) {
            wire_left_out(c->req, b, &note);
            text = buf_str(&note);
        }
        if (!text.len)
            continue;
        if (!first)
            jw_str_part(w, STR("\n\n"));
        first = false;
        jw_str_part(w, text);
    }
    jw_str_end(w);
}

/* The remaining blocks as parts; images of tool results first, next to their results. */
static void write_parts(struct piece_writer *c, struct jw *w, const struct message *m)
{
    for (size_t i = 0; i < m->len; i++) {
        const struct block *b = &m->blocks[i];

        for (size_t k = 0; b->kind == BLOCK_TOOL_RESULT && k < b->content_len; k++)
            if (is_media(c, &b->content[k]))
                write_part(c, w, &b->content[k]);
    }
    for (size_t i = 0; i < m->len; i++)
        if (m->blocks[i].kind != BLOCK_TOOL_RESULT)
            write_part(c, w, &m->blocks[i]);
}

static bool has_media(const struct piece_writer *c, const struct message *m)
{
    for (size_t i = 0; i < m->len; i++) {
        const struct block *b = &m->blocks[i];

        if (is_media(c, b))
            return true;
        for (size_t k = 0; b->kind == BLOCK_TOOL_RESULT && k < b->content_len; k++)
            if (is_media(c, &b->content[k]))
                return true;
    }
    return false;
}

static void write_user(struct piece_writer *c, size_t at, struct buf *out)
{
    CLEANUP(buf_release) struct buf json = BUF_INIT(BUF_NO_LIMIT);
    const struct message *m = c->req->messages[at];
    struct jw w;

    jw_init(&w, &json, JW_CLEAN);
    jw_array(&w);
    write_results(c, &w, at);
    jw_array_end(&w);
    chat_piece_add_inside(out, &json);
    buf_addc(out, '\0');

    buf_clear(&json);
    jw_init(&w, &json, JW_CLEAN);
    if (has_media(c, m)) {
        buf_addc(out, 'P');
        jw_array(&w);
        write_parts(c, &w, m);
        jw_array_end(&w);
    } else {
        buf_addc(out, 'T');
        write_text(c, &w, m);
    }
    chat_piece_add_inside(out, &json);
}

/* The field that this block's thinking came in, if it is from this provider and family. */
static struct str reasoning_field(struct piece_writer *c, const struct block *b)
{
    if (b->kind != BLOCK_THINKING)
        return STR("");
    return json_get_str(block_data(b, c->req->model, &c->arena), "field");
}

/* Reasoning that came as a list of details is sent back as that list. */
static const struct json *reasoning_details(struct piece_writer *c, const struct message *m)
{
    for (size_t i = 0; i < m->len; i++) {
        const struct json *data = block_data(&m->blocks[i], c->req->model, &c->arena);
        const struct json *details = json_get(data, "reasoning_details");

        if (details)
            return details;
    }
    return NULL;
}

static void write_reasoning(struct piece_writer *c, struct jw *w, const struct message *m)
{
    bool calls = message_count(m, BLOCK_TOOL_USE) > 0;
    const struct json *details = reasoning_details(c, m);
    struct str field = STR("");

    if (details) {
        jw_kjson(w, "reasoning_details", details);
        return;
    }
    for (size_t i = 0; i < m->len && !field.len; i++)
        field = reasoning_field(c, &m->blocks[i]);
    if (str_is(field, "content")) /* already sent back as content */
        return;
    if (!calls && (c->server->habits & CHAT_REASONING_WITH_CALLS))
        return;
    if (!field.len) {
        if (calls && (c->server->habits & CHAT_CALLS_NEED_REASONING))
            jw_kcstr(w, "reasoning_content", "");
        return;
    }
    jw_key_str(w, field);
    jw_str_begin(w);
    for (size_t i = 0; i < m->len; i++)
        if (str_eq(reasoning_field(c, &m->blocks[i]), field))
            jw_str_part(w, m->blocks[i].text);
    jw_str_end(w);
}

/* Mistral's form: thinking and text as elements of the content. */
static void write_thinking_content(struct piece_writer *c, struct jw *w, const struct message *m)
{
    jw_array(w);
    for (size_t i = 0; i < m->len; i++) {
        const struct block *b = &m->blocks[i];

        if (str_is(reasoning_field(c, b), "content")) {
            jw_object(w);
            jw_kcstr(w, "type", "thinking");
            jw_key(w, "thinking");
            jw_array(w);
            write_text_part(w, b->text);
            jw_array_end(w);
            jw_object_end(w);
        } else if (b->kind == BLOCK_TEXT && b->text.len) {
            write_text_part(w, b->text);
        }
    }
    jw_array_end(w);
}

static void write_content(struct piece_writer *c, struct jw *w, const struct message *m)
{
    bool first = true;

    for (size_t i = 0; i < m->len; i++) {
        if (str_is(reasoning_field(c, &m->blocks[i]), "content")) {
            write_thinking_content(c, w, m);
            return;
        }
    }
    jw_str_begin(w); /* "" with calls, never null: some servers require it */
    for (size_t i = 0; i < m->len; i++) {
        const struct block *b = &m->blocks[i];

        if (b->kind != BLOCK_TEXT || !b->text.len)
            continue;
        if (!first)
            jw_str_part(w, STR("\n\n"));
        first = false;
        jw_str_part(w, b->text);
    }
    jw_str_end(w);
}

static void write_call(struct piece_writer *c, struct jw *w, const struct block *b)
{
    CLEANUP(buf_release) struct buf input = BUF_INIT(BUF_NO_LIMIT);
    const struct json *data = block_data(b, c->req->model, &c->arena);
    const struct json *extra = json_get(data, "extra_content");
    char space[SHORT_ID_LEN];

    block_input(b, &input);
    jw_object(w);
    jw_kstr(w, "id", call_id(c, b, b->id, space));
    jw_kcstr(w, "type", "function");
    jw_key(w, "function");
    jw_object(w);
    jw_key(w, "name");
    wire_name(w, b->name);
    jw_kstr(w, "arguments", buf_str(&input));
    jw_object_end(w);
    if (extra) /* Google's OpenAI-compatible API keeps thought signatures there */
        jw_kjson(w, "extra_content", extra);
    jw_object_end(w);
}

/* Nothing at all for a message that has nothing this dialect can say: an empty turn is refused. */
static void write_assistant(struct piece_writer *c, size_t at, struct buf *out)
{
    const struct message *m = c->req->messages[at];
    bool calls = message_count(m, BLOCK_TOOL_USE) > 0;
    bool text = false;
    struct jw w;

    for (size_t i = 0; i < m->len; i++)
        text = text || (m->blocks[i].kind == BLOCK_TEXT && m->blocks[i].text.len);
    if (!text && !calls)
        return;

    jw_init(&w, out, JW_CLEAN);
    jw_object(&w);
    jw_kcstr(&w, "role", "assistant");
    jw_key(&w, "content");
    write_content(c, &w, m);
    write_reasoning(c, &w, m);
    if (calls) {
        jw_key(&w, "tool_calls");
        jw_array(&w);
        for (size_t i = 0; i < m->len; i++)
            if (m->blocks[i].kind == BLOCK_TOOL_USE)
                write_call(c, &w, &m->blocks[i]);
        jw_array_end(&w);
    }
    jw_object_end(&w);
}

void chat_piece_add_inside(struct buf *out, const struct buf *json)
{
    buf_add(out, str_make(json->ptr + 1, json->len - 2));
}

void chat_piece_write(const struct llm_request *req, const struct chat_server *server, size_t at,
                      struct buf *out)
{
    struct piece_writer c = {.req = req, .server = server};

    if (req->messages[at]->role == ROLE_USER)
        write_user(&c, at, out);
    else
        write_assistant(&c, at, out);
    arena_release(&c.arena);
}
