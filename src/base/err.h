/*
 * Errors: a code that tells the caller what it can do about it, and one line for the user.
 *
 * A function that can fail returns 0, or -1 with *err filled. err_set() and err_sys() return -1, so
 * that failing is one line. Every err pointer may be NULL when the caller does not care why. The
 * text never ends in a newline or a full stop, and longer texts are cut at a character boundary.
 */
#pragma once

#include "base/mem.h"

#define ERR_MAP(X)                                                                                 \
    X(RETRY_LATER, "the other side asked us to wait")                                              \
    X(CONTEXT_FULL, "the conversation no longer fits the model")                                   \
    X(DENIED, "the user or a hook said no")                                                        \
    X(AUTH, "the credentials were refused or are missing")                                         \
    X(QUOTA, "the account has nothing left to spend")                                              \
    X(BUDGET, "what may be spent here would be passed")                                            \
    X(BAD_INPUT, "the request does not make sense")                                                \
    X(TOO_BIG, "a stated limit was reached")                                                       \
    X(BUSY, "somebody else is at it")                                                              \
    X(NOT_FOUND, "there is no such thing")                                                         \
    X(UNSUPPORTED, "this build or the other side cannot do that")                                  \
    X(TIMEOUT, "nothing happened for too long")                                                    \
    X(NETWORK, "the connection failed")                                                            \
    X(PROTOCOL, "the other side does not keep to the protocol")                                    \
    X(CANCELLED, "somebody asked us to stop")                                                      \
    X(IO, "the system call failed")

enum err_code {
    ERR_NONE,
#define X(name, text) ERR_##name,
    ERR_MAP(X)
#undef X
};

struct err {
    enum err_code code;
    int sys; /* the errno that caused it, or 0 */
    char text[500];
};

int err_set(struct err *err, enum err_code code, const char *fmt, ...) PRINTF_LIKE(3, 4);

/* As err_set(), with ": <strerror(errno)>" appended. */
int err_sys(struct err *err, enum err_code code, const char *fmt, ...) PRINTF_LIKE(3, 4);

/* Puts "<text>: " before the message, for a caller that knows more; returns -1. */
int err_prefix(struct err *err, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* Compilers and analyzers do not see into err.c; this shows them that the result is always -1. */
static inline int err_failed(void)
{
    return -1;
}
#define err_set(...) (err_set(__VA_ARGS__), err_failed())
#define err_sys(...) (err_sys(__VA_ARGS__), err_failed())
#define err_prefix(...) (err_prefix(__VA_ARGS__), err_failed())

void err_clear(struct err *err);
const char *err_code_name(enum err_code code); /* "RETRY_LATER" */
const char *err_code_text(enum err_code code);
