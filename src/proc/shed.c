/*
 * shed: /proc/self/maps, read twice: for who is needed, then for all the others. What belongs
 * together in it has the same device, inode and path; the part of a library that is not in its file
 * follows it without a gap. Runs in the zygote, and in wardens that were made before it has.
 */
#include "proc/shed.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

#define SHED_MAX_BYTES ((size_t)256 << 10)

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SHED_IS_WATCHED true /* and the sanitizers need memory of their own */
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) ||                         \
    __has_feature(memory_sanitizer)
#define SHED_IS_WATCHED true
#endif
#endif
#ifndef SHED_IS_WATCHED
#define SHED_IS_WATCHED false
#endif

struct shed_mapping {
    uintptr_t start, end;
    const char *name; /* from its device on: "fe:00 332835   /usr/lib/libc.so.6" */
    size_t len;
    char first; /* of the path; '\n': there is none */
};

static uintptr_t shed_hex(const char **at)
{
    uintptr_t n = 0;

    for (;; ++*at) {
        if (**at >= '0' && **at <= '9')
            n = n * 16 + (uintptr_t)(**at - '0');
        else if (**at >= 'a' && **at <= 'f')
            n = n * 16 + (uintptr_t)(**at - 'a' + 10);
        else
            return n;
    }
}

/* A line: "start-end rights offset device inode   path". Lines end with a newline, the text with
 * '\0'. */
static bool shed_next(const char **at, struct shed_mapping *ret)
{
    const char *line_end = strchr(*at, '\n');
    const char *p = *at;

    if (!line_end)
        return false;
    ret->start = shed_hex(&p);
    p++;
    ret->end = shed_hex(&p);
    for (int field = 0; field < 3 && p < line_end; field++)
        p = strchr(p, ' ') ? strchr(p, ' ') + 1 : line_end;
    ret->name = p;
    ret->len = (size_t)(line_end - p);
    while (p < line_end && *p != '/' && *p != '[')
        p++;
    ret->first = *p;
    *at = line_end + 1;
    return true;
}

static bool shed_has(const struct shed_mapping *m, uintptr_t address)
{
    return address >= m->start && address < m->end;
}

static bool shed_is_same(const struct shed_mapping *a, const struct shed_mapping *b)
{
    return a->first == '/' && a->len == b->len && memcmp(a->name, b->name, a->len) == 0;
}

static void shed_all_but(const char *text, const struct shed_mapping *kept, size_t count)
{
    uintptr_t kept_end = 0;
    struct shed_mapping m;

    while (shed_next(&text, &m)) {
        bool keeps = m.first == '[' || shed_has(&m, (uintptr_t)&m) ||
                     shed_has(&m, (uintptr_t)text) || (m.first == '\n' && m.start == kept_end);

        for (size_t i = 0; i < count; i++)
            keeps = keeps || shed_is_same(&m, &kept[i]);
        if (!keeps)
            munmap((void *)m.start, m.end - m.start);
        else if (m.first == '/')
            kept_end = m.end;
    }
}

static bool shed_read(char *text, size_t size)
{
    int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    size_t len = 0;
    ssize_t n = 0;

    while (fd >= 0 && len < size - 1) {
        n = read(fd, text + len, size - 1 - len);
        if (n <= 0)
            break;
        len += (size_t)n;
    }
    if (fd >= 0)
        close(fd);
    text[len] = '\0';
    return n == 0 && len && len < size - 1;
}

/* A preloaded library may intercept our calls, with unknown effects. */
static bool shed_is_preloaded(void)
{
    const char *names = getenv("LD_PRELOAD");

    return (names && *names) || access("/etc/ld.so.preload", F_OK) == 0;
}

/* Copies of us have it from us. */
static bool shed_is_done;

void shed_memory(void)
{
    const uintptr_t needed[] = {(uintptr_t)shed_memory, (uintptr_t)read, getauxval(AT_BASE)};
    struct shed_mapping kept[sizeof(needed) / sizeof(needed[0])];
    struct shed_mapping m;
    size_t count = 0;
    const char *at;
    char *text;

    if (shed_is_done)
        return;
    shed_is_done = true;
    text = mmap(NULL, SHED_MAX_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
                /*fd=*/-1, 0);
    if (text == MAP_FAILED)
        return;
    if (!SHED_IS_WATCHED && !shed_is_preloaded() && shed_read(text, SHED_MAX_BYTES)) {
        at = text;
        while (shed_next(&at, &m)) {
            for (size_t i = 0; i < sizeof(needed) / sizeof(needed[0]); i++) {
                if (m.first == '/' && shed_has(&m, needed[i]) &&
                    count < sizeof(kept) / sizeof(kept[0]))
                    kept[count++] = m;
            }
        }
        if (count == sizeof(kept) / sizeof(kept[0]))
            shed_all_but(text, kept, count);
    }
    munmap(text, SHED_MAX_BYTES);
}
