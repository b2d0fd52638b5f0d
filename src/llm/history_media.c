/*
 * Images and documents that a model or its provider rejects: finds them and replaces them by text.
 * The replacements are returned to the caller, which stores them so that a later load applies them
 * too.
 */
#include "base/arena.h"
#include "base/buf.h"
#include "llm/history.h"

static bool is_media(const struct block *b)
{
    return b->kind == BLOCK_IMAGE || b->kind == BLOCK_DOCUMENT;
}

size_t history_result_media(const struct block *result)
{
    size_t n = 0;

    for (size_t i = 0; result->kind == BLOCK_TOOL_RESULT && i < result->content_len; i++)
        n += is_media(&result->content[i]);
    return n;
}

size_t history_count_media(const struct message *m)
{
    size_t n = 0;

    for (size_t i = 0; i < m->len; i++)
        n += history_result_media(&m->blocks[i]);
    return n;
}

static size_t count_user_media(const struct message *m)
{
    size_t n = 0;

    for (size_t i = 0; m->role == ROLE_USER && i < m->len; i++)
        n += is_media(&m->blocks[i]);
    return n;
}

enum history_media history_newest_media(const struct history *h)
{
    for (size_t i = h->list.len; i-- > 0;) {
        if (history_count_media(h->list.ptr[i]))
            return MEDIA_OF_TOOL;
        if (count_user_media(h->list.ptr[i]))
            return MEDIA_OF_USER;
    }
    return MEDIA_NONE;
}

static struct str left_out(const struct block *b)
{
    return b->kind == BLOCK_IMAGE
               ? STR("[The image is left out: it cannot be given to this model.]")
               : STR("[The file is left out: it cannot be given to this model.]");
}

/* A whole result as one text; a load that replaces the same media yields the same bytes. */
static void result_text(const struct block *result, struct buf *ret)
{
    for (size_t i = 0; i < result->content_len; i++) {
        const struct block *b = &result->content[i];
        struct str text = is_media(b) ? left_out(b) : b->text;

        buf_addf(ret, "%s%.*s", ret->len && text.len ? "\n" : "", STR_ARG(text));
    }
}

/* The index of this block within its transcript line. */
static size_t index_in_entry(const struct message *m, size_t at)
{
    size_t n = 0;

    for (size_t i = 0; i < at; i++)
        n += str_eq(m->blocks[i].entry, m->blocks[at].entry);
    return n;
}

/* Returns a copy, because sent messages may be shared and remember their bytes. */
static struct message *without_media(const struct message *m, enum history_media of,
                                     struct history_drops *drops)
{
    struct message *copy = message_new(m->role, m->len);

    for (size_t i = 0; i < m->len; i++) {
        CLEANUP(buf_release) struct buf words = BUF_INIT(BUF_NO_LIMIT);
        struct block text = {.kind = BLOCK_TEXT, .entry = m->blocks[i].entry};
        struct block b = m->blocks[i];
        const struct block *kept;

        if (of == MEDIA_OF_TOOL && history_result_media(&b)) {
            result_text(&b, &words);
            text.text = buf_str(&words);
            b.content = &text;
            b.content_len = 1;
        } else if (of == MEDIA_OF_USER && is_media(&b)) {
            text.text = left_out(&b);
            b = text;
        } else {
            message_add(copy, &b);
            continue;
        }
        kept = message_add(copy, &b);
        vec_push(&drops->list,
                 ((struct history_drop){.entry = kept->entry,
                                        .tool_use_id = kept->id,
                                        .index = of == MEDIA_OF_USER ? index_in_entry(m, i) : 0,
                                        .text = of == MEDIA_OF_USER ? kept->text
                                                                    : kept->content[0].text}));
    }
    return copy;
}

size_t history_drop_media(struct history *h, enum history_media of, struct history_drops *ret)
{
    for (size_t i = h->list.len; i-- > 0;) {
        struct message *old = h->list.ptr[i];
        size_t n = of == MEDIA_OF_TOOL ? history_count_media(old) : count_user_media(old);

        if (!n)
            continue;
        h->list.ptr[i] = without_media(old, of, ret);
        message_unref(old);
        history_recount(h);
        return n;
    }
    return 0;
}
