/*
 * secret: a list of values to hide. Any thread, without a lock: a slot is published by one atomic
 * store, and a value that has lost its slot to a newer one is never freed.
 */
#include "base/secret.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define SECRET_MAX 128
#define SECRET_STAY 64 /* the first ones stay; the others make room for newer ones */
#define SECRET_TURNS (SECRET_MAX - SECRET_STAY)
#define SECRET_MIN_LEN 6
/* A shorter value may be a plain word: "ollama" as a key that is not checked. */
#define SECRET_LEN 8
#define SECRET_SHORT "hidden"
_Static_assert(sizeof(SECRET_SHORT) - 1 <= SECRET_MIN_LEN, "never longer than what it stands for");

struct secret {
    struct secret *older; /* whose slot it took: another thread may still be reading it */
    size_t len;
    char text[];
};

static _Atomic(struct secret *) secrets[SECRET_MAX];
static _Atomic size_t replaced;

static bool may_be_a_word(struct str value)
{
    bool has_digit = false, has_letter = false;

    for (size_t i = 0; i < value.len; i++) {
        bool is_digit = value.ptr[i] >= '0' && value.ptr[i] <= '9';

        has_digit = has_digit || is_digit;
        has_letter = has_letter || !is_digit;
    }
    return !has_digit || !has_letter;
}

static void secret_keep(struct str value)
{
    struct secret *s;

    if (value.len < SECRET_MIN_LEN || (value.len < SECRET_LEN && may_be_a_word(value)))
        return;
    s = mem_alloc(sizeof(*s) + value.len + 1);
    s->older = NULL;
    s->len = value.len;
    memcpy(s->text, value.ptr, value.len);
    s->text[value.len] = '\0';
    for (size_t i = 0; i < SECRET_MAX; i++) {
        struct secret *there = NULL;

        if (atomic_compare_exchange_strong(&secrets[i], &there, s))
            return;
        if (str_eq(str_make(there->text, there->len), value)) {
            free(s);
            return;
        }
    }
    s->older =
        atomic_exchange(&secrets[SECRET_STAY + atomic_fetch_add(&replaced, 1) % SECRET_TURNS], s);
}

static void add_escaped(struct buf *out, char c)
{
    if (c == '\n')
        buf_adds(out, "\\n");
    else if (c == '\r')
        buf_adds(out, "\\r");
    else if (c == '\t')
        buf_adds(out, "\\t");
    else if (c == '"' || c == '\\')
        buf_addf(out, "\\%c", c);
    else
        buf_addc(out, c);
}

void secret_add(struct str value)
{
    struct buf escaped = BUF_INIT(BUF_NO_LIMIT);

    value = str_trim(value);
    secret_keep(value);
    for (size_t i = 0; i < value.len; i++)
        add_escaped(&escaped, value.ptr[i]);
    secret_keep(buf_str(&escaped));
    buf_release(&escaped);
}

/* The i-th, or nothing after the last. */
static struct str secret_at(size_t i)
{
    const struct secret *s = i < SECRET_MAX ? atomic_load(&secrets[i]) : NULL;

    return s ? str_make(s->text, s->len) : STR("");
}

bool secret_is_in(struct str text)
{
    for (size_t i = 0; secret_at(i).len; i++) {
        if (str_has(text, secret_at(i)))
            return true;
    }
    return false;
}

/* One pass, however often it occurs: a command may print it endlessly. */
static void scrub_one(struct buf *text, struct str value)
{
    struct buf clean = BUF_INIT(text->max);
    struct str rest = buf_str(text);
    size_t at = str_find(rest, value);

    if (at == rest.len)
        return;
    while (at < rest.len) {
        buf_add(&clean, str_first(rest, at));
        buf_adds(&clean, value.len < SECRET_LEN ? SECRET_SHORT : SECRET_HIDDEN);
        rest = str_from(rest, at + value.len);
        at = str_find(rest, value);
    }
    buf_add(&clean, rest);
    buf_move(text, &clean);
}

/* The longest first: one may be the beginning of another. */
static size_t list_by_length(struct str list[static SECRET_MAX])
{
    size_t n = 0;

    for (struct str value = secret_at(0); value.len; value = secret_at(n)) {
        size_t at = n++;

        for (; at && list[at - 1].len < value.len; at--)
            list[at] = list[at - 1];
        list[at] = value;
    }
    return n;
}

void secret_scrub(struct buf *text)
{
    struct str list[SECRET_MAX];
    size_t count = list_by_length(list);

    for (size_t i = 0; i < count; i++)
        scrub_one(text, list[i]);
}

/* Whether a whole value begins before that place and ends after it. */
static bool is_within_one(struct str text, size_t at)
{
    for (size_t i = 0; secret_at(i).len; i++) {
        struct str value = secret_at(i);
        size_t from = at >= value.len ? at - value.len + 1 : 0;
        struct str around = str_first(text, at + value.len - 1);

        if (str_has(str_from(around, from), value))
            return true;
    }
    return false;
}

size_t secret_tail(struct str text)
{
    size_t longest = 0;

    for (size_t i = 0; secret_at(i).len; i++) {
        struct str value = secret_at(i);
        size_t n = value.len - 1 < text.len ? value.len - 1 : text.len;

        while (n > longest &&
               !(str_ends(text, str_first(value, n)) && !is_within_one(text, text.len - n)))
            n--;
        longest = n > longest ? n : longest;
    }
    return longest;
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

void secret_shown(struct str text, bool is_growing, size_t max, struct buf *ret)
{
    CLEANUP(buf_release) struct buf clean = BUF_INIT(BUF_NO_LIMIT); /* a copy */
    size_t start = 0;

    buf_add(&clean, str_first(text, text.len - (is_growing ? secret_tail(text) : 0)));
    secret_scrub(&clean);
    if (is_growing && clean.len > max)
        start = clean.len - max;
    while (start && start < clean.len && (clean.ptr[start] & 0xC0) == 0x80)
        start++; /* not inside a character */
    buf_add(ret, str_clip(str_from(buf_str(&clean), start), max));
}
