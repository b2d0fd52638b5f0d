/*
 * mem: allocation that ends the process instead of failing, and the cleanup handlers. Any thread.
 */
#include "base/mem.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif
#include <string.h>
#include <unistd.h>

static void *mem_or_die(void *p, size_t n)
{
    if (!p && n) {
        fprintf(stderr, "tenax: out of memory (%zu bytes wanted)\n", n);
        abort();
    }
    return p;
}

void *mem_alloc(size_t n)
{
    return mem_or_die(malloc(n ? n : 1), n);
}

void *mem_zalloc(size_t n)
{
    return mem_or_die(calloc(1, n ? n : 1), n);
}

void *mem_realloc(void *p, size_t n)
{
    return mem_or_die(realloc(p, n ? n : 1), n);
}

char *mem_dup(const void *p, size_t n)
{
    char *copy = mem_alloc(n + 1);

    if (n)
        memcpy(copy, p, n);
    copy[n] = '\0';
    return copy;
}

void mem_trim(void)
{
#ifdef __GLIBC__
    (void)malloc_trim(0);
#endif
}

void mem_freep(void *pp)
{
    void *p;

    /* The variable may be a pointer of any type: read it as bytes, not through a void **. */
    memcpy(&p, pp, sizeof(p));
    free(p);
    p = NULL;
    memcpy(pp, &p, sizeof(p));
}

void fd_closep(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

void mem_bug(const char *file, int line, const char *fmt, ...)
{
    va_list args;

    fprintf(stderr, "tenax: bug at %s:%d: ", file, line);
    va_start(args, fmt);
    vfprintf(stderr, fmt, args);
    va_end(args);
    fputc('\n', stderr);
    abort();
}
