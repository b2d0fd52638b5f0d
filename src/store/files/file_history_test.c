/*
 * Saved files, and the lines about them: every kind of file, several versions, a disk that fails,
 * several threads.
 */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/disk.h"
#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"
#include "json/json.h"
#include "store/files/backups.h"
#include "store/files/file_change.h"
#include "store/files/file_history.h"
#include "store/scratch_check.h"
#include "sync/thread.h"
#include "unit.h"

/* Where lines go. */
struct lines {
    struct lock lock;
    struct buf text;
    size_t count;
    bool refuse;
};

static int keep_line(void *arg, struct str line, struct err *err)
{
    struct lines *l = arg;

    if (l->refuse)
        return err_set(err, ERR_IO, "cannot write 'x.jsonl': No space left on device");
    lock_take(&l->lock);
    buf_add(&l->text, line);
    l->count++;
    lock_give(&l->lock);
    return 0;
}

struct fixture {
    struct lines lines;
    struct file_history *history;
};

static void begin(struct fixture *f)
{
    *f = (struct fixture){.lines = {.text = BUF_INIT(1 << 24)}};
    lock_init(&f->lines.lock);
    scratch_make();
    f->history = file_history_new(scratch("session"), keep_line, &f->lines);
    file_history_begin(f->history, STR("11111111-0000-4000-8000-000000000000"));
}

static void end(struct fixture *f)
{
    file_history_free(f->history);
    buf_release(&f->lines.text);
    lock_release(&f->lines.lock);
    scratch_remove();
}

static int before(struct fixture *f, const char *name)
{
    struct err err = {0};

    return file_history_before(f->history, scratch(name), STR("toolu_1"), /*ret=*/NULL, &err);
}

static int after(struct fixture *f, const char *name)
{
    return file_history_after(f->history, scratch(name), /*err=*/NULL);
}

static void edit(struct fixture *f, const char *name, const char *text)
{
    assert_int_equal(before(f, name), 0);
    scratch_write(name, text);
    assert_int_equal(after(f, name), 0);
}

/* The lines read back. */
static void read_lines(const struct fixture *f, struct file_changes *ret)
{
    struct str rest = buf_str(&f->lines.text);
    struct str line;
    uint64_t offset = 0;

    *ret = (struct file_changes){0};
    while (rest.len && str_cut(&rest, '\n', &line)) {
        file_changes_add(ret, line, offset, STR("/"));
        offset += line.len + 1;
    }
}

static void assert_backup(const struct file_change *c, const char *want)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(1 << 20);
    CLEANUP(mem_freep)
    char *dir = mem_dup(scratch("session/file-history"), strlen(scratch("session/file-history")));
    struct err err = {0};

    if (backups_get(dir, c->backup, 1 << 20, &text, &err) < 0)
        fail_msg("%s", err.text);
    assert_string_equal(buf_cstr(&text), want);
}

static void kinds_of_files(void **state)
{
    static const struct {
        const char *name, *setup;
        const char *backup; /* its bytes; NULL: none */
        size_t lines;       /* after before() */
        int result;
        enum look_kind kind;
        unsigned folders, mode;
    } rows[] = {
        {"plain", "file plain 0644 one", "one", 1, 0, LOOK_FILE, 0, 0644},
        {"script", "file script 0755 #!/bin/sh", "#!/bin/sh", 1, 0, LOOK_FILE, 0, 0755},
        {"empty", "file empty 0600 ", "", 1, 0, LOOK_FILE, 0, 0600},
        {"new", "", NULL, 1, 0, LOOK_ABSENT, 0, 0},
        {"a/b/c/new", "dir a", NULL, 1, 0, LOOK_ABSENT, 2, 0},
        {"link", "file target 0640 there;link link target", "there", 1, 0, LOOK_FILE, 0, 0640},
        {"dangling", "link dangling later", NULL, 1, 0, LOOK_ABSENT, 0, 0},
        {"folder", "dir folder", NULL, 0, 0, 0, 0, 0},
        {"file/below", "file file 0644 x", NULL, 0, 0, 0, 0, 0},
        {"secret", "file secret 0000 x", NULL, 0, -1, 0, 0, 0},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct fixture f;
        struct file_changes all;

        if (strcmp(rows[i].name, "secret") == 0 && geteuid() == 0)
            continue; /* root reads everything */
        begin(&f);
        scratch_setup(rows[i].setup);
        if (before(&f, rows[i].name) != rows[i].result || f.lines.count != rows[i].lines)
            fail_msg("%s: %zu lines", rows[i].name, f.lines.count);
        read_lines(&f, &all);
        if (rows[i].lines) {
            const struct file_change *c = all.list.ptr[0];

            if (c->before.kind != rows[i].kind || c->folders != rows[i].folders ||
                c->before.mode != rows[i].mode || c->version != 1)
                fail_msg("%s: kind %d, %u folders, mode %o", rows[i].name, (int)c->before.kind,
                         c->folders, c->before.mode);
            assert_true(str_is(c->message, "11111111-0000-4000-8000-000000000000"));
            assert_int_equal(c->left.kind, LOOK_UNKNOWN);
            assert_int_equal(c->backup.len > 0, rows[i].backup != NULL);
            if (rows[i].backup)
                assert_backup(c, rows[i].backup);
        }
        file_changes_release(&all);
        end(&f);
    }
}

static void link_is_known_by_its_target(void **state)
{
    struct fixture f;
    struct file_changes all;

    (void)state;
    begin(&f);
    scratch_setup("file target 0644 one;link link target");
    edit(&f, "target", "two");
    assert_int_equal(before(&f, "link"), 0);
    assert_int_equal(f.lines.count, 2); /* nothing new */
    read_lines(&f, &all);
    assert_int_equal(all.list.len, 1);
    assert_string_equal(all.list.ptr[0]->path.ptr, scratch("target"));
    file_changes_release(&all);
    end(&f);
}

/* Only the first change after a message is kept, and what others did in between. */
static void versions(void **state)
{
    struct fixture f;
    struct file_changes all;

    (void)state;
    begin(&f);
    scratch_setup("file a 0644 one");
    edit(&f, "a", "two");
    edit(&f, "a", "three");
    read_lines(&f, &all);
    assert_int_equal(all.list.len, 1);
    assert_backup(all.list.ptr[0], "one");
    file_changes_release(&all);

    scratch_write("a", "theirs"); /* in the middle of the turn */
    edit(&f, "a", "four");
    file_history_begin(f.history, STR("22222222-0000-4000-8000-000000000000"));
    edit(&f, "a", "five");
    read_lines(&f, &all);
    assert_int_equal(all.list.len, 3);
    assert_backup(all.list.ptr[0], "one");
    assert_backup(all.list.ptr[1], "theirs");
    assert_backup(all.list.ptr[2], "four");
    assert_true(str_is(all.list.ptr[2]->message, "22222222-0000-4000-8000-000000000000"));
    for (int i = 0; i < 3; i++)
        assert_int_equal(all.list.ptr[i]->version, i + 1);
    assert_false(file_look_equal(&all.list.ptr[0]->left, &all.list.ptr[1]->before));
    assert_true(file_look_equal(&all.list.ptr[1]->left, &all.list.ptr[2]->before));

    /* A session that goes on knows where it was. */
    file_history_free(f.history);
    f.history = file_history_new(scratch("session"), keep_line, &f.lines);
    file_history_recall(f.history, &all);
    file_history_begin(f.history, STR("33333333-0000-4000-8000-000000000000"));
    edit(&f, "a", "six");
    read_lines(&f, &all);
    assert_int_equal(all.list.len, 4);
    assert_int_equal(all.list.ptr[3]->version, 4);
    assert_backup(all.list.ptr[3], "five");
    file_changes_release(&all);
    end(&f);
}

/* Numbers in a file may be anything. */
static void odd_versions(void **state)
{
    static const char *const versions[] = {"9223372036854775807", "-9223372036854775808", "1e300",
                                           "2147483647", "\"x\""};
    struct fixture f;

    (void)state;
    begin(&f);
    scratch_setup("file a 0644 one");
    for (size_t i = 0; i < ARRAY_LEN(versions); i++) {
        CLEANUP(buf_release) struct buf line = BUF_INIT(4096);
        struct file_changes all = {0};

        buf_addf(
            &line,
            "{\"type\":\"file-history-snapshot\",\"messageId\":\"m\",\"snapshot\":{"
            "\"trackedFileBackups\":{\"%s\":{\"version\":%s,\"before\":{\"hash\":\"%064d\"}}}}}",
            scratch("a"), versions[i], 0);
        file_changes_add(&all, buf_str(&line), 0, STR("/"));
        assert_int_equal(all.list.len, 1);
        assert_int_equal(all.list.ptr[0]->version, 1);
        assert_int_equal(all.list.ptr[0]->before.mode, 0600); /* not an unreadable one */
        file_history_recall(f.history, &all);
        edit(&f, "a", versions[i]);
        read_lines(&f, &all);
        assert_int_equal(all.list.ptr[all.list.len - 1]->version, 2);
        file_changes_release(&all);
        buf_clear(&f.lines.text);
    }
    end(&f);
}

/* The fields others read. */
static void shape_of_a_line(void **state)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    const struct json *root = NULL;
    const struct json *one;
    struct str line;
    struct str rest;
    struct fixture f;

    (void)state;
    begin(&f);
    scratch_setup("file a 0644 one");
    edit(&f, "a", "two");
    rest = buf_str(&f.lines.text);
    for (int i = 0; i < 2; i++) {
        assert_true(str_cut(&rest, '\n', &line));
        assert_int_equal(json_parse(&arena, line, &root, NULL, NULL), 0);
        assert_true(str_is(json_get_str(root, "type"), "file-history-snapshot"));
        assert_true(
            str_is(json_get_str(root, "messageId"), "11111111-0000-4000-8000-000000000000"));
        assert_true(str_is(json_get_str(json_get(root, "snapshot"), "messageId"),
                           "11111111-0000-4000-8000-000000000000"));
        assert_int_equal(json_get_str(json_get(root, "snapshot"), "timestamp").len, 24);
        assert_int_equal(json_get_bool(root, "isSnapshotUpdate", i == 0), i == 1);
        one = json_first(json_path(root, "snapshot.trackedFileBackups"));
        assert_true(str_is(json_key(one), scratch("a")));
        assert_int_equal(json_get_str(one, "backupFileName").len, SHA256_HEX);
        assert_int_equal(json_get_i64(one, "version", 0), 1);
        assert_int_equal(json_get_str(one, "backupTime").len, 24);
    }
    end(&f);
}

static void big_files_are_not_kept(void **state)
{
    struct file_kept kept;
    struct file_changes all;
    struct err err = {0};
    struct fixture f;

    (void)state;
    begin(&f);
    scratch_write("big", "x");
    assert_int_equal(truncate(scratch("big"), (off_t)FILE_HISTORY_MAX_FILE + 1), 0);
    assert_int_equal(file_history_before(f.history, scratch("big"), STR("t"), &kept, &err), 0);
    assert_false(kept.is_kept);
    assert_non_null(kept.note);
    read_lines(&f, &all);
    assert_int_equal(all.list.len, 1);
    assert_int_equal(all.list.ptr[0]->before.kind, LOOK_BIG);
    assert_true(all.list.ptr[0]->not_kept.len > 0);
    /* null would tell other agents that there was no file, and to delete it. */
    assert_true(str_is(all.list.ptr[0]->backup, FILE_CHANGE_NOT_KEPT));
    file_changes_release(&all);
    end(&f);
}

/* Neither bytes nor a line: no edit. */
static void failures_forbid_the_edit(void **state)
{
    struct err err = {0};
    struct fixture f;

    (void)state;
    begin(&f);
    scratch_setup("file a 0644 one");
    disk_test_mode("full:1");
    assert_int_equal(file_history_before(f.history, scratch("a"), STR("t"), NULL, &err), -1);
    disk_test_mode(NULL);
    assert_non_null(strstr(err.text, "No space left"));
    assert_non_null(strstr(err.text, "is not changed"));
    assert_int_equal(f.lines.count, 0);

    f.lines.refuse = true;
    assert_int_equal(file_history_before(f.history, scratch("a"), STR("t"), NULL, &err), -1);
    f.lines.refuse = false;
    /* It is not taken for kept. */
    assert_int_equal(before(&f, "a"), 0);
    assert_int_equal(f.lines.count, 1);
    end(&f);
}

static void oldest_go_first(void **state)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(100);
    struct backups b;
    struct err err = {0};
    char names[4][SHA256_HEX + 1];
    size_t dropped = 0;

    (void)state;
    scratch_make();
    backups_init(&b, scratch("kept"), 30);
    for (int i = 0; i < 4; i++) {
        char bytes[10];

        memset(bytes, 'a' + i, sizeof(bytes));
        sha256_hex(str_make(bytes, sizeof(bytes)), names[i]);
        if (i == 3) { /* the first one is wanted again: the second is the oldest now */
            memset(bytes, 'a', sizeof(bytes));
            assert_int_equal(backups_put(&b, str_make(bytes, 10), names[0], &dropped, &err), 0);
            assert_int_equal(dropped, 0);
            memset(bytes, 'd', sizeof(bytes));
        }
        assert_int_equal(backups_put(&b, str_make(bytes, 10), names[i], &dropped, &err), 0);
        assert_int_equal(dropped, i == 3);
        { /* File systems count time in steps that are longer than this loop. */
            struct timespec times[2] = {{.tv_sec = 1000 + i}, {.tv_sec = 1000 + i}};
            CLEANUP(mem_freep) char *path = path_join(b.dir, names[i]);

            assert_int_equal(utimensat(0, path, times, 0), 0);
        }
    }
    assert_int_equal(b.total, 30);
    assert_int_equal(backups_get(b.dir, str_of(names[1]), 100, &text, &err), -1);
    assert_int_equal(err.code, ERR_NOT_FOUND);
    assert_int_equal(backups_get(b.dir, str_of(names[0]), 100, &text, &err), 0);
    assert_string_equal(buf_cstr(&text), "aaaaaaaaaa");

    /* One that was damaged is not given out; names are names only. */
    {
        CLEANUP(mem_freep) char *path = path_join(b.dir, names[3]);

        assert_int_equal(file_replace(path, STR("dddddddddX"), 0600, &err), 0);
        assert_int_equal(backups_get(b.dir, str_of(names[3]), 100, &text, &err), -1);
        assert_int_equal(err.code, ERR_IO);
        assert_int_equal(backups_get(b.dir, STR("../../etc/passwd"), 100, &text, &err), -1);
    }
    backups_release(&b);
    scratch_remove();
}

static void lines_of_others(void **state)
{
    struct file_changes all = {0};

    (void)state;
    file_changes_add(&all,
                     STR("{\"type\":\"file-history-snapshot\",\"messageId\":\"m\",\"snapshot\":{"
                         "\"messageId\":\"m\",\"trackedFileBackups\":{\"src/a.c\":{"
                         "\"backupFileName\":\"0123456789abcdef@v1\",\"version\":1,\"backupTime\":"
                         "\"2026-11-14T10:00:00.000Z\"},\"/x/new\":{\"backupFileName\":null,"
                         "\"version\":1,\"backupTime\":\"2026-11-14T10:00:00.000Z\"}},"
                         "\"timestamp\":\"2026-11-14T10:00:00.000Z\"},\"isSnapshotUpdate\":false}"),
                     0, STR("/home/u"));
    file_changes_add(&all, STR("{\"type\":\"tag\",\"tag\":\"x\"}"), 1, STR("/"));
    file_changes_add(&all, STR("{\"type\":\"file-history-snapshot\",\"snapshot\":7}"), 2, STR("/"));
    file_changes_add(&all, STR("{\"type\":\"file-hist"), 3, STR("/"));
    assert_int_equal(all.list.len, 2);
    assert_string_equal(all.list.ptr[0]->path.ptr, "/home/u/src/a.c");
    assert_int_equal(all.list.ptr[0]->before.kind, LOOK_UNKNOWN);
    assert_string_equal(all.list.ptr[1]->path.ptr, "/x/new");
    assert_int_equal(all.list.ptr[1]->before.kind, LOOK_ABSENT);
    file_changes_release(&all);
}

struct editor {
    struct fixture *f;
    char letter;
};

static void edit_many(void *arg)
{
    struct editor *e = arg;

    for (int i = 0; i < 20; i++) {
        CLEANUP(buf_release) struct buf path = BUF_INIT(1000);
        struct err err = {0};

        buf_addf(&path, "%s/%c%d", scratch_dir(), e->letter, i % 5);
        assert_int_equal(file_history_before(e->f->history, buf_cstr(&path), STR("t"), NULL, &err),
                         0);
        assert_int_equal(file_replace(buf_cstr(&path),
                                      str_make("0123456789abcdefghijkl", (size_t)i), 0644, &err),
                         0);
        assert_int_equal(file_history_after(e->f->history, buf_cstr(&path), &err), 0);
    }
}

static void several_threads(void **state)
{
    struct fixture f;
    struct thread *threads[4];
    struct editor editors[4];
    struct file_changes all;

    (void)state;
    begin(&f);
    for (int i = 0; i < 4; i++) {
        editors[i] = (struct editor){&f, (char)('a' + i)};
        threads[i] = thread_start("editor", edit_many, &editors[i], NULL);
    }
    for (int i = 0; i < 4; i++)
        thread_join(threads[i]);
    read_lines(&f, &all);
    assert_int_equal(all.list.len, 20); /* 4 × 5 files, each kept once */
    VEC_EACH(&all.list, c) {
        assert_int_equal((*c)->before.kind, LOOK_ABSENT);
        assert_int_equal((*c)->left.kind, LOOK_FILE);
    }
    file_changes_release(&all);
    end(&f);
}

/* Sets when a file was written last: now, however long that takes, by a clock that is ahead. */
static void write_ahead(const char *name, const char *text, const struct timespec *when)
{
    scratch_write(name, text);
    assert_int_equal(utimensat(AT_FDCWD, scratch(name), (struct timespec[]){*when, *when}, 0), 0);
}

/* Written again in the same tick of the file system's clock: size and time are what they were. */
static void same_tick(void **state)
{
    struct fixture f;
    struct file_look was;
    struct timespec when;
    bool still = true;

    (void)state;
    begin(&f);
    clock_gettime(CLOCK_REALTIME, &when);
    when.tv_sec += 3600;
    write_ahead("a", "1", &when);
    assert_int_equal(file_look_at(scratch("a"), 100, &was, /*ret_bytes=*/NULL, NULL), 0);
    write_ahead("a", "2", &when);
    assert_int_equal(file_look_still(scratch("a"), &was, 100, &still, NULL), 0);
    assert_false(still);
    write_ahead("a", "1", &when);
    assert_int_equal(file_look_still(scratch("a"), &was, 100, &still, NULL), 0);
    assert_true(still);
    end(&f);
}

UNIT_TEST(file_history)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_tick),
        cmocka_unit_test(kinds_of_files),
        cmocka_unit_test(link_is_known_by_its_target),
        cmocka_unit_test(versions),
        cmocka_unit_test(shape_of_a_line),
        cmocka_unit_test(odd_versions),
        cmocka_unit_test(big_files_are_not_kept),
        cmocka_unit_test(failures_forbid_the_edit),
        cmocka_unit_test(oldest_go_first),
        cmocka_unit_test(lines_of_others),
        cmocka_unit_test(several_threads),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
