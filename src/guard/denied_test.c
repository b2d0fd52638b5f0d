/*
 * Deny rules Read(…) and the disk: which paths they forbid, and which files are found for the
 * sandbox to hide, at first and when the folders have changed; all of it with folders that the
 * kernel watches, and without.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/strv.h"
#include "conf/conf.h"
#include "conf/option.h"
#include "guard/denied.h"
#include "guard/denied_files.h"
#include "guard/permit.h"
#include "guard/workspace.h"
#include "unit.h"

/* root/w is worked in, root/h the home. */
static char root[64];

struct place {
    struct args args;
    struct conf *conf;
    struct workspace *workspace;
    struct permit *permit;
    struct denied_files *files;
};

static void place_make(struct place *p, const char *deny)
{
    CLEANUP(strv_release) struct strv env = STRV_INIT;
    CLEANUP(strv_release) struct strv warnings = STRV_INIT;
    CLEANUP(buf_release) struct buf settings = BUF_INIT(10000);
    CLEANUP(mem_freep) char *dir = path_join(root, "w");
    CLEANUP(mem_freep) char *etc = path_join(root, "etc");
    const char *argv[] = {"tenax", "--settings", NULL};
    struct conf_sources from = {.dir = dir, .args = &p->args, .etc = etc, .trusted = true};
    struct err err = {0};

    *p = (struct place){.files = denied_files_new(DENIED_READ)};
    buf_addf(&settings, "{\"permissions\":{\"deny\":[%s]}}", deny);
    argv[2] = buf_cstr(&settings);
    strv_addf(&env, "HOME=%s/h", root);
    from.environ = strv_get(&env);
    assert_int_equal(args_parse(3, (char *const *)argv, &p->args, &err), 0);
    if (conf_load(&from, &p->conf, &err) < 0)
        fail_msg("%s", err.text);
    p->workspace = workspace_new(dir, root, strv_get(&env));
    assert_int_equal(permit_new(p->conf, p->workspace, &warnings, &p->permit, &err), 0);
    assert_int_equal(warnings.len, 0);
}

static void place_release(struct place *p)
{
    denied_files_free(p->files);
    permit_free(p->permit);
    workspace_unref(p->workspace);
    conf_unref(p->conf);
    args_release(&p->args);
}

static void make_file(const char *name)
{
    CLEANUP(mem_freep) char *path = path_join(root, name);
    CLEANUP(mem_freep) char *dir = path_dirname(path);

    assert_int_equal(file_mkdirs(dir, 0700, NULL), 0);
    assert_int_equal(file_replace(path, STR("x\n"), 0600, NULL), 0);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The files found, below root, sorted, with blanks between. */
static void find(struct place *p, struct buf *ret)
{
    CLEANUP(strv_release) struct strv dirs = STRV_INIT;
    CLEANUP(strv_release) struct strv found = STRV_INIT;

    workspace_dirs(p->workspace, &dirs);
    buf_clear(ret);
    assert_true(denied_files_find(p->files, p->permit, &dirs, &found));
    if (found.len)
        qsort(found.ptr, found.len, sizeof(*found.ptr), by_name);
    for (size_t i = 0; i < found.len; i++) {
        const char *path = found.ptr[i];

        if (strncmp(path, root, strlen(root)) == 0)
            path += strlen(root) + 1;
        buf_addf(ret, "%s%s", i ? " " : "", path);
    }
}

static const struct {
    const char *deny;
    const char *found;
} cases[] = {
    {"", ""},
    {"\"Read\"", ""},           /* no tool reads; nothing is named */
    {"\"Edit(.env)\"", ""},     /* may be read */
    {"\"Bash(cat .env)\"", ""}, /* no path */
    {"\"Read(.env)\"", "w/.env w/a/.env w/a/b/.env"},
    {"\"Read(./.env)\"", "w/.env"},
    {"\"Read(./none)\"", "w/none"}, /* no error */
    {"\"Read(secrets/**)\"", "w/a/secrets w/secrets"},
    {"\"Read(./secrets/**)\"", "w/secrets"},
    {"\"Read(a/secrets/**)\"", "w/a/secrets"},
    {"\"Read(*.pem)\"", "w/a/b/k.pem w/k.pem"},
    {"\"Read(./*.pem)\"", "w/k.pem"},
    {"\"Read(a/*/*.pem)\"", "w/a/b/k.pem"},
    {"\"Read(a/**/.env)\"", "w/a/.env w/a/b/.env"},
    {"\"Read(~/keys/*.pem)\"", "h/keys/1.pem h/keys/2.pem"},
    {"\"Read(~/keys/**)\"", "h/keys"},
    {"\"Read(~/**/*.pem)\"", ""}, /* a home is not searched */
    {"\"Read(//**/.env)\"", "w/.env w/a/.env w/a/b/.env"},
    {"\"Read(./.env)\", \"Read(a/*/*.pem)\", \"Read(k.pem)\"", "w/.env w/a/b/k.pem w/k.pem"},
    {"\"Read(./*/b/.env)\", \"Read(a/*)\"", "w/a/.env w/a/b w/a/secrets"},
    {"\"Read(link)\"", "w/link"},
    {"\"Read(./**)\"", ""}, /* the folder itself: no command could run */
    {"\"Read(node_modules/**)\"", "w/node_modules"},
    {"\"Read(inner.js)\"", ""}, /* not looked through */
};

static void finds(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        CLEANUP(place_release) struct place p;
        CLEANUP(buf_release) struct buf found = BUF_INIT(10000);

        place_make(&p, cases[i].deny);
        for (int twice = 0; twice < 2; twice++) {
            find(&p, &found);
            if (strcmp(buf_cstr(&found), cases[i].found) != 0)
                fail_msg("%s: found '%s'", cases[i].deny, buf_cstr(&found));
        }
    }
}

/* What comes and goes between two looks is seen. */
static void changes(void **state)
{
    CLEANUP(place_release) struct place p;
    CLEANUP(buf_release) struct buf found = BUF_INIT(10000);
    CLEANUP(mem_freep) char *new_dir = path_join(root, "w/new/in");
    CLEANUP(mem_freep) char *env = path_join(root, "w/new/in/.env");

    (void)state;
    place_make(&p, "\"Read(.env)\"");
    find(&p, &found);
    assert_string_equal(buf_cstr(&found), "w/.env w/a/.env w/a/b/.env");
    make_file("w/new/in/.env");
    find(&p, &found);
    assert_string_equal(buf_cstr(&found), "w/.env w/a/.env w/a/b/.env w/new/in/.env");
    assert_int_equal(unlink(env), 0);
    find(&p, &found);
    assert_string_equal(buf_cstr(&found), "w/.env w/a/.env w/a/b/.env");
    make_file("w/new/in/.env");
    find(&p, &found);
    assert_int_equal(unlink(env), 0);
    assert_int_equal(rmdir(new_dir), 0);
    find(&p, &found);
    assert_string_equal(buf_cstr(&found), "w/.env w/a/.env w/a/b/.env");
}

static void rename_to(const char *from, const char *to)
{
    CLEANUP(mem_freep) char *old_path = path_join(root, from);
    CLEANUP(mem_freep) char *new_path = path_join(root, to);

    assert_int_equal(rename(old_path, new_path), 0);
}

/* Folders that trade places, by whatever way, are seen for what they are. */
static void moves(void **state)
{
    CLEANUP(place_release) struct place p;
    CLEANUP(buf_release) struct buf found = BUF_INIT(10000);
    CLEANUP(mem_freep) char *empty = path_join(root, "w/empty");
    CLEANUP(mem_freep) char *twin = path_join(root, "w/a/twin.env");
    CLEANUP(mem_freep) char *first = path_join(root, "w/a/.env");
    int held;

    (void)state;
    make_file("other/b/c/x.key");
    make_file("other/plain");
    place_make(&p, "\"Read(*.key)\", \"Read(.env)\"");
    find(&p, &found);
    assert_string_equal(buf_cstr(&found), "w/.env w/a/.env w/a/b/.env");
    /* A folder in the place of one that had others of the same names below. */
    rename_to("w/a", "was-a");
    rename_to("other", "w/a");
    find(&p, &found);
    assert_string_equal(buf_cstr(&found), "w/.env w/a/b/c/x.key");
    rename_to("w/a", "other");
    rename_to("was-a", "w/a");
    find(&p, &found);
    assert_string_equal(buf_cstr(&found), "w/.env w/a/.env w/a/b/.env");
    /* One that is held open does not say that it was removed. */
    assert_int_equal(mkdir(empty, 0700), 0);
    find(&p, &found);
    held = open(empty, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(held >= 0);
    rename_to("other", "w/empty");
    find(&p, &found);
    assert_string_equal(buf_cstr(&found), "w/.env w/a/.env w/a/b/.env w/empty/b/c/x.key");
    close(held);
    /* The folder that is worked in itself. */
    rename_to("w", "was-w");
    make_file("w/a/b/x.key");
    find(&p, &found);
    assert_string_equal(buf_cstr(&found), "w/a/b/x.key");
    rename_to("w", "new-w");
    rename_to("was-w", "w");
    find(&p, &found);
    assert_string_equal(buf_cstr(&found), "w/.env w/a/.env w/a/b/.env w/empty/b/c/x.key");
    rename_to("w/empty", "other");
    /* A second name of a file that is not denied by its first. */
    assert_int_equal(link(first, twin), 0);
    rename_to("w/a/twin.env", "w/a/twin.key");
    find(&p, &found);
    assert_string_equal(buf_cstr(&found), "w/.env w/a/.env w/a/b/.env w/a/twin.key");
    rename_to("w/a/twin.key", "twin");
}

/* A file is hidden from the very next command, however many looks there were before. */
static void at_once(void **state)
{
    CLEANUP(place_release) struct place p;
    CLEANUP(buf_release) struct buf found = BUF_INIT(10000);

    (void)state;
    place_make(&p, "\"Read(*.late)\"");
    for (int i = 0; i < 200; i++) {
        char name[64];

        snprintf(name, sizeof(name), "w/a/b/%d.late", i);
        find(&p, &found);
        assert_string_equal(buf_cstr(&found), "");
        make_file(name);
        find(&p, &found);
        assert_string_equal(buf_cstr(&found), name);
        rename_to(name, "gone");
    }
}

/* More than can be hidden: as many as possible, and this is reported. */
static void too_many(void **state)
{
    CLEANUP(place_release) struct place p;
    CLEANUP(strv_release) struct strv dirs = STRV_INIT;
    CLEANUP(strv_release) struct strv found = STRV_INIT;

    (void)state;
    for (int i = 0; i < 300; i++) {
        char name[64];

        snprintf(name, sizeof(name), "w/many/%d.secret", i);
        make_file(name);
    }
    place_make(&p, "\"Read(*.secret)\"");
    workspace_dirs(p.workspace, &dirs);
    assert_false(denied_files_find(p.files, p.permit, &dirs, &found));
    assert_int_equal(found.len, 200);
}

static void paths(void **state)
{
    CLEANUP(place_release) struct place none;
    CLEANUP(place_release) struct place p;
    CLEANUP(denied_freep) struct denied *d = NULL;
    CLEANUP(mem_freep) char *file = path_join(root, "w/a/secrets/key");
    CLEANUP(mem_freep) char *other = path_join(root, "w/a/secret");

    (void)state;
    place_make(&none, "\"Edit(.env)\"");
    assert_null(denied_new(none.permit, DENIED_READ));
    assert_false(denied_has(NULL, file));
    place_make(&p, "\"Read(secrets/**)\"");
    d = denied_new(p.permit, DENIED_READ);
    assert_true(denied_has(d, file));
    assert_false(denied_has(d, other));
}

static int set_up(void **state)
{
    static const char *const files[] = {
        "w/.env",
        "w/a/.env",
        "w/a/b/.env",
        "w/a/b/k.pem",
        "w/k.pem",
        "w/secrets/one",
        "w/a/secrets/key",
        "w/a/b/plain",
        "h/keys/1.pem",
        "h/keys/2.pem",
        "w/node_modules/inner.js",
        "etc/x",
    };
    CLEANUP(mem_freep) char *link = NULL;

    (void)state;
    snprintf(root, sizeof(root), "/tmp/denied-XXXXXX");
    if (!mkdtemp(root))
        return -1;
    for (size_t i = 0; i < ARRAY_LEN(files); i++)
        make_file(files[i]);
    link = path_join(root, "w/link");
    return symlink("k.pem", link);
}

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *at)
{
    (void)st;
    (void)type;
    (void)at;
    return remove(path);
}

static int clean_up(void **state)
{
    (void)state;
    return nftw(root, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

/* From here on the kernel watches nothing, as where its limits are reached. */
static int refuse_watching(void)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_inotify_init1, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EMFILE),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {ARRAY_LEN(code), code};

    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
                   prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0
               ? 0
               : -1;
}

UNIT_TEST(denied)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds),   cmocka_unit_test(changes), cmocka_unit_test(moves),
        cmocka_unit_test(at_once), cmocka_unit_test(paths),   cmocka_unit_test(too_many),
    };
    int failed;

    failed = cmocka_run_group_tests(tests, set_up, clean_up);
    if (refuse_watching() == 0)
        failed += cmocka_run_group_tests_name("unwatched", tests, set_up, clean_up);
    return failed;
}
