/*
 * err: fills struct err. Any thread.
 */
#include "base/err.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "base/utf8.h"

#undef err_set
#undef err_sys
#undef err_prefix

/* A text that was cut by its field must not end inside a character. */
static void err_trim(char *text, size_t size, int wanted)
{
    size_t last = size - 1;

    if (size < 2 || wanted < 0 || (size_t)wanted < size)
        return;
    do {
        last--;
    } while (last > 0 && ((unsigned char)text[last] & 0xC0) == 0x80);
    if (!utf8_decode(str_of(text + last), NULL))
        text[last] = '\0';
}

PRINTF_LIKE(4, 0)
static void err_fill(struct err *err, enum err_code code, int sys, const char *fmt, va_list args)
{
    int n;

    err->code = code;
    err->sys = sys;
    n = vsnprintf(err->text, sizeof(err->text), fmt, args);
    err_trim(err->text, sizeof(err->text), n);
}

int err_set(struct err *err, enum err_code code, const char *fmt, ...)
{
    va_list args;

    if (!err)
        return -1;
    va_start(args, fmt);
    err_fill(err, code, 0, fmt, args);
    va_end(args);
    return -1;
}

int err_sys(struct err *err, enum err_code code, const char *fmt, ...)
{
    int sys = errno;
    size_t len;
    va_list args;
    char reason[128];
    int n;

    if (!err)
        return -1;
    va_start(args, fmt);
    err_fill(err, code, sys, fmt, args);
    va_end(args);
    len = strlen(err->text);
    n = snprintf(err->text + len, sizeof(err->text) - len, ": %s",
                 strerror_r(sys, reason, sizeof(reason)));
    err_trim(err->text + len, sizeof(err->text) - len, n);
    return -1;
}

int err_prefix(struct err *err, const char *fmt, ...)
{
    char old[sizeof(err->text)];
    char prefix[sizeof(err->text)];
    va_list args;
    int n;

    if (!err)
        return -1;
    memcpy(old, err->text, sizeof(old));
    va_start(args, fmt);
    vsnprintf(prefix, sizeof(prefix), fmt, args);
    va_end(args);
    n = snprintf(err->text, sizeof(err->text), "%s: %s", prefix, old);
    err_trim(err->text, sizeof(err->text), n);
    return -1;
}

void err_clear(struct err *err)
{
    if (!err)
        return;
    err->code = ERR_NONE;
    err->sys = 0;
    err->text[0] = '\0';
}

const char *err_code_name(enum err_code code)
{
    switch (code) {
    case ERR_NONE:
        return "NONE";
#define X(name, text)                                                                              \
    case ERR_##name:                                                                               \
        return #name;
        ERR_MAP(X)
#undef X
    }
    return "?";
}

const char *err_code_text(enum err_code code)
{
    switch (code) {
    case ERR_NONE:
        return "no error";
#define X(name, text)                                                                              \
    case ERR_##name:                                                                               \
        return text;
        ERR_MAP(X)
#undef X
    }
    return "?";
}
