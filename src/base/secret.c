/*
 * secret: an append-only list of values to hide. Any thread, without a lock: a slot is published by
 * one atomic store and never changes or goes away.
 */
#include "base/secret.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define SECRET_MAX 64
#define SECRET_MIN_LEN 8

struct secret {
    size_t len;
    char text[];
};

static _Atomic(struct secret *) secrets[SECRET_MAX];

void secret_add(struct str value)
{
    struct secret *s;

    value = str_trim(value);
    if (value.len < SECRET_MIN_LEN)
        return;
    s = mem_alloc(sizeof(*s) + value.len + 1);
    s->len = value.len;
    memcpy(s->text, value.ptr, value.len);
    s->text[value.len] = '\0';
    for (size_t i = 0; i < SECRET_MAX; i++) {
        struct secret *there = NULL;

        if (atomic_compare_exchange_strong(&secrets[i], &there, s))
            return;
        if (str_eq(str_make(there->text, there->len), value))
            break;
    }
    free(s);
}

void secret_scrub(struct buf *text)
{
    for (size_t i = 0; i < SECRET_MAX; i++) {
        const struct secret *s = atomic_load(&secrets[i]);
        struct str value;
        size_t from = 0;

        if (!s)
            return;
        value = str_make(s->text, s->len);
        for (;;) {
            struct str rest = str_from(buf_str(text), from);
            size_t at = str_find(rest, value);

            if (!rest.len || at == rest.len)
                break;
            buf_cut(text, from + at, value.len);
            buf_insert(text, from + at, STR("[hidden]"));
            from += at + strlen("[hidden]");
        }
    }
}

void secret_scrub_text(char *text, size_t size)
{
    struct buf copy = BUF_INIT(size + 1);
    size_t len;

    buf_adds(&copy, text);
    secret_scrub(&copy);
    len = copy.len < size ? copy.len : size - 1;
    memcpy(text, buf_cstr(&copy), len);
    text[len] = '\0';
    buf_release(&copy);
}

void secret_mask(struct str value, struct buf *out)
{
    if (value.len < 16)
        buf_addf(out, "… (%zu characters)", value.len);
    else
        buf_addf(out, "%.*s…%.*s (%zu characters)", 4, value.ptr, 4, value.ptr + value.len - 4,
                 value.len);
}
