/*
 * Messages: building, sharing, and the request JSON they store.
 *
 * Everything in a message is in its own arena, so that a compaction frees old messages at once.
 * After it is built only the reference count changes, possibly on several threads; the stored
 * request JSON belongs to the agent that owns the message.
 */
#include "llm/message.h"

#include <stdint.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "json/json.h"
#include "json/jw.h"
#include "llm/model.h"
#include "llm/part.h"
#include "llm/reply.h"

/* A session that switches between models needs two or three. */
#define WIRE_MAX_KEYS 4

struct message_wire {
    struct message_wire *next; /* older */
    struct str key;            /* both slices point behind the struct */
    struct str json;
    size_t room; /* for json */
};

struct message *message_new(enum role role, size_t room)
{
    struct message *m = mem_zalloc(sizeof(*m));

    m->role = role;
    m->refs = 1;
    m->cap = room ? room : 1;
    m->blocks = arena_alloc(&m->arena, m->cap * sizeof(*m->blocks));
    return m;
}

struct message *message_ref(struct message *m)
{
    __atomic_add_fetch(&m->refs, 1, __ATOMIC_RELAXED);
    return m;
}

void message_unref(struct message *m)
{
    if (!m || __atomic_sub_fetch(&m->refs, 1, __ATOMIC_ACQ_REL) > 0)
        return;
    while (m->wire) {
        struct message_wire *w = m->wire;

        m->wire = w->next;
        free(w);
    }
    arena_release(&m->arena);
    free(m);
}

void message_unrefp(struct message **m)
{
    message_unref(*m);
    *m = NULL;
}

static struct str copy(struct arena *arena, struct str s)
{
    return s.len ? arena_str(arena, s) : STR("");
}

static void copy_block(struct arena *arena, struct block *to, const struct block *from)
{
    *to = *from;
    to->text = copy(arena, from->text);
    to->signature = copy(arena, from->signature);
    to->data = copy(arena, from->data);
    to->id = copy(arena, from->id);
    to->name = copy(arena, from->name);
    to->input = copy(arena, from->input);
    to->media_type = copy(arena, from->media_type);
    to->url = copy(arena, from->url);
    to->title = copy(arena, from->title);
    to->raw = copy(arena, from->raw);
    to->provider_data = copy(arena, from->provider_data);
    to->entry = copy(arena, from->entry);
    to->content = NULL;
    to->content_len = 0;
}

struct block *message_add(struct message *m, const struct block *block)
{
    struct block *b;

    if (m->len == m->cap) {
        struct block *bigger = arena_alloc(&m->arena, 2 * m->cap * sizeof(*bigger));

        memcpy(bigger, m->blocks, m->len * sizeof(*bigger));
        m->blocks = bigger;
        m->cap *= 2;
    }
    b = &m->blocks[m->len++];
    copy_block(&m->arena, b, block);
    if (block->content_len) {
        b->content = arena_alloc(&m->arena, block->content_len * sizeof(*b->content));
        b->content_len = block->content_len;
        for (size_t i = 0; i < block->content_len; i++) /* results hold no results: one level */
            copy_block(&m->arena, &b->content[i], &block->content[i]);
    }
    return b;
}

struct message *message_user_text(struct str text)
{
    struct message *m = message_new(ROLE_USER, 1);

    message_add(m, &(struct block){.kind = BLOCK_TEXT, .text = text});
    return m;
}

struct message *message_copy(const struct message *m)
{
    struct message *to = message_new(m->role, m->len);

    for (size_t i = 0; i < m->len; i++)
        message_add(to, &m->blocks[i]);
    to->id = copy(&to->arena, m->id);
    to->model = copy(&to->arena, m->model);
    return to;
}

void message_text(const struct message *m, struct buf *out)
{
    for (size_t i = 0; i < m->len; i++) {
        if (m->blocks[i].kind == BLOCK_TEXT)
            buf_add(out, m->blocks[i].text);
    }
}

size_t message_count(const struct message *m, enum block_kind kind)
{
    size_t n = 0;

    for (size_t i = 0; i < m->len; i++)
        n += m->blocks[i].kind == kind;
    return n;
}

void block_raw(struct str json, struct buf *out)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    const struct json *v = NULL;
    struct jw w;

    /* Servers reject half a surrogate pair, as an escape or as bytes. */
    if (utf8_is_valid(json) && !str_has(json, STR("\\ud")) && !str_has(json, STR("\\uD"))) {
        buf_add(out, json);
        return;
    }
    jw_init(&w, out, JW_CLEAN);
    if (json_parse(&arena, json, &v, /*ret_info=*/NULL, /*err=*/NULL) == 0)
        jw_json(&w, v);
    else
        jw_null(&w);
}

bool block_input_is_bad(struct str input)
{
    CLEANUP(arena_release) struct arena scratch = ARENA_INIT;
    const struct json *v = NULL;

    if (!str_trim(input).len)
        return false;
    /* The parser skips a byte order mark, which is valid only at the start of a text; but an input
     * is written into the middle of others. */
    return str_starts(input, STR("\xef\xbb\xbf")) || part_is_deep(input, REPLY_MAX_DEPTH) ||
           json_parse(&scratch, input, &v, /*ret_info=*/NULL, /*err=*/NULL) < 0 ||
           !json_is(v, JSON_OBJECT);
}

void block_input(const struct block *b, struct buf *out)
{
    if (b->input_bad) {
        struct jw w;

        jw_init(&w, out, JW_CLEAN);
        jw_object(&w);
        jw_kstr(&w, "invalid_json", b->input);
        jw_object_end(&w);
        return;
    }
    if (!str_trim(b->input).len) {
        buf_adds(out, "{}");
        return;
    }
    block_raw(b->input, out);
}

const struct json *block_data(const struct block *b, const struct model *model, struct arena *arena)
{
    const struct json *v = NULL;
    struct model origin;
    struct str name;

    if (!b->provider_data.len ||
        json_parse(arena, b->provider_data, &v, /*ret_info=*/NULL, /*err=*/NULL) < 0)
        return NULL;
    if (!str_eq(json_get_str(v, "provider"), model->provider))
        return NULL;
    name = json_get_str(v, "model");
    if (str_eq(name, model->name))
        return v;
    model_find(model->provider, name, &origin);
    return origin.family.len && str_eq(origin.family, model->family) ? v : NULL;
}

bool block_is_foreign(const struct block *b, const struct model *model)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;

    return b->provider_data.len && !block_data(b, model, &arena);
}

struct str message_wire_get(const struct message *m, struct str key)
{
    for (const struct message_wire *w = m->wire; w; w = w->next) {
        if (str_eq(w->key, key))
            return w->json;
    }
    return STR("");
}

/* Inserts at the front; removes an entry with the same key, or the oldest if there are too many. */
static void wire_link(struct message *m, struct message_wire *w)
{
    struct message_wire **at = &m->wire;
    size_t kept = 1;

    while (*at) {
        struct message_wire *old = *at;

        if (str_eq(old->key, w->key) || kept == WIRE_MAX_KEYS) {
            *at = old->next;
            free(old);
        } else {
            at = &old->next;
            kept++;
        }
    }
    w->next = m->wire;
    m->wire = w;
}

void message_wire_set(struct message *m, struct str key, struct str json)
{
    struct message_wire *w = mem_alloc(sizeof(*w) + key.len + json.len);
    char *text = (char *)(w + 1);

    memcpy(text, key.ptr, key.len);
    memcpy(text + key.len, json.ptr, json.len);
    w->key = str_make(text, key.len);
    w->json = str_make(text + key.len, json.len);
    w->room = json.len;
    wire_link(m, w);
}

/* NULL if there is none. */
static struct message_wire *wire_unlink(struct message *m, struct str key)
{
    struct message_wire **at = &m->wire;
    struct message_wire *w;

    while (*at && !str_eq((*at)->key, key))
        at = &(*at)->next;
    w = *at;
    if (w)
        *at = w->next;
    return w;
}

void message_wire_move(struct message *from, struct message *to, struct str key, struct str more)
{
    struct message_wire *w = wire_unlink(from, key);
    size_t need;
    char *text;

    if (!w) {
        message_wire_set(to, key, more);
        return;
    }
    need = w->json.len + more.len;
    if (need > w->room) {
        w->room = need + need / 4; /* it will grow again */
        w = mem_realloc(w, sizeof(*w) + w->key.len + w->room);
    }
    text = (char *)(w + 1);
    memcpy(text + w->key.len + w->json.len, more.ptr, more.len);
    w->key.ptr = text;
    w->json = str_make(text + w->key.len, need);
    wire_link(to, w);
}

struct message *message_answer_calls(const struct message *calls, struct str with)
{
    struct message *m = message_new(ROLE_USER, calls->len);
    struct block text = {.kind = BLOCK_TEXT, .text = with};

    for (size_t i = 0; i < calls->len; i++) {
        struct block result = {.kind = BLOCK_TOOL_RESULT,
                               .id = calls->blocks[i].id,
                               .name = calls->blocks[i].name,
                               .content = &text,
                               .content_len = 1};

        if (calls->blocks[i].kind == BLOCK_TOOL_USE)
            message_add(m, &result);
    }
    return m;
}

struct message *message_texts(const struct message *m)
{
    struct message *texts = message_new(ROLE_ASSISTANT, m->len);

    texts->id = arena_str(&texts->arena, m->id);
    texts->model = arena_str(&texts->arena, m->model);
    for (size_t i = 0; i < m->len; i++) {
        const struct block *b = &m->blocks[i];

        if (b->kind == BLOCK_TEXT && str_trim(b->text).len)
            message_add(texts, &(struct block){
                                   .kind = BLOCK_TEXT,
                                   .text = b->text,
                                   .entry = b->entry,
                               });
    }
    return texts;
}

bool message_is_empty(const struct message *m)
{
    if (message_count(m, BLOCK_TOOL_USE) || message_count(m, BLOCK_OTHER))
        return false;
    for (size_t i = 0; i < m->len; i++) {
        if (m->blocks[i].kind == BLOCK_TEXT && str_trim(m->blocks[i].text).len)
            return false;
    }
    return true;
}

size_t block_text_bytes(const struct block *b)
{
    size_t n = 0;

    if (b->kind != BLOCK_TOOL_RESULT)
        return 0;
    for (size_t i = 0; i < b->content_len; i++) {
        if (b->content[i].kind != BLOCK_TEXT)
            return 0;
        n += b->content[i].text.len;
    }
    return n;
}
