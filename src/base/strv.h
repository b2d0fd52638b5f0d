/*
 * A list of owned C strings, always NULL-terminated, so that it can be an argv or an environment.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/mem.h"
#include "base/str.h"

struct strv {
    char **ptr;
    size_t len;
    size_t cap;
};

#define STRV_INIT                                                                                  \
    {                                                                                              \
        0                                                                                          \
    }

void strv_release(struct strv *v);
void strv_clear(struct strv *v);
void strv_add(struct strv *v, struct str s);
void strv_adds(struct strv *v, const char *s);
void strv_addf(struct strv *v, const char *fmt, ...) PRINTF_LIKE(2, 3);
void strv_add_all(struct strv *v, const struct strv *other);
bool strv_has(const struct strv *v, struct str s);
char **strv_get(const struct strv *v); /* never NULL */
