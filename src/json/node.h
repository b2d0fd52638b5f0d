/*
 * The inside of a parsed value; for src/json only.
 *
 * A node is 48 bytes, and a value with its separator is at least two bytes of text ("0,"), so a
 * tree takes 24 times its text at worst; see json.h. Children are a linked list in the order of the
 * text.
 */
#pragma once

#include <stdint.h>

#include "json/json.h"

struct arena;
struct json_table;

/* Up to here, an object's members are found by walking the list. */
#define NODE_MAX_WALK 16

enum node_flags {
    NODE_TRUE = 1,   /* a bool's value */
    NODE_HASHED = 2, /* an object with a table */
    NODE_ROOT = 4,   /* key and key_len hold the whole text */
    NODE_TWICE = 8,  /* while parsing: an object that may have a key twice */
    NODE_DEAD = 16,  /* while parsing: a later member has the same key */
};

struct json {
    struct json *next;
    const char *raw; /* where the value starts in the text */
    const char *key;
    union {
        const char *text; /* of a string, decoded */
        struct json *first;
        struct json_table *table; /* NODE_HASHED */
    };
    uint32_t raw_len;
    uint32_t key_len;
    uint32_t len; /* bytes of text, or number of children */
    uint8_t type;
    uint8_t flags;
};

/* Hash table over the members of one object, made when the object is complete. */
struct json_table {
    struct json *first;
    uint32_t mask;
    struct json *slots[];
};

/* Gives a complete object its table and drops the members that a later one overrides. */
void json_table_build(struct json *object, struct arena *arena);
const struct json *json_table_find(const struct json_table *table, struct str key);

static inline struct str node_key(const struct json *v)
{
    return (struct str){v->key, v->key_len};
}
