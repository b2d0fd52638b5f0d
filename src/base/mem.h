/*
 * Allocation that never fails from the caller's view, and scope-bound cleanup.
 *
 * Running out of memory ends the process with a message. That is honest only because everything a
 * model, file or socket can grow has a stated maximum somewhere else (see buf.h, arena.h).
 */
#pragma once

#include <stddef.h>

#define CLEANUP(fn) __attribute__((cleanup(fn)))
#define PRINTF_LIKE(fmt, args) __attribute__((format(printf, fmt, args)))
#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))

/* Moves a pointer out of a CLEANUP variable: the variable becomes NULL, the value is yours. */
#define TAKE_PTR(p)                                                                                \
    ({                                                                                             \
        __typeof__(p) taken_ = (p);                                                                \
        (p) = NULL;                                                                                \
        taken_;                                                                                    \
    })

/* For what cannot happen: prints file, line and text, then aborts. */
#define BUG(...) mem_bug(__FILE__, __LINE__, __VA_ARGS__)

void *mem_alloc(size_t n);  /* uninitialised */
void *mem_zalloc(size_t n); /* zeroed */
void *mem_realloc(void *p, size_t n);
char *mem_dup(const void *p, size_t n); /* n bytes and a terminating NUL */

/* Call after freeing much at once: returns unused memory to the system. Takes a millisecond or
 * so. */
void mem_trim(void);

/* Cleanup handlers: take the address of the variable and accept NULL inside. */
void mem_freep(void *pp);
void fd_closep(int *fd);

_Noreturn void mem_bug(const char *file, int line, const char *fmt, ...) PRINTF_LIKE(3, 4);
