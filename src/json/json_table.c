/*
 * The index of an object with many members.
 *
 * Open addressing over pointers to the members, built once, when the object is complete and its
 * size is known. The author of the text also chooses the keys, so the hash is SipHash-1-3 under a
 * key drawn at random for the process: outsiders cannot make keys collide on purpose. Any thread.
 */
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/mem.h"
#include "json/node.h"

/* Threads that come first together may both draw; the one that stores it decides for all. */
static uint64_t table_seed(void)
{
    static _Atomic uint64_t seed;
    uint64_t now = atomic_load_explicit(&seed, memory_order_relaxed);
    uint64_t drawn;

    if (now)
        return now;
    if (getentropy(&drawn, sizeof(drawn)) < 0)
        BUG("the system has no random numbers");
    drawn |= 1; /* 0 means not drawn yet */
    if (atomic_compare_exchange_strong(&seed, &now, drawn))
        return drawn;
    return now;
}

struct sip {
    uint64_t a, b, c, d;
};

static inline uint64_t rotate(uint64_t x, int bits)
{
    return x << bits | x >> (64 - bits);
}

static inline void sip_round(struct sip *s)
{
    s->a += s->b;
    s->c += s->d;
    s->b = rotate(s->b, 13) ^ s->a;
    s->d = rotate(s->d, 16) ^ s->c;
    s->a = rotate(s->a, 32);
    s->c += s->b;
    s->a += s->d;
    s->b = rotate(s->b, 17) ^ s->c;
    s->d = rotate(s->d, 21) ^ s->a;
    s->c = rotate(s->c, 32);
}

static inline void sip_word(struct sip *s, uint64_t word)
{
    s->d ^= word;
    sip_round(s);
    s->a ^= word;
}

static uint64_t table_hash(struct str key)
{
    uint64_t k0 = table_seed();
    uint64_t k1 = rotate(k0, 32) ^ 0x9e3779b97f4a7c15;
    struct sip s = {
        k0 ^ 0x736f6d6570736575,
        k1 ^ 0x646f72616e646f6d,
        k0 ^ 0x6c7967656e657261,
        k1 ^ 0x7465646279746573,
    };
    uint64_t word;
    size_t i;

    for (i = 0; i + 8 <= key.len; i += 8) {
        memcpy(&word, key.ptr + i, 8);
        sip_word(&s, word);
    }
    word = (uint64_t)key.len << 56;
    for (; i < key.len; i++)
        word |= (uint64_t)(unsigned char)key.ptr[i] << 8 * (i & 7);
    sip_word(&s, word);

    s.c ^= 0xff;
    sip_round(&s);
    sip_round(&s);
    sip_round(&s);
    return s.a ^ s.b ^ s.c ^ s.d;
}

/* The slot that holds the key, or the empty one where it belongs. */
static size_t table_slot(const struct json_table *t, struct str key)
{
    size_t i = table_hash(key) & t->mask;

    while (t->slots[i] && !str_eq(node_key(t->slots[i]), key))
        i = (i + 1) & t->mask;
    return i;
}

void json_table_build(struct json *object, struct arena *arena)
{
    struct json_table *t;
    size_t slots = 32;

    while (slots * 3 < (size_t)object->len * 4) /* at most three quarters full */
        slots *= 2;
    t = arena_zalloc(arena, sizeof(*t) + slots * sizeof(t->slots[0]));
    t->mask = (uint32_t)(slots - 1);

    for (struct json *v = object->first; v; v = v->next) {
        size_t i = table_slot(t, node_key(v));

        if (t->slots[i]) {
            t->slots[i]->flags |= NODE_DEAD;
            object->len--;
        }
        t->slots[i] = v;
    }
    for (struct json **link = &object->first; *link;) {
        if ((*link)->flags & NODE_DEAD)
            *link = (*link)->next;
        else
            link = &(*link)->next;
    }

    t->first = object->first;
    object->table = t;
    object->flags |= NODE_HASHED;
}

const struct json *json_table_find(const struct json_table *table, struct str key)
{
    return table->slots[table_slot(table, key)];
}
