/*
 * Inventories: what a walk finds, what a comparison says, and what comes back from disk.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>

#include "goal/origin/inventory.h"
#include "goal/work_check.h"
#include "json/json.h"
#include "json/jw.h"
#include "sync/cancel.h"
#include "unit.h"

#define SETTLE_US (60 * 1000) /* after this a file is not young any more */

static void walk(struct inventory *v)
{
    struct err err = {0};

    if (inventory_walk(v, work_dir, NULL, &err) < 0)
        fail_msg("%s", err.text);
}

static void walk_and_hash(struct inventory *v)
{
    struct err err = {0};
    size_t unread;

    walk(v);
    if (inventory_hash(v, work_dir, NULL, &unread, &err) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(unread, 0);
}

/* "new a, changed b". */
static void compare(const struct inventory *was, struct inventory *now, struct buf *ret)
{
    inventory_change_vec changes = VEC_INIT;
    struct err err = {0};

    if (inventory_compare(was, now, work_dir, NULL, &changes, &err) < 0)
        fail_msg("%s", err.text);
    VEC_EACH(&changes, c) {
        buf_addf(ret, "%s%s %s", ret->len ? ", " : "", inventory_how_name(c->how),
                 c->is ? c->is->path.ptr : c->was->path.ptr);
    }
    vec_release(&changes);
}

static void odd_names(void **state)
{
    static const struct {
        const char *path;
        enum inventory_type type;
        unsigned flags;
    } rows[] = {
        {" lead", INVENTORY_FILE, 0},
        {"a b", INVENTORY_FILE, 0},
        {"bad\xff\xfe", INVENTORY_FILE, 0},
        {"deep/er/x", INVENTORY_FILE, 0},
        {"dir-link", INVENTORY_LINK, 0},
        {"fifo", INVENTORY_OTHER, 0},
        {"link", INVENTORY_LINK, 0},
        {"loop", INVENTORY_LINK, 0},
        {"nest/.gitignore", INVENTORY_FILE, INVENTORY_NESTED},
        {"nest/in/file", INVENTORY_FILE, INVENTORY_NESTED},
        {"nest2", INVENTORY_FILE, 0},
        {"new\nline", INVENTORY_FILE, 0},
        {"sub/.git", INVENTORY_FILE, INVENTORY_NESTED},
        {"sub/x", INVENTORY_FILE, INVENTORY_NESTED},
        {"tab\there", INVENTORY_FILE, 0},
    };
    CLEANUP(inventory_release) struct inventory v = INVENTORY_INIT;

    (void)state;
    work_run(
        "find . -mindepth 1 -delete; mkdir -p .git/objects nest/.git nest/in sub deep/er empty;"
        "touch .git/x nest/.git/y; echo 'gitdir: ../elsewhere' > sub/.git; mkfifo fifo;"
        "ln -s nowhere link; ln -s deep dir-link; ln -s loop loop",
        NULL);
    work_put_all("nest/.gitignore nest/in/file nest2 sub/x deep/er/x");
    work_put("a b", "1");
    work_put(" lead", "1");
    work_put("new\nline", "1");
    work_put("tab\there", "1");
    work_put("bad\xff\xfe", "1");
    walk(&v);
    assert_true(v.is_whole);
    for (size_t i = 0; i < ARRAY_LEN(rows) && i < v.entries.len; i++) {
        const struct inventory_entry *e = &v.entries.ptr[i];

        if (!str_is(e->path, rows[i].path) || e->type != rows[i].type || e->flags != rows[i].flags)
            fail_msg("%s: found %s, type %d, flags %u", rows[i].path, e->path.ptr, e->type,
                     e->flags);
        assert_ptr_equal(inventory_find(&v, str_of(rows[i].path)), e);
    }
    assert_int_equal(v.entries.len, ARRAY_LEN(rows));
    assert_null(inventory_find(&v, STR("nest")));
    assert_null(inventory_find(&v, STR("")));
    assert_null(inventory_find(&v, STR("zzz")));
    assert_true(inventory_is_nested(&v, STR("nest/new")));
    assert_false(inventory_is_nested(&v, STR("nest2")));
}

/* A folder that cannot be read stands for its contents. */
static void closed_folders(void **state)
{
    CLEANUP(inventory_release) struct inventory v = INVENTORY_INIT;
    const struct inventory_entry *e;

    (void)state;
    work_run("find . -mindepth 1 -delete; d=a; for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14; do "
             "d=$d/a/b/c/d/e/f/g/h/i/j; done;"
             "mkdir -p $d; echo 1 > $d/x",
             NULL);
    walk(&v);
    assert_int_equal(v.entries.len, 1);
    e = &v.entries.ptr[0];
    assert_true(e->type == INVENTORY_OTHER && str_starts(e->path, STR("a/a/b/c")));
    work_run("rm -r a", NULL);
    if (geteuid() == 0)
        return;
    inventory_release(&v);
    work_run("mkdir b; echo 1 > b/x; chmod 0 b", NULL);
    walk(&v);
    assert_int_equal(v.entries.len, 1);
    assert_int_equal(v.entries.ptr[0].type, INVENTORY_OTHER);
    work_run("chmod 700 b; rm -r b", NULL);
}

static void cannot_walk(void **state)
{
    CLEANUP(inventory_release) struct inventory v = INVENTORY_INIT;
    struct cancel *cancel = cancel_new(NULL);
    struct err err = {0};

    (void)state;
    assert_int_equal(inventory_walk(&v, "/nonexistent/folder", NULL, &err), -1);
    assert_int_equal(err.code, ERR_IO);
    cancel_set(cancel);
    assert_int_equal(inventory_walk(&v, work_dir, cancel, &err), -1);
    assert_int_equal(err.code, ERR_CANCELLED);
    cancel_unref(cancel);
}

static void differences(void **state)
{
    static const struct {
        const char *name, *command, *changes;
    } rows[] = {
        {"nothing", "true", ""},
        {"read", "cat a b sub/c > /dev/null", ""},
        {"touched", "touch a sub/c", ""},
        {"the same content in a new file", "cp a x; mv x a", ""},
        {"the same content written", "cat a > ../x; cat ../x > a", ""},
        {"a mode that git does not keep", "chmod 664 a", ""},
        {"executable", "chmod +x a", "mode a"},
        {"not readable any more", "chmod 000 b", "mode b"},
        {"content", "echo more >> a", "changed a"},
        {"content of the same length and time", "cp -p a ../x; printf A > a; touch -r ../x a",
         "changed a"},
        {"new", "echo 1 > new; mkdir d; echo 2 > d/e", "new d/e, new new"},
        {"gone", "rm a; rm -r sub", "gone a, gone sub/c"},
        {"renamed", "mv a z", "gone a, new z"},
        {"two swapped", "mv a x; mv b a; mv x b", "changed a, changed b"},
        {"a link instead of a file", "rm a; ln -s b a", "changed a"},
        {"a file instead of a link", "rm l; echo a > l", "changed l"},
        {"a link that leads elsewhere", "ln -sf b l", "changed l"},
        {"the same link made again", "rm l; ln -s a l", ""},
        {"a folder instead of a file", "rm a; mkdir a; echo 1 > a/b", "gone a, new a/b"},
        {"a fifo instead of a file", "rm a; mkfifo a", "changed a"},
        {"an empty folder", "mkdir nothing", ""},
        {"a hard link", "ln a second", "new second"},
        {"of .git", "mkdir -p .git; echo 1 > .git/config", ""},
    };

    (void)state;
    for (int young = 0; young < 2; young++) {
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
            CLEANUP(inventory_release) struct inventory was = INVENTORY_INIT;
            CLEANUP(inventory_release) struct inventory now = INVENTORY_INIT;
            CLEANUP(buf_release) struct buf changes = BUF_INIT(1 << 12);

            /* On a slow machine files may be old before they are read; then they are made again. */
            for (int tries = 0; tries < 50; tries++) {
                inventory_release(&was);
                work_run("chmod -R u+rwX .; find . -mindepth 1 -delete; mkdir sub; printf a > a;"
                         "printf b > b; printf c > sub/c; ln -s a l",
                         NULL);
                if (!young)
                    usleep(SETTLE_US);
                walk_and_hash(&was);
                if (was.entries.ptr[0].is_young == young)
                    break;
            }
            assert_int_equal(was.entries.ptr[0].is_young, young);
            work_run(rows[i].command, NULL);
            walk(&now);
            compare(&was, &now, &changes);
            if (!str_is(buf_str(&changes), rows[i].changes))
                fail_msg("%s: '%s', not '%s'", rows[i].name, buf_cstr(&changes), rows[i].changes);
        }
    }
}

/* So many that threads look at them. */
static void many(void **state)
{
    CLEANUP(inventory_release) struct inventory was = INVENTORY_INIT;
    CLEANUP(inventory_release) struct inventory now = INVENTORY_INIT;
    CLEANUP(buf_release) struct buf changes = BUF_INIT(1 << 12);

    (void)state;
    work_run("find . -mindepth 1 -delete; for d in 1 2 3 4 5 6 7 8 9; do mkdir $d; cd $d;"
             "seq -f f%g 1 999 | xargs touch; cd ..; done",
             NULL);
    usleep(SETTLE_US);
    walk(&was);
    assert_int_equal(was.entries.len, 9 * 999);
    for (size_t i = 0; i < was.entries.len; i++) {
        const struct inventory_entry *e = &was.entries.ptr[i];

        assert_true(e->ino && e->ctime_ns && e->type == INVENTORY_FILE);
        assert_true(!i || str_cmp(e[-1].path, e->path) < 0);
    }
    work_run("rm 1/f1; echo x > 5/f500; touch 9/new", NULL);
    walk(&now);
    compare(&was, &now, &changes);
    assert_string_equal(buf_cstr(&changes), "gone 1/f1, changed 5/f500, new 9/new");
}

/* A walk that a limit ended says nothing of files that it did not reach. */
static void parts(void **state)
{
    CLEANUP(inventory_release) struct inventory was = INVENTORY_INIT;
    CLEANUP(inventory_release) struct inventory now = INVENTORY_INIT;
    CLEANUP(buf_release) struct buf changes = BUF_INIT(1 << 12);

    (void)state;
    work_run("find . -mindepth 1 -delete; touch a b c", NULL);
    walk_and_hash(&was);
    work_run("rm a; touch d; echo 1 > b", NULL);
    walk(&now);
    was.is_whole = now.is_whole = false;
    compare(&was, &now, &changes);
    assert_string_equal(buf_cstr(&changes), "changed b");
}

/* Large files have no hash: a touch counts. */
static void large(void **state)
{
    CLEANUP(inventory_release) struct inventory was = INVENTORY_INIT;
    CLEANUP(inventory_release) struct inventory now = INVENTORY_INIT;
    CLEANUP(buf_release) struct buf changes = BUF_INIT(1 << 12);

    (void)state;
    work_run("find . -mindepth 1 -delete; head -c 100000 /dev/zero > large; cp large protected",
             NULL);
    usleep(SETTLE_US);
    walk(&was);
    inventory_find(&was, STR("protected"))->flags |= INVENTORY_PROTECTED;
    {
        size_t unread;

        assert_int_equal(inventory_hash(&was, work_dir, NULL, &unread, NULL), 0);
    }
    assert_int_equal(inventory_find(&was, STR("large"))->sha256.len, 0);
    assert_int_equal(inventory_find(&was, STR("protected"))->sha256.len, SHA256_HEX);
    work_run("touch large protected", NULL);
    walk(&now);
    compare(&was, &now, &changes);
    assert_string_equal(buf_cstr(&changes), "changed large");
    assert_true(inventory_find(&now, STR("protected"))->flags & INVENTORY_PROTECTED);
}

/* Files of orders: everything counts but the dependencies. */
static void orders(void **state)
{
    static const struct {
        const char *path, *before, *after;
        bool same;
    } rows[] = {
        {"package.json", "{\"scripts\":{\"test\":\"jest\"},\"dependencies\":{\"a\":\"1\"}}",
         "{\"scripts\":{\"test\":\"jest\"},\"dependencies\":{\"a\":\"2\",\"b\":\"1\"}}", true},
        {"package.json", "{\"scripts\":{\"test\":\"jest\"}}",
         "{\"scripts\":{\"test\":\"jest\"},\"devDependencies\":{\"a\":\"1\"},\"version\":\"2\"}",
         true},
        {"package.json", "{\"scripts\":{\"test\":\"jest\"}}", "{\"scripts\":{\"test\":\"true\"}}",
         false},
        {"package.json", "{\"scripts\":{}}", "{\"scripts\":{},\"jest\":{}}", false},
        {"package.json", "{\"a\":{\"dependencies\":1}}", "{\"a\":{\"dependencies\":2}}", false},
        {"package.json", "not json", "not json ", false},
        {"package.json", "{\"scripts\":{}}", "not json", false},
        {"Cargo.toml", "[package]\nname = \"x\"\n[dependencies]\na = \"1\"\n",
         "[package]\nname = \"x\"\n[dependencies]\na = \"2\"\nb = \"1\"\n", true},
        {"Cargo.toml", "[package]\nname = \"x\"\n",
         "[package]\nname = \"x\"\n\n[dev-dependencies]\nb = \"1\"\n", true},
        {"Cargo.toml", "[package]\nname = \"x\"\n",
         "[package]\nname = \"x\"\n[target.'cfg(unix)'.dependencies.b]\nversion = \"1\"\n", true},
        {"Cargo.toml", "[package]\nname = \"x\"\n", "[package]\nname = \"x\"\nautotests = false\n",
         false},
        {"Cargo.toml", "[package]\n[dependencies]\na = \"1\"\n",
         "[package]\n[dependencies]\na = \"1\"\n[lib]\ntest = false\n", false},
        {"Cargo.toml", "[dependencies]\na = \"1\"\n[profile.test]\nopt-level = 0\n",
         "[dependencies]\na = \"1\"\n[profile.test]\nopt-level = 3\n", false},
        {"Cargo.toml", "[package]\nx = 1\n",
         "[package]\nx = 1\n[[bench]]\nname = \"dependencies\"\n", false},
        {"Cargo.toml", "[package]\nx = 1\n[lib] # dependencies\ntest = true\n",
         "[package]\nx = 1\n[lib] # dependencies\ntest = false\n", false},
        {"pyproject.toml", "[tool.pytest.ini_options]\naddopts = \"\"\n",
         "[tool.pytest.ini_options]\naddopts = \"-k none\"\n", false},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct inventory_entry e = {.path = str_of(rows[i].path), .flags = INVENTORY_ORDERS};
        char before[SHA256_HEX + 1], after[SHA256_HEX + 1];

        work_put(rows[i].path, rows[i].before);
        assert_int_equal(inventory_read(work_dir, &e, NULL, before, NULL), 0);
        work_put(rows[i].path, rows[i].after);
        assert_int_equal(inventory_read(work_dir, &e, NULL, after, NULL), 0);
        if ((strcmp(before, after) == 0) != rows[i].same || !before[0])
            fail_msg("row %zu: %s", i, rows[i].after);
    }
}

static void parse(struct arena *arena, const char *text, int rc)
{
    CLEANUP(inventory_release) struct inventory v = INVENTORY_INIT;
    const struct json *root = NULL;
    struct err err = {0};

    assert_int_equal(json_parse(arena, str_of(text), &root, NULL, NULL), 0);
    if (inventory_parse(&v, root, &err) != rc || (rc < 0 && err.code != ERR_PROTOCOL))
        fail_msg("%s", text);
}

static void on_disk(void **state)
{
    CLEANUP(inventory_release) struct inventory a = INVENTORY_INIT;
    CLEANUP(inventory_release) struct inventory b = INVENTORY_INIT;
    CLEANUP(inventory_release) struct inventory now = INVENTORY_INIT;
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    CLEANUP(buf_release) struct buf text = BUF_INIT(1 << 16);
    CLEANUP(buf_release) struct buf changes = BUF_INIT(1 << 12);
    char digest_a[SHA256_HEX + 1], digest_b[SHA256_HEX + 1];
    const struct json *root;
    struct jw w;

    (void)state;
    work_run("find . -mindepth 1 -delete; mkfifo fifo; ln -s x link; mkdir d; echo 1 > d/100%41",
             NULL);
    work_put("bad\xff\xfe\n%\x01", "1");
    walk_and_hash(&a);
    a.entries.ptr[0].flags = INVENTORY_PROTECTED | INVENTORY_ORDERS;
    a.entries.ptr[0].why = STR("named by --protect '\xff'");
    jw_init(&w, &text, 0);
    inventory_write(&a, &w);
    assert_int_equal(json_parse(&arena, buf_str(&text), &root, NULL, NULL), 0);
    assert_int_equal(inventory_parse(&b, root, NULL), 0);
    assert_int_equal(a.entries.len, b.entries.len);
    for (size_t i = 0; i < a.entries.len; i++) {
        const struct inventory_entry *x = &a.entries.ptr[i];
        const struct inventory_entry *y = &b.entries.ptr[i];

        assert_true(str_eq(x->path, y->path) && str_eq(x->why, y->why) &&
                    str_eq(x->sha256, y->sha256) && x->flags == y->flags &&
                    x->is_young == y->is_young);
    }
    inventory_digest(&a, digest_a);
    inventory_digest(&b, digest_b);
    assert_string_equal(digest_a, digest_b);
    walk(&now);
    compare(&b, &now, &changes);
    assert_string_equal(buf_cstr(&changes), "");

    parse(&arena, "[]", 0);
    parse(&arena, "[[]]", -1);
    parse(&arena, "[1]", -1);
    parse(&arena, "[[\"a\",0,0,0,0,0,0,0,false,\"\",\"\"]]", 0);
    parse(&arena, "[[\"a\",7,0,0,0,0,0,0,false,\"\",\"\"]]", -1);
    parse(&arena, "[[\"a\",-1,0,0,0,0,0,0,false,\"\",\"\"]]", -1);
    parse(&arena, "[[\"a\",0,0,\"x\",0,0,0,0,false,\"\",\"\"]]", -1);
    parse(&arena, "[[1,0,0,0,0,0,0,0,false,\"\",\"\"]]", -1);
    parse(&arena, "[[\"b\",0,0,0,0,0,0,0,false,\"\",\"\"],[\"a\",0,0,0,0,0,0,0,false,\"\",\"\"]]",
          -1);
    parse(&arena, "[[\"/a\",0,0,0,0,0,0,0,false,\"\",\"\"]]", -1);
    parse(&arena, "[[\"a%00b\",0,0,0,0,0,0,0,false,\"\",\"\"]]", -1);
    parse(&arena, "[[\"\",0,0,0,0,0,0,0,false,\"\",\"\"]]", -1);
    parse(&arena, "{}", -1);
    parse(&arena, "\"x\"", -1);
}

UNIT_TEST(inventory)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(closed_folders), cmocka_unit_test(odd_names),
        cmocka_unit_test(cannot_walk),    cmocka_unit_test(differences),
        cmocka_unit_test(many),           cmocka_unit_test(parts),
        cmocka_unit_test(large),          cmocka_unit_test(orders),
        cmocka_unit_test(on_disk),
    };

    return cmocka_run_group_tests(tests, work_setup, work_teardown);
}
