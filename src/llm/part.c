/*
 * A block of a reply while it is being received. Runs on the thread of the agent that made the
 * call.
 */
#include "llm/part.h"

#include <stdint.h>

#include "base/mem.h"
#include "base/utf8.h"
#include "json/jw.h"

struct part *part_new(size_t max_bytes)
{
    struct part *p = mem_zalloc(sizeof(*p));

    buf_init(&p->text, max_bytes);
    buf_init(&p->citations, 2 * max_bytes); /* including the commas */
    return p;
}

void part_free(struct part *p)
{
    if (!p)
        return;
    buf_release(&p->text);
    buf_release(&p->citations);
    vec_release(&p->data);
    free(p);
}

static void braces_feed(struct braces *b, struct str text)
{
    for (size_t i = 0; i < text.len; i++) {
        char c = text.ptr[i];

        if (b->escaped) {
            b->escaped = false;
        } else if (b->in_string) {
            b->escaped = c == '\\';
            b->in_string = c != '"';
        } else if (c == '"') {
            b->in_string = true;
        } else if (c == '{' || c == '[') {
            b->depth++;
        } else if ((c == '}' || c == ']') && b->depth) {
            b->depth--;
            b->done = b->done || b->depth == 0;
        }
    }
}

bool part_is_deep(struct str json, size_t max)
{
    struct braces b = {0};

    for (size_t i = 0; i < json.len; i++) {
        braces_feed(&b, str_make(json.ptr + i, 1));
        if (b.depth > max)
            return true;
    }
    return false;
}

static bool is_high_surrogate(const char *s)
{
    return (unsigned char)s[0] == 0xed && (unsigned char)s[1] >= 0xa0 && (unsigned char)s[1] < 0xb0;
}

static bool is_low_surrogate(const char *s)
{
    return (unsigned char)s[0] == 0xed && (unsigned char)s[1] >= 0xb0;
}

static uint32_t surrogate_code(const char *s)
{
    return 0xd000u | ((unsigned char)s[1] & 0x3fu) << 6 | ((unsigned char)s[2] & 0x3fu);
}

static struct str gained(struct part *p, size_t before)
{
    struct str s = str_from(buf_str(&p->text), before);

    if (p->is_lane)
        braces_feed(&p->braces, s);
    return s;
}

struct str part_add(struct part *p, struct str text)
{
    size_t before = p->text.len;

    if (!text.len)
        return STR("");
    /* Vendors that split strings by UTF-16 units may send half a character in each of two pieces;
     * json.h returns each half as three bytes. */
    if (p->held_len && text.len >= 3 && is_low_surrogate(text.ptr)) {
        uint32_t high = surrogate_code(p->held) - 0xd800;
        uint32_t low = surrogate_code(text.ptr) - 0xdc00;
        char joined[4];

        buf_add(&p->text, str_make(joined, utf8_encode(0x10000 + (high << 10) + low, joined)));
        text = str_from(text, 3);
    } else {
        buf_add(&p->text, str_make(p->held, p->held_len));
    }
    p->held_len = 0;
    if (text.len >= 3 && is_high_surrogate(text.ptr + text.len - 3)) {
        text.len -= 3;
        memcpy(p->held, text.ptr + text.len, 3);
        p->held_len = 3;
    }
    buf_add(&p->text, text);
    return gained(p, before);
}

struct str part_end(struct part *p)
{
    size_t before = p->text.len;

    buf_add(&p->text, str_make(p->held, p->held_len));
    p->held_len = 0;
    return gained(p, before);
}

void part_set(struct part *p, const char *name, struct str json)
{
    VEC_EACH(&p->data, m) {
        if (strcmp(m->name, name) == 0) {
            m->json = json;
            return;
        }
    }
    vec_push(&p->data, ((struct part_member){name, json}));
}

void part_write_data(const struct part *p, struct str provider, struct str model, struct buf *out)
{
    /* Plain text may be sent to any provider; other blocks must record their origin. */
    bool needs_origin = p->block.kind != BLOCK_TEXT || p->citations.len;
    struct jw w;

    if (!p->data.len && !(needs_origin && provider.len))
        return;
    jw_init(&w, out, 0);
    jw_object(&w);
    if (provider.len) {
        jw_kstr(&w, "provider", provider);
        jw_kstr(&w, "model", model);
    }
    VEC_EACH(&p->data, m)
        jw_kraw(&w, m->name, m->json);
    jw_object_end(&w);
}
