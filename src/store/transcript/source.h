/*
 * A transcript's file with the size it had when it was opened, and access to pieces of it.
 */
#pragma once

#include <stdint.h>

#include "base/str.h"

struct arena;
struct buf;
struct err;
struct json;
struct entry_span;

struct line_source {
    int fd;
    uint64_t size;
};

/* ERR_NOT_FOUND, ERR_IO; ERR_BAD_INPUT for other than regular files. */
int source_open(struct line_source *s, const char *path, struct err *err);
void source_release(struct line_source *s);

/* Replaces the contents of buf by the bytes; the reader sets its limit. ERR_IO also when the file
 * has become shorter; ERR_TOO_BIG above the limit of JSON. */
int source_read(const struct line_source *s, uint64_t offset, uint64_t len, struct buf *ret,
                struct err *err);

/* A line parsed into the arena, text and all; NULL: it cannot be read, or it is no object. */
const struct json *source_json(const struct line_source *s, uint64_t offset, uint64_t len,
                               struct arena *arena);

/* A string of a line, decoded, at most about max_bytes of it; buf is empty when it is none. */
void source_string(const struct line_source *s, struct entry_span at, size_t max_bytes,
                   struct buf *ret);
