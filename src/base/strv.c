/*
 * strv: the list of owned strings. One owner, one thread.
 */
#include "base/strv.h"

#include <stdarg.h>
#include <stdlib.h>

#include "base/buf.h"

void strv_clear(struct strv *v)
{
    for (size_t i = 0; i < v->len; i++)
        free(v->ptr[i]);
    v->len = 0;
    if (v->ptr)
        v->ptr[0] = NULL;
}

void strv_release(struct strv *v)
{
    strv_clear(v);
    free(v->ptr);
    *v = (struct strv)STRV_INIT;
}

static void strv_take(struct strv *v, char *s)
{
    if (v->len + 1 >= v->cap) {
        v->cap = v->cap ? v->cap * 2 : 8;
        v->ptr = mem_realloc(v->ptr, v->cap * sizeof(*v->ptr));
    }
    v->ptr[v->len++] = s;
    v->ptr[v->len] = NULL;
}

void strv_add(struct strv *v, struct str s)
{
    strv_take(v, mem_dup(s.ptr, s.len));
}

void strv_adds(struct strv *v, const char *s)
{
    strv_add(v, str_of(s));
}

void strv_addf(struct strv *v, const char *fmt, ...)
{
    struct buf text = BUF_INIT(BUF_NO_LIMIT);
    va_list args;

    va_start(args, fmt);
    buf_addv(&text, fmt, args);
    va_end(args);
    strv_take(v, buf_take(&text));
}

void strv_add_all(struct strv *v, const struct strv *other)
{
    for (size_t i = 0; i < other->len; i++)
        strv_adds(v, other->ptr[i]);
}

bool strv_has(const struct strv *v, struct str s)
{
    for (size_t i = 0; i < v->len; i++) {
        if (str_is(s, v->ptr[i]))
            return true;
    }
    return false;
}

char **strv_get(const struct strv *v)
{
    static char *empty[] = {NULL};

    return v->ptr ? v->ptr : empty;
}
