/*
 * The index against files that grow, shrink, go, and are no sessions; and with many processes.
 */
#include "store/index.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "base/err.h"
#include "store/test_home.h"
#include "sync/cancel.h"
#include "unit.h"

#define P "-w"
#define ONE HOME_ID(1)
#define TWO HOME_ID(2)

static struct store *open_store(void)
{
    struct store *s = NULL;
    struct err err = {0};

    if (store_open("sqlite", test_home, NULL, &s, &err) < 0)
        fail_msg("%s", err.text);
    return s;
}

static void refresh(struct store *s, const char *project, struct index *ix)
{
    struct err err = {0};

    if (index_refresh(s, test_home, str_of(project), NULL, ix, &err) < 0)
        fail_msg("%s", err.text);
}

static const char *about = ""; /* what a failure is about */

/* "id:messages:name,…", ids by their eighth digit, newest first; with the store and without. */
static void expect(struct store *s, const char *project, const char *want)
{
    for (int i = 0; i < 2; i++) {
        CLEANUP(index_release) struct index ix = INDEX_INIT;
        CLEANUP(buf_release) struct buf got = BUF_INIT(BUF_NO_LIMIT);

        refresh(i ? NULL : s, project, &ix);
        VEC_EACH(&ix.rows, row) {
            buf_addf(&got, "%s%c:%lld:%.*s", got.len ? "," : "", row->id.ptr[7],
                     (long long)row->messages, STR_ARG(index_name(row)));
        }
        if (strcmp(buf_cstr(&got), want) != 0)
            fail_msg("%s%s store: '%s' instead of '%s'", about, i ? "without" : "with",
                     buf_cstr(&got), want);
    }
}

static void test_files_change(void **state)
{
    CLEANUP(mem_freep) char *path = home_path(P, ONE);
    struct store *s;

    (void)state;
    home_clear();
    s = open_store();
    expect(s, P, "");
    home_say(P, ONE, "user", 1, "first");
    home_say(P, TWO, "user", 5, "second");
    home_say("-other", HOME_ID(3), "user", 3, "elsewhere");
    expect(s, P, "2:1:second,1:1:first");
    expect(s, "", "2:1:second,3:1:elsewhere,1:1:first");
    home_say(P, ONE, "assistant", 9, "answer");
    expect(s, P, "1:2:first,2:1:second");

    /* A title counts at once, and is no activity; a torn line counts when it is whole. */
    home_append(P, TWO,
                "{\"type\":\"custom-title\",\"customTitle\":\"named\",\"sessionId\":\"" TWO
                "\"}\n");
    expect(s, P, "1:2:first,2:1:named");
    home_append(P, TWO, "{\"type\":\"user\",\"isSidechain\":false,\"uuid\":\"");
    expect(s, P, "1:2:first,2:1:named");
    home_append(P, TWO,
                "00000000-0000-4000-8000-000000000077\",\"parentUuid\":null,\"message\":{\"role\":"
                "\"user\",\"content\":\"x\"}}\n");
    expect(s, P, "1:2:first,2:2:named");

    /* Shorter, or another file of the same name. */
    assert_int_equal(truncate(path, 0), 0);
    expect(s, P, "2:2:named");
    home_say(P, ONE, "user", 20, "anew");
    expect(s, P, "1:1:anew,2:2:named");
    assert_int_equal(unlink(path), 0);
    for (int i = 0; i < 40; i++)
        home_say(P, ONE, "user", 30 + i, "another");
    expect(s, P, "1:40:another,2:2:named");

    assert_int_equal(unlink(path), 0);
    expect(s, P, "2:2:named");
    store_free(s);
}

/* A row that is right is not read again: the file may even have become unreadable. */
static void test_known_files_are_not_read(void **state)
{
    CLEANUP(index_release) struct index ix = INDEX_INIT;
    CLEANUP(mem_freep) char *path = home_path(P, ONE);
    struct timespec times[2];
    struct store *s;
    struct stat st;
    int fd;

    (void)state;
    home_clear();
    s = open_store();
    home_say(P, ONE, "user", 1, "first");
    refresh(s, P, &ix);
    assert_int_equal(stat(path, &st), 0);
    fd = open(path, O_WRONLY | O_CLOEXEC);
    for (off_t i = 0; i < st.st_size; i++)
        assert_int_equal(pwrite(fd, "x", 1, i), 1);
    times[0] = st.st_atim;
    times[1] = st.st_mtim;
    assert_int_equal(futimens(fd, times), 0);
    close(fd);
    index_release(&ix);
    ix = (struct index)INDEX_INIT;
    refresh(s, P, &ix);
    assert_int_equal(ix.rows.len, 1);
    assert_true(str_is(index_name(&ix.rows.ptr[0]), "first"));
    store_free(s);
}

static const struct not_case {
    const char *name;
    const char *text;
} not_cases[] = {
    {"agent-" ONE, "{\"type\":\"user\",\"uuid\":\"x\"}\n"},
    {"notes", "{\"type\":\"user\",\"uuid\":\"x\"}\n"},
    {ONE, ""},
    {ONE, "garbage\n\n{}\n[1,2]\n"},
    {ONE, "{\"type\":\"custom-title\",\"customTitle\":\"only a title\"}\n"},
    {ONE, "{\"type\":\"user\",\"isSidechain\":true,\"agentId\":\"a\",\"uuid\":"
          "\"00000000-0000-4000-8000-000000000077\",\"parentUuid\":null,\"message\":{\"role\":"
          "\"user\",\"content\":\"x\"}}\n"},
};

static void test_no_sessions(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(not_cases); i++) {
        struct store *s;

        home_clear();
        s = open_store();
        home_append(P, not_cases[i].name, not_cases[i].text);
        about = not_cases[i].text;
        expect(s, P, "");
        expect(s, "", "");
        store_free(s);
    }
    about = "";
}

static void test_one_row(void **state)
{
    CLEANUP(index_release) struct index ix = INDEX_INIT;
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    CLEANUP(mem_freep) char *path = home_path(P, ONE);
    CLEANUP(buf_release) struct buf made = BUF_INIT(BUF_NO_LIMIT);
    struct store_session row;
    struct store *s;
    struct err err = {0};

    (void)state;
    home_clear();
    s = open_store();
    home_say(P, ONE, "user", 1, "hello");
    home_append(
        P, ONE,
        "{\"parentUuid\":null,\"isSidechain\":false,\"type\":\"system\",\"uuid\":"
        "\"00000000-0000-4000-8000-000000000088\",\"timestamp\":\"2026-11-14T00:00:02.000Z\","
        "\"subtype\":\"turn_duration\",\"isMeta\":true,\"cost\":{\"usd\":0.5,\"unknown\":"
        "false,\"models\":[]}}\n");
    refresh(s, P, &ix);
    assert_int_equal(ix.rows.len, 1);
    row = ix.rows.ptr[0];
    assert_true(row.cost_usd == 0.5);
    assert_true(str_is(row.cwd, "/w"));
    assert_true(str_is(row.branch, "main"));
    assert_true(str_is(row.first_prompt, "hello"));
    assert_int_equal(row.created_ms, 1794614401000);
    index_path(&row, test_home, &made);
    assert_string_equal(buf_cstr(&made), path);
    assert_true(index_is_ours(test_home, path));
    assert_false(index_is_ours(test_home, "/etc/passwd"));

    assert_int_equal(index_read(path, NULL, &arena, &row, &err), 0);
    assert_true(str_is(row.id, ONE));
    assert_true(str_is(row.project, P));
    assert_true(row.cost_usd == 0.5);
    assert_int_equal(index_read("/nowhere/" ONE ".jsonl", NULL, &arena, &row, &err), -1);
    assert_int_equal(err.code, ERR_NOT_FOUND);
    store_free(s);
}

/* Losing the store loses nothing of the list. */
static void test_lost_store(void **state)
{
    CLEANUP(mem_freep) char *db = path_join(test_home, "state.db");
    struct store *s;

    (void)state;
    home_clear();
    s = open_store();
    home_say(P, ONE, "user", 1, "first");
    expect(s, P, "1:1:first");
    store_free(s);
    assert_int_equal(unlink(db), 0);
    s = open_store();
    expect(s, P, "1:1:first");
    store_free(s);
}

static void test_cancel(void **state)
{
    CLEANUP(cancel_unrefp) struct cancel *cancel = cancel_new(/*parent=*/NULL);
    CLEANUP(index_release) struct index ix = INDEX_INIT;
    struct err err = {0};

    (void)state;
    home_clear();
    home_say(P, ONE, "user", 1, "first");
    cancel_set(cancel);
    assert_int_equal(index_refresh(NULL, test_home, STR(P), cancel, &ix, &err), -1);
    assert_int_equal(err.code, ERR_CANCELLED);
}

/* Begun before the store is open, and begun for nothing. */
static void test_begun_early(void **state)
{
    CLEANUP(index_release) struct index ix = INDEX_INIT;
    CLEANUP(index_release) struct index unused = INDEX_INIT;
    struct store *s;

    (void)state;
    home_clear();
    home_say(P, ONE, "user", 1, "first");
    home_say("-x", TWO, "user", 2, "second");
    index_begin(&unused, test_home, STR(""), /*cancel=*/NULL);
    index_begin(&ix, test_home, STR(P), /*cancel=*/NULL);
    s = open_store();
    refresh(s, P, &ix);
    assert_int_equal(ix.rows.len, 1);
    assert_null(ix.survey);
    store_free(s);
}

/* Some rows of each project are gone, changed or new: none is taken for another's. */
static void test_several_projects(void **state)
{
    static const char *const projects[] = {"-a", "-a-b", "-b"};
    struct store *s;

    (void)state;
    home_clear();
    s = open_store();
    for (int i = 0; i < 3; i++) {
        home_say(projects[i], ONE, "user", 1 + i, "one");
        home_say(projects[i], HOME_ID(3), "user", 5 + i, "three");
    }
    expect(s, "", "3:1:three,3:1:three,3:1:three,1:1:one,1:1:one,1:1:one");
    for (int i = 0; i < 3; i++) {
        CLEANUP(mem_freep) char *path = home_path(projects[i], i == 1 ? HOME_ID(3) : ONE);

        assert_int_equal(unlink(path), 0);
        home_say(projects[i], TWO, "user", 10 + i, "two");
    }
    home_say("-b", HOME_ID(3), "assistant", 20, "answer");
    expect(s, "", "3:2:three,2:1:two,2:1:two,2:1:two,3:1:three,1:1:one");
    expect(s, "-a", "2:1:two,3:1:three");
    expect(s, "-a-b", "2:1:two,1:1:one");
    store_free(s);
}

static void remove_session(const char *id)
{
    CLEANUP(mem_freep) char *path = home_path(P, id);

    assert_int_equal(unlink(path), 0);
}

/* Rows are looked up by the beginnings of their ids. */
static void test_ids_that_begin_alike(void **state)
{
    char id[] = HOME_ID(1);
    struct store *s;

    (void)state;
    home_clear();
    s = open_store();
    for (int round = 0; round < 3; round++) {
        CLEANUP(index_release) struct index ix = INDEX_INIT;

        for (int i = 0; i < 50; i++) {
            id[34] = (char)('0' + i / 10);
            id[35] = (char)('0' + i % 10);
            if (round < 2 || i % 2)
                home_say(P, id, "user", 1 + i + 60 * round, "words");
            else if (i % 4 == 0)
                remove_session(id);
        }
        refresh(s, P, &ix);
        assert_int_equal(ix.rows.len, round < 2 ? 50 : 37);
        VEC_EACH(&ix.rows, row) {
            assert_int_equal(row->messages, round < 2 ? round + 1 : row->id.ptr[35] % 2 ? 3 : 2);
        }
    }
    store_free(s);
}

#define WRITERS 8
#define TURNS 40

/* One session, written and looked at in turns, with everybody else's. */
static int write_session(int writer)
{
    struct store *s = NULL;
    char id[] = HOME_ID(0);

    id[7] = (char)('0' + writer);
    for (int i = 0; i < TURNS; i++) {
        CLEANUP(index_release) struct index ix = INDEX_INIT;
        struct err err = {0};
        bool found = false;

        if (!s && store_open("sqlite", test_home, NULL, &s, &err) < 0) {
            fprintf(stderr, "%s\n", err.text);
            return 1;
        }
        home_say(P, id, i % 2 ? "assistant" : "user", i + 1, "words");
        if (index_refresh(s, test_home, STR(P), NULL, &ix, &err) < 0) {
            fprintf(stderr, "%s\n", err.text);
            return 2;
        }
        VEC_EACH(&ix.rows, row) {
            found = found || (str_is(row->id, id) && row->messages == i + 1);
        }
        if (!found)
            return 3;
        if (i % 9 == 0) {
            store_free(s);
            s = NULL;
        }
    }
    store_free(s);
    return 0;
}

static void test_processes(void **state)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    store_session_vec rows = VEC_INIT;
    pid_t writers[WRITERS];
    struct store *s;

    (void)state;
    home_clear();
    for (int i = 0; i < WRITERS; i++) {
        writers[i] = fork();
        if (writers[i] == 0)
            _exit(write_session(i + 1));
    }
    for (int i = 0; i < WRITERS; i++) {
        int status;

        assert_int_equal(waitpid(writers[i], &status, 0), writers[i]);
        if (status)
            fail_msg("writer %d ended with %#x", i, status);
    }
    s = open_store();
    expect(s, P,
           "1:40:words,2:40:words,3:40:words,4:40:words,5:40:words,6:40:words,7:40:words,"
           "8:40:words");
    assert_int_equal(store_sessions(s, STR(P), &arena, &rows, NULL, NULL), 0);
    assert_int_equal(rows.len, WRITERS);
    vec_release(&rows);
    store_free(s);
}

UNIT_TEST(index)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_files_change),
        cmocka_unit_test(test_known_files_are_not_read),
        cmocka_unit_test(test_no_sessions),
        cmocka_unit_test(test_one_row),
        cmocka_unit_test(test_lost_store),
        cmocka_unit_test(test_cancel),
        cmocka_unit_test(test_begun_early),
        cmocka_unit_test(test_several_projects),
        cmocka_unit_test(test_ids_that_begin_alike),
        cmocka_unit_test(test_processes),
    };

    return cmocka_run_group_tests(tests, home_setup, home_teardown);
}
