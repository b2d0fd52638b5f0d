/*
 * Writes and reads a message as JSON in the form of the Messages API, which transcripts use, too.
 *
 * Always one line, since transcripts are read by lines: raw JSON with several lines is joined (in
 * valid JSON, line ends occur only between tokens). What this form cannot represent (the exact
 * bytes of an unusual input, vendor data) is written with keys of our own, which other readers
 * ignore.
 */
#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"
#include "json/json.h"
#include "json/jw.h"
#include "llm/message.h"

#define PROVIDER_DATA ",\"provider_data\":"

static bool has_line_end(struct str s)
{
    return str_chr(s, '\n') < s.len || str_chr(s, '\r') < s.len;
}

/* Raw JSON on one line. */
static void write_raw(struct jw *w, struct str json)
{
    CLEANUP(mem_freep) char *line = NULL;

    if (has_line_end(json)) {
        line = mem_dup(json.ptr, json.len);
        for (size_t i = 0; i < json.len; i++) {
            if (line[i] == '\n' || line[i] == '\r')
                line[i] = ' ';
        }
        json.ptr = line;
    }
    jw_raw(w, json);
}

static bool is_plain_text(const struct block *b)
{
    return b->kind == BLOCK_TEXT && b->text.len && !b->raw.len && !b->provider_data.len;
}

static void write_source(struct jw *w, const struct block *b)
{
    jw_key(w, "source");
    jw_object(w);
    if (b->url.len) {
        jw_kcstr(w, "type", "url");
        jw_kstr(w, "url", b->url);
    } else if (b->text.len) {
        jw_kcstr(w, "type", "text");
        jw_kstr(w, "media_type", b->media_type);
        jw_kstr(w, "data", b->text);
    } else {
        jw_kcstr(w, "type", "base64");
        jw_kstr(w, "media_type", b->media_type);
        jw_kstr(w, "data", b->data);
    }
    jw_object_end(w);
}

/* Whether the member `input` has other bytes than the model sent. */
static bool input_differs(const struct block *b)
{
    return b->kind == BLOCK_TOOL_USE &&
           (b->input_bad || has_line_end(b->input) || str_trim(b->input).len != b->input.len);
}

static void write_input(struct jw *w, const struct block *b)
{
    struct str input = str_trim(b->input);

    if (b->input_bad || !input.len)
        jw_kraw(w, "input", STR("{}"));
    else {
        jw_key(w, "input");
        write_raw(w, input);
    }
}

/* Members that are ours. */
static void write_own(struct jw *w, const struct block *b)
{
    if (input_differs(b))
        jw_kstr(w, "input_text", b->input);
    if (b->provider_data.len) {
        jw_key(w, "provider_data");
        write_raw(w, b->provider_data);
    }
}

/* Writes an unknown block unchanged, with our key inserted before its last brace. */
static void write_other(struct jw *w, const struct block *b, bool with_own)
{
    CLEANUP(buf_release) struct buf all = BUF_INIT(BUF_NO_LIMIT);

    if (!with_own || !b->provider_data.len) {
        write_raw(w, b->raw);
        return;
    }
    buf_add(&all, str_first(b->raw, b->raw.len - 1));
    buf_adds(&all, PROVIDER_DATA);
    buf_add(&all, b->provider_data);
    buf_addc(&all, '}');
    write_raw(w, buf_str(&all));
}

static void write_block(struct jw *w, const struct block *b, bool with_own);

static void write_content(struct jw *w, const struct block *blocks, size_t len)
{
    jw_key(w, "content");
    if (len == 1 && is_plain_text(blocks)) {
        jw_str(w, blocks->text);
        return;
    }
    jw_array(w);
    for (size_t i = 0; i < len; i++)
        write_block(w, &blocks[i], /*with_own=*/true);
    jw_array_end(w);
}

static void write_block(struct jw *w, const struct block *b, bool with_own)
{
    if (b->kind == BLOCK_OTHER) {
        write_other(w, b, with_own);
        return;
    }
    jw_object(w);
    switch (b->kind) {
    case BLOCK_TEXT:
        jw_kcstr(w, "type", "text");
        jw_kstr(w, "text", b->text);
        if (b->raw.len) {
            jw_key(w, "citations");
            write_raw(w, b->raw);
        }
        break;
    case BLOCK_THINKING:
        jw_kcstr(w, "type", "thinking");
        jw_kstr(w, "thinking", b->text);
        jw_kstr(w, "signature", b->signature);
        break;
    case BLOCK_REDACTED_THINKING:
        jw_kcstr(w, "type", "redacted_thinking");
        jw_kstr(w, "data", b->data);
        break;
    case BLOCK_TOOL_USE:
        jw_kcstr(w, "type", "tool_use");
        jw_kstr(w, "id", b->id);
        jw_kstr(w, "name", b->name);
        write_input(w, b);
        break;
    case BLOCK_TOOL_RESULT:
        jw_kcstr(w, "type", "tool_result");
        jw_kstr(w, "tool_use_id", b->id);
        if (with_own && b->name.len)
            jw_kstr(w, "name", b->name);
        write_content(w, b->content, b->content_len);
        if (b->is_error)
            jw_kbool(w, "is_error", true);
        break;
    case BLOCK_IMAGE:
        jw_kcstr(w, "type", "image");
        write_source(w, b);
        break;
    case BLOCK_DOCUMENT:
        jw_kcstr(w, "type", "document");
        write_source(w, b);
        if (b->title.len)
            jw_kstr(w, "title", b->title);
        break;
    case BLOCK_OTHER:
        break;
    }
    if (with_own)
        write_own(w, b);
    jw_object_end(w);
}

void block_write(const struct block *b, struct buf *out)
{
    struct jw w;

    jw_init(&w, out, 0);
    write_block(&w, b, /*with_own=*/true);
}

void block_write_plain(const struct block *b, struct buf *out)
{
    struct jw w;

    jw_init(&w, out, 0);
    write_block(&w, b, /*with_own=*/false);
}

bool blocks_write_own(const struct block *blocks, size_t count, struct buf *out)
{
    bool any = false;
    struct jw w;

    for (size_t i = 0; i < count; i++)
        any = any || blocks[i].provider_data.len || input_differs(&blocks[i]);
    if (!any)
        return false;
    jw_init(&w, out, 0);
    jw_array(&w);
    for (size_t i = 0; i < count; i++) {
        jw_object(&w);
        write_own(&w, &blocks[i]);
        jw_object_end(&w);
    }
    jw_array_end(&w);
    return true;
}

void message_add_own(struct message *m, const struct json *list)
{
    size_t i = 0;

    JSON_EACH(list, own) {
        const struct json *input = json_get(own, "input_text");
        const struct json *data = json_get(own, "provider_data");

        if (i == m->len)
            return;
        if (json_is(data, JSON_OBJECT))
            m->blocks[i].provider_data = arena_str(&m->arena, json_raw(data));
        if (m->blocks[i].kind == BLOCK_TOOL_USE && json_is(input, JSON_STRING)) {
            m->blocks[i].input = arena_str(&m->arena, json_str(input));
            m->blocks[i].input_bad = block_input_is_bad(m->blocks[i].input);
        }
        i++;
    }
}

void message_write(const struct message *m, struct buf *out)
{
    struct jw w;

    jw_init(&w, out, 0);
    jw_object(&w);
    if (m->role == ROLE_USER) {
        jw_kcstr(&w, "role", "user");
        write_content(&w, m->blocks, m->len);
    } else {
        if (m->id.len)
            jw_kstr(&w, "id", m->id);
        jw_kcstr(&w, "type", "message");
        jw_kcstr(&w, "role", "assistant");
        if (m->model.len)
            jw_kstr(&w, "model", m->model);
        jw_key(&w, "content"); /* always a list, as viewers expect it of assistants */
        jw_array(&w);
        for (size_t i = 0; i < m->len; i++)
            write_block(&w, &m->blocks[i], /*with_own=*/true);
        jw_array_end(&w);
    }
    jw_object_end(&w);
}

/* Reading. Slices point into the document (or the scratch arena) until message_add()
 * copies them. */

/* Whether all members of an object are among `keys`, a list of names between spaces. */
static bool has_only(const struct json *v, const char *keys)
{
    JSON_EACH(v, it) {
        struct str key = json_key(it);
        struct str rest = str_of(keys);
        struct str name;
        bool found = false;

        while (!found && str_cut(&rest, ' ', &name))
            found = str_eq(name, key);
        if (!found)
            return false;
    }
    return true;
}

static bool read_source(const struct json *v, struct block *b)
{
    const struct json *source = json_get(v, "source");
    struct str type = json_get_str(source, "type");

    if (!has_only(v, "type source title provider_data cache_control") ||
        !has_only(source, "type media_type data url"))
        return false;
    b->media_type = json_get_str(source, "media_type");
    b->title = json_get_str(v, "title");
    if (str_is(type, "base64"))
        b->data = json_get_str(source, "data");
    else if (str_is(type, "url"))
        b->url = json_get_str(source, "url");
    else if (str_is(type, "text") && b->kind == BLOCK_DOCUMENT)
        b->text = json_get_str(source, "data");
    else
        return false;
    return b->data.len || b->url.len || b->text.len;
}

static void read_input(const struct json *v, struct block *b)
{
    const struct json *text = json_get(v, "input_text");
    const struct json *input = json_get(v, "input");

    if (text && json_is(text, JSON_STRING)) {
        b->input = json_str(text);
        b->input_bad = block_input_is_bad(b->input);
    } else {
        b->input = json_raw(input);
        b->input_bad = input && !json_is(input, JSON_OBJECT);
    }
}

/* The original bytes of the block, without the provider_data that write_other() has added. */
static struct str other_raw(const struct json *v, struct arena *scratch)
{
    struct str raw = json_raw(v);
    struct str data = json_raw(json_get(v, "provider_data"));
    struct str key = STR(PROVIDER_DATA);
    size_t len; /* size of the part before our key */
    char *whole;

    if (!json_is(json_get(v, "provider_data"), JSON_OBJECT))
        return raw;
    if (!str_ends(str_first(raw, raw.len - 1), data))
        return raw;
    len = (size_t)(data.ptr - raw.ptr);
    if (!str_ends(str_first(raw, len), key))
        return raw;
    len -= key.len;
    whole = arena_cstr(scratch, str_first(raw, len + 1));
    whole[len] = '}';
    return str_make(whole, len + 1);
}

static bool read_known(const struct json *v, struct block *b)
{
    struct str type = json_get_str(v, "type");

    if (str_is(type, "text")) {
        b->kind = BLOCK_TEXT;
        b->text = json_get_str(v, "text");
        if (json_len(json_get(v, "citations")))
            b->raw = json_raw(json_get(v, "citations"));
        return json_is(json_get(v, "text"), JSON_STRING);
    }
    if (str_is(type, "thinking")) {
        b->kind = BLOCK_THINKING;
        b->text = json_get_str(v, "thinking");
        b->signature = json_get_str(v, "signature");
        return json_is(json_get(v, "thinking"), JSON_STRING);
    }
    if (str_is(type, "redacted_thinking")) {
        b->kind = BLOCK_REDACTED_THINKING;
        b->data = json_get_str(v, "data");
        return b->data.len;
    }
    if (str_is(type, "tool_use")) {
        b->kind = BLOCK_TOOL_USE;
        b->id = json_get_str(v, "id");
        b->name = json_get_str(v, "name");
        read_input(v, b);
        return b->id.len;
    }
    if (str_is(type, "tool_result")) {
        b->kind = BLOCK_TOOL_RESULT;
        b->id = json_get_str(v, "tool_use_id");
        b->name = json_get_str(v, "name");
        b->is_error = json_get_bool(v, "is_error", false);
        return b->id.len;
    }
    if (str_is(type, "image") || str_is(type, "document")) {
        b->kind = str_is(type, "image") ? BLOCK_IMAGE : BLOCK_DOCUMENT;
        return read_source(v, b);
    }
    return false;
}

bool block_type_is_ours(struct str type)
{
    static const char *const types[] = {"text", "thinking", "redacted_thinking", "tool_use",
                                        "tool_result"};

    for (size_t i = 0; i < ARRAY_LEN(types); i++) {
        if (str_is(type, types[i]))
            return true;
    }
    return false;
}

static int read_block(const struct json *v, struct arena *scratch, bool inside, struct block *ret,
                      struct err *err)
{
    struct block b = {0};

    if (!json_get_str(v, "type").len)
        return err_set(err, ERR_BAD_INPUT, "a content block is not an object with a type");
    /* Results, calls and thinking are not valid inside a result; if they occur, the block is kept
     * whole. */
    if (!read_known(v, &b) ||
        (inside && b.kind != BLOCK_TEXT && b.kind != BLOCK_IMAGE && b.kind != BLOCK_DOCUMENT))
        b = (struct block){.kind = BLOCK_OTHER, .raw = other_raw(v, scratch)};
    if (json_is(json_get(v, "provider_data"), JSON_OBJECT))
        b.provider_data = json_raw(json_get(v, "provider_data"));
    *ret = b;
    return 0;
}

static int read_result(const struct json *content, struct arena *scratch, struct block *b,
                       struct err *err)
{
    size_t room = json_is(content, JSON_STRING) ? 1 : json_len(content);

    b->content = arena_alloc(scratch, (room + 1) * sizeof(*b->content));
    if (json_is(content, JSON_STRING)) {
        if (json_str(content).len)
            b->content[b->content_len++] =
                (struct block){.kind = BLOCK_TEXT, .text = json_str(content)};
        return 0;
    }
    JSON_EACH(content, it) {
        if (read_block(it, scratch, /*inside=*/true, &b->content[b->content_len++], err) < 0)
            return -1;
    }
    return 0;
}

int message_parse(const struct json *v, struct message **ret, struct err *err)
{
    CLEANUP(arena_release) struct arena scratch = ARENA_INIT;
    CLEANUP(message_unrefp) struct message *m = NULL;
    struct str role = json_get_str(v, "role");
    const struct json *content = json_get(v, "content");

    if (!str_is(role, "user") && !str_is(role, "assistant"))
        return err_set(err, ERR_BAD_INPUT, "a message needs the role user or assistant");
    if (!json_is(content, JSON_STRING) && !json_is(content, JSON_ARRAY))
        return err_set(err, ERR_BAD_INPUT, "a message needs content: a text or a list of blocks");

    m = message_new(str_is(role, "user") ? ROLE_USER : ROLE_ASSISTANT, json_len(content));
    m->id = arena_str(&m->arena, json_get_str(v, "id"));
    m->model = arena_str(&m->arena, json_get_str(v, "model"));
    if (json_is(content, JSON_STRING))
        message_add(m, &(struct block){.kind = BLOCK_TEXT, .text = json_str(content)});
    if (json_is(content, JSON_ARRAY)) {
        JSON_EACH(content, it) {
            struct block b = {0};

            if (read_block(it, &scratch, /*inside=*/false, &b, err) < 0)
                return -1;
            if (b.kind == BLOCK_TOOL_RESULT &&
                read_result(json_get(it, "content"), &scratch, &b, err) < 0)
                return -1;
            message_add(m, &b);
        }
    }
    *ret = TAKE_PTR(m);
    return 0;
}
