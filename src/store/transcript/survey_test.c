/*
 * A survey: what counts as a transcript, each of them once, and a cancel.
 */
#include "store/transcript/survey.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "store/test_home.h"
#include "sync/cancel.h"
#include "unit.h"

static void make(const char *path)
{
    CLEANUP(mem_freep) char *file = path_join(test_home, path);
    CLEANUP(mem_freep) char *dir = path_dirname(file);

    if (file_mkdirs(dir, 0700, NULL) < 0 || file_replace(file, str_of(path), 0600, NULL) < 0)
        fail_msg("cannot make %s", path);
}

static int by_place(const void *a, const void *b)
{
    const struct survey_file *x = a;
    const struct survey_file *y = b;
    int project = str_cmp(x->project, y->project);

    return project ? project : strcmp(x->id, y->id);
}

/* In an order that does not depend on the file system. */
static void sort_files(struct session_survey *s)
{
    if (s->files.len)
        qsort(s->files.ptr, s->files.len, sizeof(*s->files.ptr), by_place);
}

/* "project/digit …", by the eighth digit of their ids. */
static void expect(const char *project, struct cancel *cancel, const char *want)
{
    CLEANUP(survey_release)
    struct session_survey s = SURVEY_INIT(test_home, str_of(project), cancel);
    CLEANUP(buf_release) struct buf got = BUF_INIT(BUF_NO_LIMIT);

    survey_begin(&s);
    survey_end(&s);
    sort_files(&s);
    VEC_EACH(&s.files, file) {
        buf_addf(&got, "%s%.*s/%c", got.len ? " " : "", STR_ARG(file->project), file->id[7]);
        if (!file->inode || !file->mtime_ns ||
            file->size != (int64_t)(strlen("projects//.jsonl") + file->project.len + 36))
            fail_msg("%.*s/%s is not as it was made", STR_ARG(file->project), file->id);
    }
    if (strcmp(buf_cstr(&got), want) != 0)
        fail_msg("of '%s': '%s' instead of '%s'", project, buf_cstr(&got), want);
}

static void test_which(void **state)
{
    static const char *const files[] = {
        "projects/b/" HOME_ID(3) ".jsonl",
        "projects/a-b/" HOME_ID(2) ".jsonl",
        "projects/a/" HOME_ID(9) ".jsonl",
        "projects/a/" HOME_ID(1) ".jsonl",
        "projects/a/notes.jsonl",
        "projects/a/" HOME_ID(4) ".jsonl.old",
        "projects/a/" HOME_ID(5) "/x",
        "projects/a/" HOME_ID(6) ".jsonl/x",
        "projects/.hidden/" HOME_ID(7) ".jsonl",
        "projects/stray",
    };

    (void)state;
    home_clear();
    expect("", NULL, "");
    for (size_t i = 0; i < ARRAY_LEN(files); i++)
        make(files[i]);
    expect("", NULL, "a/1 a/9 a-b/2 b/3");
    expect("a", NULL, "a/1 a/9");
    expect("c", NULL, "");
}

#define FOLDERS 3
#define FILES 150 /* in each: more than one takes at a time */

/* Checked by two threads, and every file once; vanished ones are left out. */
static void test_many(void **state)
{
    CLEANUP(survey_release) struct session_survey s = SURVEY_INIT(test_home, STR(""), NULL);
    char last[ID_UUID_LEN + 2] = "";
    char path[200];

    (void)state;
    home_clear();
    for (int i = 0; i < FOLDERS * FILES; i++) {
        snprintf(path, sizeof(path), "projects/%c/%08x-0000-4000-8000-000000000000.jsonl",
                 'a' + i % FOLDERS, (unsigned)i * 2654435761u);
        make(path);
    }
    for (int i = 0; i < FOLDERS; i++) {
        CLEANUP(mem_freep) char *link = NULL;

        snprintf(path, sizeof(path), "projects/%c/" HOME_ID(0) ".jsonl", 'a' + i);
        link = path_join(test_home, path);
        assert_int_equal(symlink("/nonexistent", link), 0);
    }
    survey_begin(&s);
    survey_end(&s);
    assert_int_equal(s.files.len, FOLDERS * FILES);
    sort_files(&s);
    VEC_EACH(&s.files, file) {
        char name[ID_UUID_LEN + 2];

        assert_int_equal(file->size, strlen("projects/a/.jsonl") + ID_UUID_LEN);
        assert_true(file->inode && file->mtime_ns);
        snprintf(name, sizeof(name), "%c%s", file->project.ptr[0], file->id);
        assert_true(strcmp(last, name) < 0);
        memcpy(last, name, sizeof(last));
    }
}

static void test_cancel(void **state)
{
    CLEANUP(cancel_unrefp) struct cancel *cancel = cancel_new(/*parent=*/NULL);

    (void)state;
    home_clear();
    make("projects/a/" HOME_ID(1) ".jsonl");
    expect("", cancel, "a/1");
    cancel_set(cancel);
    expect("", cancel, "");
}

UNIT_TEST(survey)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_which),
        cmocka_unit_test(test_many),
        cmocka_unit_test(test_cancel),
    };

    return cmocka_run_group_tests(tests, home_setup, home_teardown);
}
