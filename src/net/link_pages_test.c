#include "net/link_pages.h"
#include "unit.h"

#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#define LIBRARY "libsqlite3.so.0" /* large, and not linked here */

/* The resident part of the file's mappings with these rights, in KB. */
static long resident_kb(const char *name, const char *rights)
{
    FILE *file = fopen("/proc/self/smaps", "re");
    char line[512];
    bool counts = false;
    long sum = 0;

    assert_non_null(file);
    while (fgets(line, sizeof(line), file)) {
        char have[8];

        if (sscanf(line, "%*x-%*x %7s", have) == 1)
            counts = strstr(line, name) && strcmp(have, rights) == 0;
        else if (counts && strncmp(line, "Rss:", 4) == 0)
            sum += strtol(line + 4, NULL, 10);
    }
    fclose(file);
    return sum;
}

/* A digest of all that can be read of a library's code. */
static unsigned long touch(const char *name)
{
    FILE *file = fopen("/proc/self/maps", "re");
    unsigned long sum = 5381;
    char line[512];

    assert_non_null(file);
    while (fgets(line, sizeof(line), file)) {
        uintptr_t start;
        uintptr_t end;

        if (sscanf(line, "%lx-%lx r", &start, &end) != 2 || !strstr(line, name))
            continue;
        for (const volatile unsigned char *p = (unsigned char *)start; p < (unsigned char *)end;
             p += 64)
            sum = sum * 33 + *p;
    }
    fclose(file);
    return sum;
}

static void gives_back_what_is_in_the_file(void **state)
{
    size_t before = link_pages_count();
    void *library = dlopen(LIBRARY, RTLD_LAZY | RTLD_LOCAL);
    const char *(*version)(void);
    unsigned long digest;
    long written_kb;

    (void)state;
    assert_non_null(library);
    assert_true(link_pages_count() > before);
    *(void **)&version = dlsym(library, "sqlite3_libversion");
    assert_non_null(version);

    digest = touch("libsqlite3");
    written_kb = resident_kb("libsqlite3", "rw-p");
    assert_true(resident_kb("libsqlite3", "r-xp") > 256);

    link_pages_drop(0, before);
    assert_true(resident_kb("libsqlite3", "r-xp") > 256);

    link_pages_drop(before, link_pages_count() - before);
    assert_int_equal(resident_kb("libsqlite3", "r-xp"), 0);
    assert_int_equal(resident_kb("libsqlite3", "rw-p"), written_kb);

    /* And no difference is visible. */
    assert_int_equal(version()[0], '3');
    assert_true(resident_kb("libsqlite3", "r-xp") > 0);
    assert_true(touch("libsqlite3") == digest);
    dlclose(library);
}

/* As a debugger sets a breakpoint, or a preloaded library hooks a function. */
static void write_code(unsigned char *code, unsigned char byte)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    void *start = (void *)((uintptr_t)code & ~(page - 1));

    assert_int_equal(mprotect(start, page, PROT_READ | PROT_WRITE), 0);
    *code = byte;
    assert_int_equal(mprotect(start, page, PROT_READ | PROT_EXEC), 0);
}

static void leaves_code_that_somebody_has_changed(void **state)
{
    size_t before = link_pages_count();
    void *library = dlopen(LIBRARY, RTLD_LAZY | RTLD_LOCAL);
    unsigned char *code;
    unsigned char was;

    (void)state;
    assert_non_null(library);
    *(void **)&code = dlsym(library, "sqlite3_libversion");
    assert_non_null(code);
    was = *code;
    write_code(code, (unsigned char)~was);

    link_pages_drop(before, link_pages_count() - before);
    assert_int_equal(*code, (unsigned char)~was);
    write_code(code, was);
    dlclose(library);
}

UNIT_TEST(link_pages)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gives_back_what_is_in_the_file),
        cmocka_unit_test(leaves_code_that_somebody_has_changed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
