/*
 * The unit tests of a folder are one program. Each <noun>_test.c has one UNIT_TEST(noun) in place
 * of main(), whose body runs the file's tests and returns the number of failures:
 *
 *     build/tests/unit_base buf       runs src/base/buf_test.c
 *     build/tests/unit_base           lists what there is
 */
#pragma once

struct unit {
    const char *name;
    int (*run)(int argc, char **argv); /* argv[0] is the name */
    struct unit *next;
};

void unit_add(struct unit *u);

#define UNIT_TEST(noun)                                                                            \
    static int noun##_unit_main(int argc, char **argv);                                            \
    static struct unit noun##_unit = {#noun, noun##_unit_main, 0};                                 \
    __attribute__((constructor)) static void noun##_unit_add(void)                                 \
    {                                                                                              \
        unit_add(&noun##_unit);                                                                    \
    }                                                                                              \
    static int noun##_unit_main(__attribute__((unused)) int argc,                                  \
                                __attribute__((unused)) char **argv)
