/*
 * Records of an observed check, sorted into lists.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"
#include "goal/origin/trace.h"
#include "json/json.h"
#include "json/jw.h"
#include "unit.h"

/* Records with '|' for the NUL after each and '^' for the separator of arguments. */
static void read_records(struct trace *t, const char *text)
{
    CLEANUP(buf_release) struct buf records = BUF_INIT(1 << 16);

    for (; *text; text++)
        buf_addc(&records, *text == '|' ? '\0' : *text == '^' ? '\x1f' : *text);
    trace_read(t, buf_str(&records), "/w/app", "/w/app", "/tmp/room", "/home/u");
}

static void assert_list(const char *what, const struct strv *list, const char *expected)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(1 << 16);

    for (size_t i = 0; i < list->len; i++)
        buf_addf(&text, "%s%s", i ? " " : "", list->ptr[i]);
    if (!str_is(buf_str(&text), expected))
        fail_msg("%s: '%s', not '%s'", what, buf_cstr(&text), expected);
}

static void lists(void **state)
{
    static const struct {
        const char *name, *records;
        const char *programs, *ran, *read, *used, *made, *outside, *missing;
    } rows[] = {
        {"nothing", "", "", "", "", "", "", "", ""},
        {"a program", "X 1 /bin/cat^f|R 1 /w/app/f|", "/bin/cat", "", "f", "", "", "", ""},
        {"a script", "X 1 /bin/sh^-e^./run.sh|R 1 /w/app/run.sh|", "/bin/sh", "run.sh", "run.sh",
         "run.sh", "", "", ""},
        {"a script by its full path", "X 1 /usr/bin/python3^/w/app/a/t.py|R 1 /w/app/a/t.py|",
         "/usr/bin/python3", "a/t.py", "a/t.py", "a/t.py", "", "", ""},
        {"a module that a script loads",
         "X 1 /usr/bin/python3^t.py|R 1 /w/app/t.py|R 1 /w/app/m.py|", "/usr/bin/python3", "t.py",
         "m.py t.py", "m.py t.py", "", "", ""},
        {"a program of the workspace", "X 1 /w/app/bin/x^1|R 1 /w/app/data|", "", "bin/x", "data",
         "data", "", "", ""},
        {"a program beside the workspace", "X 1 /w/app2/bin/x|R 1 /w/app/data|", "/w/app2/bin/x",
         "", "data", "", "", "", ""},
        {"a python cache", "X 1 /usr/bin/python3^-m^t|R 1 /w/app/a/__pycache__/m.cpython-311.pyc|",
         "/usr/bin/python3", "", "a/__pycache__/m.cpython-311.pyc a/m.py",
         "a/__pycache__/m.cpython-311.pyc a/m.py", "", "", ""},
        {"make", "X 1 /usr/bin/make^-s|R 1 /w/app/Makefile|R 1 /w/app/x.mk|", "/usr/bin/make", "",
         "Makefile x.mk", "Makefile x.mk", "Makefile x.mk", "", ""},
        {"make, then another program", "X 1 /usr/bin/make|X 1 /usr/bin/cc^a.c|R 1 /w/app/a.c|",
         "/usr/bin/cc /usr/bin/make", "", "a.c", "a.c", "", "", ""},
        {"what grep looks at", "X 1 /bin/grep^-r^x|R 1 /w/app/a|R 1 /w/app/b|", "/bin/grep", "",
         "a b", "", "", "", ""},
        {"sed runs a script and uses nothing", "X 1 /bin/sed^-f^s.sed|R 1 /w/app/s.sed|",
         "/bin/sed", "s.sed", "s.sed", "", "", "", ""},
        {"two processes", "X 1 /bin/sh^a.sh|X 2 /bin/cat^a.sh|R 2 /w/app/a.sh|", "/bin/cat /bin/sh",
         "", "a.sh", "", "", "", ""},
        {"a process that is not known", "R 7 /w/app/a|", "", "", "a", "", "", "", ""},
        {"sorted, without duplicates", "R 1 /w/app/b|R 2 /w/app/a|R 3 /w/app/b|", "", "", "a b", "",
         "", "", ""},
        {"elsewhere", "R 1 /home/u/.x|R 1 /w/other|R 1 /w/app|", "", "", "", "", "",
         "/home/u/.x /w/app /w/other", ""},
        {"the room's own folder", "R 1 /tmp/room/t/x|X 1 /tmp/room/t/prog|", "", "", "", "", "", "",
         ""},
        {"the room's home", "R 1 /tmp/room/h/.m2/a.jar|", "", "", "", "", "", "/home/u/.m2/a.jar",
         ""},
        {"missing", "M 1 /w/app/x|M 1 /elsewhere/y|M 1 /w/app2/z|", "", "", "", "", "", "", "x"},
        {"spaces and newlines", "R 1 /w/app/a b|R 1 /w/app/c\nd|", "", "", "a b c\nd", "", "", "",
         ""},
        {"garbage", "|||X|X |X 1|X 1 |R|R 2 |Z 1 /w/app/a|r 1 /w/app/a| R 1 /w/app/a|\xff\xfe|", "",
         "", "", "", "", "", ""},
        {"the last record is cut", "R 1 /w/app/a|R 1 /w/app/b", "", "", "a", "", "", "", ""},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct trace t = {0};

        read_records(&t, rows[i].records);
        assert_true(t.is_seen);
        assert_false(t.is_cut);
        assert_list(rows[i].name, &t.programs, rows[i].programs);
        assert_list(rows[i].name, &t.ran, rows[i].ran);
        assert_list(rows[i].name, &t.read, rows[i].read);
        assert_list(rows[i].name, &t.used, rows[i].used);
        assert_list(rows[i].name, &t.made, rows[i].made);
        assert_list(rows[i].name, &t.outside, rows[i].outside);
        assert_list(rows[i].name, &t.missing, rows[i].missing);
        trace_release(&t);
    }
}

/* What a program such as grep was given says nothing about what it looks for. */
static void loads(void **state)
{
    struct trace t = {0};

    (void)state;
    read_records(&t,
                 "X 1 /bin/grep^-r^x|R 1 /w/app/a|R 1 /w/app/b|X 2 /usr/bin/rg|R 2 /w/app/b|R 2 "
                 "/w/app/c|");
    assert_list("loaded", &t.loaded, "b c");
    trace_release(&t);
}

static void cut(void **state)
{
    struct trace t = {0};

    (void)state;
    read_records(&t, "R 1 /w/app/a|T|");
    assert_true(t.is_cut);
    assert_true(trace_has(&t.read, STR("a")));
    assert_false(trace_has(&t.read, STR("b")));
    assert_false(trace_has(&t.used, STR("a")));
    trace_release(&t);
}

static void builds(void **state)
{
    static const struct {
        const char *records;
        bool builds;
    } rows[] = {
        {"X 1 /usr/bin/make|", true},
        {"X 1 /bin/sh|X 2 /usr/lib/gcc/x/cc1|", true},
        {"X 1 /root/.cargo/bin/cargo|", true},
        {"X 1 /usr/bin/python3|", false},
        {"", false},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct trace t = {0};

        read_records(&t, rows[i].records);
        if (trace_builds(&t) != rows[i].builds)
            fail_msg("%s", rows[i].records);
        trace_release(&t);
    }
}

/* Reading back from disk gives the written data, whatever bytes are in a path. */
static void round_trip(void **state)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    CLEANUP(buf_release) struct buf text = BUF_INIT(1 << 16);
    const struct json *root;
    struct trace a = {0};
    struct trace b = {0};
    struct jw w;

    (void)state;
    read_records(&a, "X 1 /usr/bin/make^all|R 1 /w/app/Makefile|R 1 /w/app/bad\xff\xfe%41|"
                     "X 2 /w/app/new\nline|R 2 /w/app/caf\xc3\xa9|T|");
    jw_init(&w, &text, 0);
    trace_write(&a, &w);
    assert_int_equal(json_parse(&arena, buf_str(&text), &root, NULL, NULL), 0);
    trace_parse(&b, root);
    assert_true(b.is_seen && b.is_cut);
    assert_list("programs", &b.programs, "/usr/bin/make");
    assert_list("ran", &b.ran, "new\nline");
    assert_list("read", &b.read, "Makefile bad\xff\xfe%41 caf\xc3\xa9");
    assert_list("used", &b.used, "Makefile bad\xff\xfe%41 caf\xc3\xa9");
    assert_list("made", &b.made, "Makefile bad\xff\xfe%41");
    trace_release(&a);
    trace_release(&b);
    trace_parse(&b, /*v=*/NULL);
    assert_false(b.is_seen);
    trace_release(&b);
}

UNIT_TEST(trace)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists),  cmocka_unit_test(loads),      cmocka_unit_test(cut),
        cmocka_unit_test(builds), cmocka_unit_test(round_trip),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
