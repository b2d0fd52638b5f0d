/*
 * What every backend of the store promises, run once for each; then what only the file can show:
 * older and newer formats, damage, and many processes at once.
 */
#include "store/store.h"

#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "base/strv.h"
#include "store/backend.h"
#include "store/query.h"
#include "store/sqlite_table.h"
#include "sync/cancel.h"
#include "sync/thread.h"
#include "unit.h"

static char home[] = "/tmp/tenax-store-XXXXXX";

static void empty_home(void)
{
    DIR *d = opendir(home);

    for (struct dirent *e = readdir(d); e; e = readdir(d)) {
        (void)unlinkat(dirfd(d), e->d_name, 0);
        (void)unlinkat(dirfd(d), e->d_name, AT_REMOVEDIR);
    }
    closedir(d);
}

static char *db_path(void)
{
    return path_join(home, "state.db");
}

static struct store *open_store(const char *backend)
{
    struct store *s = NULL;
    struct err err = {0};

    if (store_open(backend, home, /*cancel=*/NULL, &s, &err) < 0)
        fail_msg("%s: %s", backend, err.text);
    return s;
}

/* All warnings in one text. */
static void warnings(struct store *s, struct buf *ret)
{
    CLEANUP(strv_release) struct strv list = STRV_INIT;

    buf_init(ret, BUF_NO_LIMIT);
    store_warnings(s, &list);
    for (size_t i = 0; i < list.len; i++)
        buf_addf(ret, "%s\n", list.ptr[i]);
}

static void expect_no_warnings(struct store *s)
{
    CLEANUP(buf_release) struct buf text = {0};

    warnings(s, &text);
    assert_string_equal(buf_cstr(&text), "");
}

#define OK(call)                                                                                   \
    do {                                                                                           \
        struct err err_ = {0};                                                                     \
        struct err *err = &err_;                                                                   \
        if ((call) < 0)                                                                            \
            fail_msg(#call ": %s", err->text);                                                     \
    } while (0)

/* ---- Conformance ---- */

static struct store_session make_session(const char *project, const char *id)
{
    return (struct store_session){
        .project = str_of(project),
        .id = str_of(id),
        .title = STR("It's a \"title\"; DROP TABLE session"),
        .ai_title = STR("made by a model"),
        .cwd = STR("/w/a b"),
        .branch = STR("main"),
        .first_prompt = STR("caf\xc3\xa9 and a \0 in it"),
        .created_ms = 1,
        .last_ms = INT64_MAX,
        .messages = 12,
        .cost_usd = 0.25,
        .size = (int64_t)5 << 32,
        .mtime_ns = 1763000000123456789,
        .inode = 77,
        .counted = 4096,
    };
}

static void expect_session(const struct store_session *got, const struct store_session *want)
{
    const struct {
        const char *name;
        struct str got, want;
    } texts[] = {
        {"project", got->project, want->project},
        {"id", got->id, want->id},
        {"title", got->title, want->title},
        {"ai_title", got->ai_title, want->ai_title},
        {"cwd", got->cwd, want->cwd},
        {"branch", got->branch, want->branch},
        {"first_prompt", got->first_prompt, want->first_prompt},
    };

    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        if (!str_eq(texts[i].got, texts[i].want))
            fail_msg("%s: '%.*s' instead of '%.*s'", texts[i].name, STR_ARG(texts[i].got),
                     STR_ARG(texts[i].want));
    }
    assert_int_equal(got->created_ms, want->created_ms);
    assert_int_equal(got->last_ms, want->last_ms);
    assert_int_equal(got->messages, want->messages);
    assert_true(got->cost_usd == want->cost_usd);
    assert_int_equal(got->size, want->size);
    assert_int_equal(got->mtime_ns, want->mtime_ns);
    assert_int_equal(got->inode, want->inode);
    assert_int_equal(got->counted, want->counted);
}

static size_t count_sessions(struct store *s, const char *project)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    store_session_vec rows = VEC_INIT;
    size_t count;

    OK(store_sessions(s, str_of(project), &arena, &rows, NULL, err));
    count = rows.len;
    vec_release(&rows);
    return count;
}

static void conform_sessions(struct store *s)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    struct store_session rows[] = {make_session("-w-a", "1"), make_session("-w-a", "2"),
                                   make_session("-w-b", "1")};
    store_session_vec some = {rows, ARRAY_LEN(rows), ARRAY_LEN(rows)};
    store_session_vec none = VEC_INIT;
    store_session_vec got = VEC_INIT;

    assert_int_equal(count_sessions(s, ""), 0);
    OK(store_sessions_update(s, &some, &none, NULL, err));
    assert_int_equal(count_sessions(s, "-w-a"), 2);
    assert_int_equal(count_sessions(s, "-w-b"), 1);
    assert_int_equal(count_sessions(s, "-w"), 0);
    OK(store_sessions(s, STR("-w-b"), &arena, &got, NULL, err));
    expect_session(&got.ptr[0], &rows[2]);
    OK(store_sessions(s, STR(""), &arena, &got, NULL, err)); /* the old contents are replaced */
    assert_int_equal(got.len, 3);

    /* One changes, one goes, in one step. */
    rows[0].title = STR("other");
    some.len = 1;
    OK(store_sessions_update(s, &some, &(store_session_vec){&rows[1], 1, 1}, NULL, err));
    OK(store_sessions(s, STR("-w-a"), &arena, &got, NULL, err));
    assert_int_equal(got.len, 1);
    expect_session(&got.ptr[0], &rows[0]);
    vec_release(&got);
}

static void conform_long_texts(struct store *s)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    CLEANUP(buf_release) struct buf text = BUF_INIT(BUF_NO_LIMIT);
    struct store_session row = make_session("-long", "1");
    store_session_vec none = VEC_INIT;
    store_session_vec got = VEC_INIT;

    for (size_t i = 0; i < STORE_MAX_TEXT; i++)
        buf_adds(&text, "\xe2\x82\xac");
    row.title = buf_str(&text);
    OK(store_sessions_update(s, &(store_session_vec){&row, 1, 1}, &none, NULL, err));
    OK(store_sessions(s, STR("-long"), &arena, &got, NULL, err));
    assert_int_equal(got.ptr[0].title.len, STORE_MAX_TEXT / 3 * 3); /* no half character */
    vec_release(&got);
}

static void conform_trust(struct store *s)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    store_trust_vec got = VEC_INIT;
    bool trusted = false;
    struct err err0 = {0};

    assert_int_equal(store_trust_get(s, STR("/w"), &trusted, NULL, NULL), 0);
    OK(store_trust_set(s, &(struct store_trust){STR("/w"), true, 5}, NULL, err));
    OK(store_trust_set(s, &(struct store_trust){STR("/a"), false, 6}, NULL, err));
    assert_int_equal(store_trust_get(s, STR("/w"), &trusted, NULL, NULL), 1);
    assert_true(trusted);
    assert_int_equal(store_trust_get(s, STR("/a"), &trusted, NULL, NULL), 1);
    assert_false(trusted);
    assert_int_equal(store_trust_get(s, STR("/w/below"), &trusted, NULL, NULL), 0);
    OK(store_trust_list(s, &arena, &got, NULL, err));
    assert_int_equal(got.len, 2);
    assert_true(str_is(got.ptr[0].dir, "/a"));
    assert_int_equal(got.ptr[1].time_ms, 5);
    vec_release(&got);
    OK(store_trust_set(s, &(struct store_trust){STR("/w"), false, 7}, NULL, err));
    assert_int_equal(store_trust_get(s, STR("/w"), &trusted, NULL, NULL), 1);
    assert_false(trusted);
    assert_int_equal(store_trust_remove(s, STR("/w"), NULL, NULL), 1);
    assert_int_equal(store_trust_remove(s, STR("/w"), NULL, NULL), 0);
    assert_int_equal(store_trust_get(s, STR("/w"), &trusted, NULL, NULL), 0);
    assert_int_equal(
        store_trust_set(s, &(struct store_trust){STR("relative"), true, 7}, NULL, &err0), -1);
    assert_int_equal(err0.code, ERR_BAD_INPUT);
}

static void add_prompt(struct store *s, const char *project, const char *text, size_t keep)
{
    struct store_prompt p = {str_of(project), str_of(text), 9};

    OK(store_prompt_add(s, &p, keep, NULL, err));
}

/* "newest,…,oldest" */
static void expect_prompts(struct store *s, const char *project, size_t max, const char *want)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    CLEANUP(buf_release) struct buf all = BUF_INIT(BUF_NO_LIMIT);
    store_prompt_vec got = VEC_INIT;

    OK(store_prompts(s, str_of(project), max, &arena, &got, NULL, err));
    VEC_EACH(&got, p) {
        if (all.len)
            buf_addc(&all, ',');
        buf_add(&all, p->text);
    }
    vec_release(&got);
    assert_string_equal(buf_cstr(&all), want);
}

static void conform_prompts(struct store *s)
{
    CLEANUP(mem_freep) char *big = mem_zalloc(STORE_MAX_PROMPT + 1);
    struct err err0 = {0};

    expect_prompts(s, "", 10, "");
    add_prompt(s, "-a", "one", 3);
    add_prompt(s, "-a", "two", 3);
    add_prompt(s, "-b", "elsewhere", 3);
    add_prompt(s, "-a", "two", 3); /* in a row, though not in the file */
    add_prompt(s, "-a", "one", 3);
    expect_prompts(s, "-a", 10, "one,two,one");
    expect_prompts(s, "", 10, "one,elsewhere,two,one");
    expect_prompts(s, "-a", 2, "one,two");
    add_prompt(s, "-a", "three", 3);
    expect_prompts(s, "-a", 10, "three,one,two");
    add_prompt(s, "-a", "three", 1); /* the setting has changed */
    expect_prompts(s, "-a", 10, "three");
    expect_prompts(s, "-b", 10, "elsewhere");
    add_prompt(s, "-b", "gone", 0);
    expect_prompts(s, "-b", 10, "");
    assert_int_equal(store_prompt_add(s,
                                      &(struct store_prompt){
                                          .project = STR("-a"),
                                          .text = str_make(big, STORE_MAX_PROMPT + 1),
                                      },
                                      3, NULL, &err0),
                     -1);
    assert_int_equal(err0.code, ERR_TOO_BIG);
}

static void count_change(void *arg, enum store_key key)
{
    assert_int_equal(key, STORE_TRUST);
    ++*(int *)arg;
}

static void conform_watch(struct store *s)
{
    int changes = 0;
    struct store_watch *w = store_watch(s, STORE_TRUST, count_change, &changes);

    OK(store_trust_set(s, &(struct store_trust){STR("/watched"), true, 5}, NULL, err));
    add_prompt(s, "-watched", "other things", 3);
    assert_int_equal(changes, 1);
    assert_int_equal(store_trust_set(s, &(struct store_trust){STR("no path"), true, 5}, NULL, NULL),
                     -1);
    assert_int_equal(changes, 1);
    store_unwatch(s, w);
    OK(store_trust_remove(s, STR("/watched"), NULL, err));
    assert_int_equal(changes, 1);
}

static void conform_cancel(struct store *s)
{
    CLEANUP(cancel_unrefp) struct cancel *cancel = cancel_new(/*parent=*/NULL);
    struct err err = {0};

    cancel_set(cancel);
    assert_int_equal(store_trust_remove(s, STR("/w"), cancel, &err), -1);
    assert_int_equal(err.code, ERR_CANCELLED);
}

static void work_on_it(void *arg)
{
    struct store *s = arg;

    for (int i = 0; i < 50; i++) {
        char dir[40];

        snprintf(dir, sizeof(dir), "/threads/%p/%d", (void *)&dir, i);
        OK(store_trust_set(s, &(struct store_trust){str_of(dir), true, i}, NULL, err));
        (void)count_sessions(s, "");
    }
}

static void conform_threads(struct store *s)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    store_trust_vec got = VEC_INIT;
    struct thread *threads[4];
    size_t before;

    OK(store_trust_list(s, &arena, &got, NULL, err));
    before = got.len;
    for (size_t i = 0; i < ARRAY_LEN(threads); i++)
        threads[i] = thread_start("worker", work_on_it, s, NULL);
    for (size_t i = 0; i < ARRAY_LEN(threads); i++)
        thread_join(threads[i]);
    OK(store_trust_list(s, &arena, &got, NULL, err));
    assert_int_equal(got.len, before + ARRAY_LEN(threads) * 50);
    vec_release(&got);
}

static void conform_to(struct store *s)
{
    conform_sessions(s);
    conform_long_texts(s);
    conform_trust(s);
    conform_prompts(s);
    conform_watch(s);
    conform_cancel(s);
    conform_threads(s);
    expect_no_warnings(s);
    store_free(s);
}

static void conform(const char *backend)
{
    empty_home();
    conform_to(open_store(backend));
}

static void test_sqlite(void **state)
{
    (void)state;
    conform("sqlite");
}

static void test_memory(void **state)
{
    (void)state;
    conform("memory");
}

/* A backend that forwards to SQLite, counts, and is busy every other time. */
static struct {
    int begins, busy, commits, rollbacks, steps;
    int statements; /* that are not finalized */
    int databases;  /* that are not freed */
    bool is_busy;
} counted;

static void *counted_make(const char *path)
{
    counted.databases++;
    return store_sqlite.make(path);
}

static void counted_free(void *db)
{
    counted.databases--;
    store_sqlite.free(db);
}

static enum store_trouble counted_trouble(void *db)
{
    return counted.is_busy ? STORE_BUSY : store_sqlite.trouble(db);
}

static int counted_begin(void *db, bool writes, struct err *err)
{
    counted.is_busy = ++counted.begins % 2;
    counted.busy += counted.is_busy;
    if (counted.is_busy)
        return err_set(err, ERR_RETRY_LATER, "another process has it");
    return store_sqlite.begin(db, writes, err);
}

static int counted_commit(void *db, struct err *err)
{
    counted.commits++;
    return store_sqlite.commit(db, err);
}

static void counted_rollback(void *db)
{
    counted.rollbacks++;
    store_sqlite.rollback(db);
}

static int counted_prepare(void *db, const char *sql, void **ret_statement, struct err *err)
{
    counted.statements++;
    return store_sqlite.prepare(db, sql, ret_statement, err);
}

static void counted_finalize(void *statement)
{
    counted.statements--;
    store_sqlite.finalize(statement);
}

static int counted_step(void *db, void *statement, struct err *err)
{
    counted.steps++;
    return store_sqlite.step(db, statement, err);
}

/* The store sees its database through the table of functions alone. */
static void test_backend(void **state)
{
    struct store_backend backend = store_sqlite;
    struct store *s = NULL;

    (void)state;
    backend.make = counted_make;
    backend.free = counted_free;
    backend.trouble = counted_trouble;
    backend.begin = counted_begin;
    backend.commit = counted_commit;
    backend.rollback = counted_rollback;
    backend.prepare = counted_prepare;
    backend.finalize = counted_finalize;
    backend.step = counted_step;
    empty_home();
    OK(store_open_on(&backend, home, NULL, &s, err));
    conform_to(s);
    assert_true(counted.steps > counted.commits && counted.commits > 100);
    assert_in_range(counted.begins, 2 * counted.busy - 1, 2 * counted.busy);
    assert_int_equal(counted.begins - counted.busy, counted.commits + counted.rollbacks);
    assert_int_equal(counted.statements, 0);
    assert_int_equal(counted.databases, 0);
}

static void test_unknown_backend(void **state)
{
    struct store *s = NULL;
    struct err err = {0};

    (void)state;
    assert_int_equal(store_open("tape", home, NULL, &s, &err), -1);
    assert_int_equal(err.code, ERR_UNSUPPORTED);
    store_free(NULL);
}

/* ---- The file ---- */

static void test_kept_and_private(void **state)
{
    CLEANUP(mem_freep) char *path = db_path();
    struct store *s;
    struct stat st;
    bool trusted;

    (void)state;
    empty_home();
    s = open_store("sqlite");
    OK(store_trust_set(s, &(struct store_trust){STR("/w"), true, 5}, NULL, err));
    store_free(s);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    s = open_store("sqlite");
    assert_int_equal(store_trust_get(s, STR("/w"), &trusted, NULL, NULL), 1);
    store_free(s);
}

static void run_sql(const char *sql)
{
    CLEANUP(mem_freep) char *path = db_path();
    sqlite3 *db = NULL;

    assert_int_equal(sqlite.open_v2(path, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL),
                     SQLITE_OK);
    if (sqlite.exec(db, sql, NULL, NULL, NULL) != SQLITE_OK)
        fail_msg("%s: %s", sql, sqlite.errmsg(db));
    sqlite.close_v2(db);
}

/* A file of the first format, as the first version made it. */
static void test_older_format(void **state)
{
    struct store *s;
    bool trusted = false;

    (void)state;
    empty_home();
    run_sql("CREATE TABLE session(project TEXT NOT NULL, id TEXT NOT NULL, title TEXT NOT NULL,"
            " ai_title TEXT NOT NULL, cwd TEXT NOT NULL, branch TEXT NOT NULL,"
            " first_prompt TEXT NOT NULL, created_ms INTEGER NOT NULL, last_ms INTEGER NOT NULL,"
            " messages INTEGER NOT NULL, cost_usd REAL NOT NULL, size INTEGER NOT NULL,"
            " mtime_ns INTEGER NOT NULL, inode INTEGER NOT NULL, counted INTEGER NOT NULL,"
            " PRIMARY KEY(project, id)) WITHOUT ROWID;"
            "CREATE TABLE trust(dir TEXT PRIMARY KEY NOT NULL, trusted INTEGER NOT NULL,"
            " time_ms INTEGER NOT NULL) WITHOUT ROWID;"
            "INSERT INTO trust VALUES('/old', 1, 3);"
            "INSERT INTO session VALUES('-p','1','t','','','','',1,2,3,0.5,4,5,6,7);"
            "PRAGMA user_version=1");
    s = open_store("sqlite");
    expect_no_warnings(s);
    assert_int_equal(store_trust_get(s, STR("/old"), &trusted, NULL, NULL), 1);
    assert_true(trusted);
    assert_int_equal(count_sessions(s, "-p"), 1);
    add_prompt(s, "-p", "new here", 5);
    expect_prompts(s, "-p", 5, "new here");
    store_free(s);
}

static void test_newer_format(void **state)
{
    CLEANUP(mem_freep) char *path = db_path();
    CLEANUP(buf_release) struct buf before = {0};
    CLEANUP(buf_release) struct buf after = {0};
    CLEANUP(buf_release) struct buf said = {0};
    struct store *s;

    (void)state;
    empty_home();
    run_sql("CREATE TABLE trust(future TEXT); PRAGMA user_version=999");
    OK(file_slurp(path, 1 << 20, &before, err));
    s = open_store("sqlite");
    warnings(s, &said);
    if (!strstr(buf_cstr(&said), "a newer tenax wrote it (format 999; this one knows "))
        fail_msg("%s", buf_cstr(&said));
    OK(store_trust_set(s, &(struct store_trust){STR("/w"), true, 5}, NULL, err)); /* in memory */
    store_free(s);
    OK(file_slurp(path, 1 << 20, &after, err));
    assert_true(str_eq(buf_str(&before), buf_str(&after)));
}

/* Any foreign number. */
static void test_foreign_format(void **state)
{
    CLEANUP(buf_release) struct buf said = {0};
    struct store *s;

    (void)state;
    empty_home();
    run_sql("CREATE TABLE trust(theirs TEXT); PRAGMA user_version=-5");
    s = open_store("sqlite");
    warnings(s, &said);
    if (!strstr(buf_cstr(&said), "is not used: it is not tenax's (format -5)"))
        fail_msg("%s", buf_cstr(&said));
    OK(store_trust_set(s, &(struct store_trust){STR("/w"), true, 5}, NULL, err)); /* in memory */
    store_free(s);
}

static size_t count_damaged(void)
{
    DIR *d = opendir(home);
    size_t count = 0;

    for (struct dirent *e = readdir(d); e; e = readdir(d))
        count += str_starts(str_of(e->d_name), STR("state.db.damaged-"));
    closedir(d);
    return count;
}

static void test_garbage(void **state)
{
    CLEANUP(mem_freep) char *path = db_path();
    CLEANUP(buf_release) struct buf said = {0};
    struct store *s;

    (void)state;
    empty_home();
    OK(file_replace(path, STR("this is no database, but somebody's diary of some length ........ "),
                    0600, err));
    s = open_store("sqlite");
    warnings(s, &said);
    if (!strstr(buf_cstr(&said), "is damaged (") || !strstr(buf_cstr(&said), "was moved to"))
        fail_msg("%s", buf_cstr(&said));
    assert_int_equal(count_damaged(), 1);
    OK(store_trust_set(s, &(struct store_trust){STR("/w"), true, 5}, NULL, err));
    store_free(s);
    s = open_store("sqlite");
    expect_no_warnings(s);
    store_free(s);
}

/* A page in the middle of the file is overwritten while the store is open. */
static void test_damaged_while_open(void **state)
{
    CLEANUP(mem_freep) char *path = db_path();
    CLEANUP(buf_release) struct buf said = {0};
    char noise[4096];
    struct store *s;
    struct stat st;
    int fd;

    (void)state;
    empty_home();
    s = open_store("sqlite");
    for (int i = 0; i < 200; i++) {
        char text[400];

        snprintf(text, sizeof(text), "prompt %d %0300d", i, i);
        add_prompt(s, "-p", text, 1000);
    }
    store_free(s);
    memset(noise, 0xa5, sizeof(noise));
    fd = open(path, O_WRONLY | O_CLOEXEC);
    assert_int_equal(fstat(fd, &st), 0);
    for (off_t at = 4096; at < st.st_size; at += 4096)
        assert_int_equal(pwrite(fd, noise, sizeof(noise), at), sizeof(noise));
    close(fd);

    s = open_store("sqlite"); /* the first page is whole, so this works */
    assert_int_equal(count_sessions(s, ""), 0);
    add_prompt(s, "-p", "after", 1000);
    expect_prompts(s, "-p", 10, "after");
    warnings(s, &said);
    assert_non_null(strstr(buf_cstr(&said), "is damaged ("));
    assert_int_equal(count_damaged(), 1);
    store_free(s);
}

/* A folder where the file should be; a home that cannot be made. */
static void test_unusable_places(void **state)
{
    CLEANUP(mem_freep) char *path = db_path();
    struct store *s = NULL;

    (void)state;
    empty_home();
    assert_int_equal(mkdir(path, 0700), 0);
    for (int i = 0; i < 2; i++) {
        CLEANUP(buf_release) struct buf said = {0};

        OK(store_open("sqlite", i ? "/proc/nowhere" : home, NULL, &s, err));
        warnings(s, &said);
        if (!strstr(buf_cstr(&said), "is not used: "))
            fail_msg("%d: %s", i, buf_cstr(&said));
        add_prompt(s, "-p", "in memory", 1000);
        expect_prompts(s, "-p", 10, "in memory");
        store_free(s);
    }
}

/* ---- Many processes ---- */

#define WRITERS 8
#define WRITES 60

/* Opens, writes, reads; every few rounds from the start, so that opening is part of the crowd. */
static int write_much(int writer)
{
    struct store *s = NULL;

    for (int i = 0; i < WRITES; i++) {
        store_session_vec none = VEC_INIT;
        struct store_session row;
        struct err err = {0};
        char project[20];
        char id[20];

        if (!s && store_open("sqlite", home, NULL, &s, &err) < 0) {
            fprintf(stderr, "%s\n", err.text);
            return 1;
        }
        snprintf(project, sizeof(project), "-p-%d", writer);
        snprintf(id, sizeof(id), "%d", i);
        row = make_session(project, id);
        if (store_sessions_update(s, &(store_session_vec){&row, 1, 1}, &none, NULL, &err) < 0 ||
            store_prompt_add(s, &(struct store_prompt){row.project, row.id, i}, 1000, NULL, &err) <
                0) {
            fprintf(stderr, "%s\n", err.text);
            return 2;
        }
        if (i % 7 == 0) {
            store_free(s);
            s = NULL;
        }
    }
    store_free(s);
    return 0;
}

static void test_processes(void **state)
{
    pid_t writers[WRITERS];
    struct store *s;

    (void)state;
    empty_home(); /* also the making of the file is a race */
    for (int i = 0; i < WRITERS; i++) {
        writers[i] = fork();
        if (writers[i] == 0)
            _exit(write_much(i));
    }
    for (int i = 0; i < WRITERS; i++) {
        int status;

        assert_int_equal(waitpid(writers[i], &status, 0), writers[i]);
        if (status)
            fail_msg("writer %d ended with %#x", i, status);
    }
    s = open_store("sqlite");
    for (int i = 0; i < WRITERS; i++) {
        CLEANUP(arena_release) struct arena arena = ARENA_INIT;
        store_prompt_vec prompts = VEC_INIT;
        char project[20];

        snprintf(project, sizeof(project), "-p-%d", i);
        assert_int_equal(count_sessions(s, project), WRITES);
        OK(store_prompts(s, str_of(project), 1000, &arena, &prompts, NULL, err));
        assert_int_equal(prompts.len, WRITES);
        vec_release(&prompts);
    }
    expect_no_warnings(s);
    assert_int_equal(count_damaged(), 0);
    store_free(s);
}

/* Another process keeps a transaction open for good: a cancel ends the wait. */
static void set_later(void *arg)
{
    cancel_set(arg);
}

static void test_cancel_while_busy(void **state)
{
    CLEANUP(mem_freep) char *path = db_path();
    CLEANUP(cancel_unrefp) struct cancel *cancel = cancel_new(/*parent=*/NULL);
    struct thread *setter;
    struct store *s;
    struct err why = {0};
    sqlite3 *other = NULL;
    bool trusted;

    (void)state;
    empty_home();
    s = open_store("sqlite");
    assert_int_equal(sqlite.open_v2(path, &other, SQLITE_OPEN_READWRITE, NULL), SQLITE_OK);
    assert_int_equal(sqlite.exec(other, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(store_trust_get(s, STR("/w"), &trusted, NULL, NULL), 0); /* readers go on */
    setter = thread_start("setter", set_later, cancel, NULL);
    assert_int_equal(store_trust_remove(s, STR("/w"), cancel, &why), -1);
    assert_int_equal(why.code, ERR_CANCELLED);
    thread_join(setter);

    sqlite.exec(other, "ROLLBACK", NULL, NULL, NULL);
    OK(store_trust_remove(s, STR("/w"), NULL, err));
    sqlite.close_v2(other);
    store_free(s);
}

static atomic_bool ticking = true;

static void tick(void *arg)
{
    (void)arg;
    while (atomic_load(&ticking)) {
        clock_advance_ms(1000);
        sched_yield();
    }
}

/* Without a cancel, patience ends. Last of all tests: the clock stays virtual. */
static void test_patience(void **state)
{
    CLEANUP(mem_freep) char *path = db_path();
    struct thread *ticker;
    struct store *s;
    struct err why = {0};
    sqlite3 *other = NULL;

    (void)state;
    empty_home();
    s = open_store("sqlite");
    assert_int_equal(sqlite.open_v2(path, &other, SQLITE_OPEN_READWRITE, NULL), SQLITE_OK);
    assert_int_equal(sqlite.exec(other, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
    clock_make_virtual(1000);
    ticker = thread_start("ticker", tick, NULL, NULL);
    assert_int_equal(store_trust_remove(s, STR("/w"), /*cancel=*/NULL, &why), -1);
    assert_int_equal(why.code, ERR_RETRY_LATER);
    assert_null(strstr(why.text, "locked"));
    atomic_store(&ticking, false);
    thread_join(ticker);
    sqlite.close_v2(other);
    OK(store_trust_remove(s, STR("/w"), NULL, err));
    store_free(s);
}

static int setup(void **state)
{
    (void)state;
    return mkdtemp(home) && sqlite_table_load(NULL) == 0 ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    empty_home();
    return rmdir(home);
}

UNIT_TEST(store)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sqlite),
        cmocka_unit_test(test_memory),
        cmocka_unit_test(test_backend),
        cmocka_unit_test(test_unknown_backend),
        cmocka_unit_test(test_kept_and_private),
        cmocka_unit_test(test_older_format),
        cmocka_unit_test(test_newer_format),
        cmocka_unit_test(test_foreign_format),
        cmocka_unit_test(test_garbage),
        cmocka_unit_test(test_damaged_while_open),
        cmocka_unit_test(test_unusable_places),
        cmocka_unit_test(test_processes),
        cmocka_unit_test(test_cancel_while_busy),
        cmocka_unit_test(test_patience),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
