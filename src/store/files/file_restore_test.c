/*
 * Restoring files: one row per kind of change of a file, told as a short story; and the state when
 * tenax is killed in the middle.
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
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/disk.h"
#include "base/err.h"
#include "base/file.h"
#include "base/id.h"
#include "base/mem.h"
#include "store/files/file_history.h"
#include "store/files/file_restore.h"
#include "store/scratch_check.h"
#include "unit.h"

static int keep_line(void *arg, struct str line, struct err *err)
{
    (void)err;
    buf_add(arg, line);
    return 0;
}

static void read_lines(const struct buf *lines, struct file_changes *ret)
{
    struct str rest = buf_str(lines);
    struct str line;

    *ret = (struct file_changes){0};
    while (rest.len && str_cut(&rest, '\n', &line))
        file_changes_add(ret, line, 0, STR("/"));
}

static void begin_turn(struct file_history *h, int number)
{
    char uuid[ID_UUID_LEN + 1];

    snprintf(uuid, sizeof(uuid), "%08u-0000-4000-8000-000000000000", (unsigned)number % 100);
    file_history_begin(h, str_of(uuid));
}

/* "turn;edit a TEXT;tries a;crash a TEXT; …" and the words of scratch_setup() for what others do.
 */
static void play(struct file_history *h, const char *story)
{
    struct str rest = str_of(story);
    struct str line;
    int turns = 0;

    while (rest.len && str_cut(&rest, ';', &line)) {
        struct str words = line;
        struct str verb;
        struct str name;
        char at[256];
        char text[256];

        str_cut(&words, ' ', &verb);
        if (str_is(verb, "turn")) {
            begin_turn(h, ++turns);
            continue;
        }
        if (!str_is(verb, "edit") && !str_is(verb, "tries") && !str_is(verb, "crash")) {
            scratch_one(line);
            continue;
        }
        str_cut(&words, ' ', &name);
        snprintf(at, sizeof(at), "%.*s", STR_ARG(name));
        snprintf(text, sizeof(text), "%.*s", STR_ARG(words));
        assert_int_equal(file_history_before(h, scratch(at), STR("t"), NULL, NULL), 0);
        if (!str_is(verb, "tries")) {
            CLEANUP(mem_freep) char *dir = path_dirname(scratch(at));

            assert_int_equal(file_mkdirs(dir, 0755, NULL), 0);
            scratch_write(at, text);
        }
        if (!str_is(verb, "crash"))
            assert_int_equal(file_history_after(h, scratch(at), NULL), 0);
    }
}

/* "NAME=text", "NAME=" for nothing there; several with spaces between. */
static void assert_files(const char *row, const char *want)
{
    struct str rest = str_of(want);
    struct str one;

    while (rest.len && str_cut(&rest, ' ', &one)) {
        CLEANUP(buf_release) struct buf text = BUF_INIT(1 << 20);
        struct str name;
        char at[256];

        str_cut(&one, '=', &name);
        snprintf(at, sizeof(at), "%.*s", STR_ARG(name));
        if (!one.len) {
            if (file_exists(scratch(at)))
                fail_msg("%s: %s is there", row, at);
        } else if (file_slurp(scratch(at), 1 << 20, &text, NULL) < 0 ||
                   !str_eq(buf_str(&text), one)) {
            fail_msg("%s: %s is \"%s\"", row, at, buf_cstr(&text));
        }
    }
}

static const struct row {
    const char *story;
    size_t first; /* which change to go back before */
    const char *whats;
    const char *files; /* afterwards */
    const char *forced_whats, *forced_files;
} rows[] = {
    {"file a 0644 one;turn;edit a two", 0, "a=restore", "a=one", NULL, NULL},
    {"turn;edit new x", 0, "new=delete", "new=", NULL, NULL},
    {"turn;edit d/e/new x", 0, "d/e/new=delete", "d/e/new= d/e= d=", NULL, NULL},
    {"turn;edit d/e/new x;file d/other 0644 y", 0, "d/e/new=delete", "d/e= d/other=y", NULL, NULL},
    /* Two turns, each of them. */
    {"file a 0644 one;turn;edit a two;turn;edit a three", 0, "a=restore", "a=one", NULL, NULL},
    {"file a 0644 one;turn;edit a two;turn;edit a three", 1, "a=restore", "a=two", NULL, NULL},
    {"file a 0644 one;turn;edit a two;edit b x;turn;edit a three", 0, "a=restore b=delete",
     "a=one b=", NULL, NULL},
    /* Nothing was done to it, or it is back already. */
    {"file a 0644 one;turn;tries a", 0, "", "a=one", NULL, NULL},
    {"file a 0644 one;turn;tries a;file a 0644 mine", 0, "", "a=mine", NULL, NULL},
    {"file a 0644 one;turn;edit a two;file a 0644 one", 0, "a=unchanged", "a=one", NULL, NULL},
    {"turn;edit new x;rm new", 0, "new=unchanged", "new=", NULL, NULL},
    /* Others were at it: afterwards, in between, in the middle of a turn. */
    {"file a 0644 one;turn;edit a two;file a 0644 mine", 0, "a=conflict", "a=mine", "a=restore",
     "a=one"},
    {"file a 0644 one;turn;edit a two;rm a", 0, "a=conflict", "a=", "a=restore", "a=one"},
    {"turn;edit new x;file new 0644 mine", 0, "new=conflict", "new=mine", "new=delete", "new="},
    {"file a 0644 one;turn;edit a two;file a 0644 mine;turn;edit a three", 0, "a=conflict",
     "a=three", "a=restore", "a=one"},
    {"file a 0644 one;turn;edit a two;file a 0644 mine;edit a three", 0, "a=conflict", "a=three",
     "a=restore", "a=one"},
    {"file a 0644 one;turn;edit a two;file a 0644 mine;turn;edit a three", 1, "a=restore", "a=mine",
     NULL, NULL},
    /* Killed between edit and line. */
    {"file a 0644 one;turn;crash a two", 0, "a=conflict", "a=two", "a=restore", "a=one"},
    {"file a 0644 one;turn;crash a one", 0, "a=unchanged", "a=one", NULL, NULL},
    /* Something else is in its place. */
    {"file a 0644 one;turn;edit a two;rm a;dir a", 0, "a=blocked", "", "a=blocked", ""},
    {"file a 0644 one;file b 0644 two;turn;edit a two;rm a;link a b", 0, "a=blocked", "b=two",
     "a=blocked", "b=two"},
    {"dir d;turn;edit d/a x;rm d/a;rm d;file d 0644 f", 0, "d/a=blocked", "d=f", "d/a=blocked",
     "d=f"},
    {"dir d;dir e;file d/a 0644 one;file e/a 0644 two;turn;edit d/a two;rm d/a;rm d;link d e", 0,
     "d/a=blocked", "e/a=two", "d/a=blocked", "e/a=two"},
    /* Its folder is gone: made again. */
    {"dir d;file d/a 0644 one;turn;edit d/a two;rm d/a;rm d", 0, "d/a=conflict",
     "d=", "d/a=restore", "d/a=one"},
    /* A link is followed. */
    {"file t 0644 one;link l t;turn;edit l two", 0, "t=restore", "t=one l=one", NULL, NULL},
};

static void whats_of(const struct restore_plan *plan, struct buf *ret)
{
    VEC_EACH(&plan->rows, row) {
        if (ret->len)
            buf_addc(ret, ' ');
        buf_add(ret, str_from(row->path, strlen(scratch_dir()) + 1));
        buf_addf(ret, "=%s", restore_what_name(row->what));
    }
}

/* Plans, does it, and undoes it. */
static void try_row(const struct row *row, bool force)
{
    CLEANUP(buf_release) struct buf lines = BUF_INIT(1 << 20);
    CLEANUP(buf_release) struct buf whats = BUF_INIT(1 << 20);
    struct file_history *h;
    struct file_changes all;
    struct file_changes later;
    struct restore_plan plan;
    size_t count;

    scratch_make();
    h = file_history_new(scratch("session"), keep_line, &lines);
    play(h, row->story);
    read_lines(&lines, &all);
    count = all.list.len;
    restore_plan_make(&plan, &all, row->first, scratch("session"), force);
    whats_of(&plan, &whats);
    if (strcmp(buf_cstr(&whats), force ? row->forced_whats : row->whats) != 0)
        fail_msg("%s: %s", row->story, buf_cstr(&whats));
    begin_turn(h, 99);
    restore_plan_apply(&plan, h, force);
    VEC_EACH(&plan.rows, r) {
        if (r->what == RESTORE_FAILED)
            fail_msg("%s: %.*s", row->story, STR_ARG(r->why));
    }
    assert_files(row->story, force ? row->forced_files : row->files);
    restore_plan_release(&plan);

    /* Forward again: everything that was done is undone, without a conflict. */
    read_lines(&lines, &later);
    restore_plan_make(&plan, &later, count, scratch("session"), false);
    VEC_EACH(&plan.rows, r) {
        if (!restore_does(r->what))
            fail_msg("%s: undo: %s", row->story, restore_what_name(r->what));
    }
    restore_plan_release(&plan);
    file_changes_release(&later);
    file_changes_release(&all);
    file_history_free(h);
    scratch_remove();
}

static void stories(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        try_row(&rows[i], false);
        if (rows[i].forced_whats)
            try_row(&rows[i], true);
    }
}

static void modes(void **state)
{
    static const struct {
        const char *story;
        mode_t want;
    } cases[] = {
        {"file a 0755 one;turn;edit a two", 0755},
        {"file a 0600 one;turn;edit a two;rm a", 0600}, /* forced: made anew */
        {"file a 06755 one;turn;edit a two", 0755},     /* old bytes must not run as another user */
        {"file a 06755 one;turn;edit a two;rm a", 0755},
        {"file a 0644 one;turn;edit a two;mode", 0755}, /* it was made executable */
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        CLEANUP(buf_release) struct buf lines = BUF_INIT(1 << 20);
        char story[200];
        bool chmods = strstr(cases[i].story, ";mode");
        struct file_history *h;
        struct file_changes all;
        struct restore_plan plan;
        struct stat st;

        scratch_make();
        snprintf(story, sizeof(story), "%s", cases[i].story);
        if (chmods)
            *strstr(story, ";mode") = '\0';
        h = file_history_new(scratch("session"), keep_line, &lines);
        play(h, story);
        if (chmods)
            assert_int_equal(chmod(scratch("a"), 0755), 0);
        read_lines(&lines, &all);
        restore_plan_make(&plan, &all, 0, scratch("session"), /*force=*/true);
        begin_turn(h, 2);
        restore_plan_apply(&plan, h, /*force=*/true);
        assert_files(cases[i].story, "a=one");
        assert_int_equal(stat(scratch("a"), &st), 0);
        if ((st.st_mode & 07777) != cases[i].want)
            fail_msg("%s: %o", cases[i].story, st.st_mode);
        restore_plan_release(&plan);
        file_changes_release(&all);
        file_history_free(h);
        scratch_remove();
    }
}

static void lost_backups(void **state)
{
    CLEANUP(buf_release) struct buf lines = BUF_INIT(1 << 20);
    CLEANUP(mem_freep) char *path = NULL;
    struct file_history *h;
    struct file_changes all;
    struct restore_plan plan;

    (void)state;
    scratch_make();
    h = file_history_new(scratch("session"), keep_line, &lines);
    play(h, "file a 0644 one;turn;edit a two");
    read_lines(&lines, &all);
    path = path_join(scratch("session/file-history"), all.list.ptr[0]->backup.ptr);
    assert_int_equal(unlink(path), 0);
    restore_plan_make(&plan, &all, 0, scratch("session"), /*force=*/true);
    assert_int_equal(plan.rows.ptr[0].what, RESTORE_LOST);
    restore_plan_apply(&plan, h, /*force=*/true);
    assert_files("lost", "a=two");
    restore_plan_release(&plan);
    file_changes_release(&all);
    file_history_free(h);
    scratch_remove();
}

/* Another process writes between plan and deed. */
static void changed_meanwhile(void **state)
{
    CLEANUP(buf_release) struct buf lines = BUF_INIT(1 << 20);
    struct file_history *h;
    struct file_changes all;
    struct restore_plan plan;

    (void)state;
    scratch_make();
    h = file_history_new(scratch("session"), keep_line, &lines);
    play(h, "file a 0644 one;turn;edit a two");
    read_lines(&lines, &all);
    restore_plan_make(&plan, &all, 0, scratch("session"), /*force=*/false);
    assert_int_equal(plan.rows.ptr[0].what, RESTORE_WRITE);
    scratch_write("a", "mine!");
    restore_plan_apply(&plan, h, /*force=*/false);
    assert_int_equal(plan.rows.ptr[0].what, RESTORE_CONFLICT);
    assert_files("meanwhile", "a=mine!");
    restore_plan_release(&plan);
    file_changes_release(&all);
    file_history_free(h);
    scratch_remove();
}

/* A command puts a link to another folder in the place of one between plan and deed, and files
 * there that look like those to be set back. */
static void led_elsewhere(void **state)
{
    for (int force = 0; force < 2; force++) {
        CLEANUP(buf_release) struct buf lines = BUF_INIT(1 << 20);
        struct file_history *h;
        struct file_changes all;
        struct restore_plan plan;

        (void)state;
        scratch_make();
        h = file_history_new(scratch("session"), keep_line, &lines);
        play(h, "dir d;file d/a 0644 one;turn;edit d/a two;edit d/new x;edit d/e/deep y");
        read_lines(&lines, &all);
        restore_plan_make(&plan, &all, 0, scratch("session"), force);
        assert_int_equal(plan.rows.len, 3);
        assert_int_equal(rename(scratch("d"), scratch("was")), 0);
        scratch_setup("dir out;file out/a 0644 two;file out/new 0644 x;dir out/e;"
                      "file out/e/deep 0644 y;link d out");
        restore_plan_apply(&plan, h, force);
        VEC_EACH(&plan.rows, row) {
            assert_int_equal(row->what, RESTORE_FAILED);
            assert_true(str_has(row->why, STR("leads somewhere else")));
        }
        assert_files("elsewhere", "out/a=two out/new=x out/e/deep=y was/a=two was/new=x");
        restore_plan_release(&plan);
        file_changes_release(&all);
        file_history_free(h);
        scratch_remove();
    }
}

static int keep_line_in_file(void *arg, struct str line, struct err *err)
{
    int fd = *(int *)arg;

    if (disk_write(fd, line.ptr, line.len) != (ssize_t)line.len)
        return err_sys(err, ERR_IO, "cannot write the line");
    return 0;
}

/* The child of the next test: two turns, then back to the first. */
static void play_in_file(const char *fault)
{
    int fd = open(scratch("lines"), O_WRONLY | O_APPEND | O_CREAT, 0600);
    struct file_history *h = file_history_new(scratch("session"), keep_line_in_file, &fd);
    CLEANUP(buf_release) struct buf lines = BUF_INIT(1 << 20);
    struct file_changes all;
    struct restore_plan plan;

    disk_test_mode(fault);
    play(h, "turn;edit a two;edit new x;turn;edit a three");
    if (file_slurp(scratch("lines"), 1 << 20, &lines, NULL) < 0)
        _exit(1);
    read_lines(&lines, &all);
    restore_plan_make(&plan, &all, 0, scratch("session"), /*force=*/false);
    begin_turn(h, 9);
    restore_plan_apply(&plan, h, /*force=*/false);
    _exit(0);
}

/* Killed before, in and after every write, including the first restore: everything can still be
 * restored, at worst with force after checking. */
static void killed_at_every_write(void **state)
{
    static const char *const faults[] = {"kill", "torn", "after"};
    int writes = 0;

    (void)state;
    for (size_t f = 0; f < ARRAY_LEN(faults); f++) {
        for (int n = 1;; n++) {
            CLEANUP(buf_release) struct buf lines = BUF_INIT(1 << 20);
            struct file_changes all;
            struct restore_plan plan;
            char fault[20];
            int status;
            pid_t child;

            snprintf(fault, sizeof(fault), "%s:%d", faults[f], n);
            scratch_make();
            scratch_setup("file a 0644 one");
            child = fork();
            assert_true(child >= 0);
            if (!child)
                play_in_file(fault);
            assert_int_equal(waitpid(child, &status, 0), child);
            if (file_exists(scratch("lines")))
                assert_int_equal(file_slurp(scratch("lines"), 1 << 20, &lines, NULL), 0);
            read_lines(&lines, &all);
            restore_plan_make(&plan, &all, 0, scratch("session"), /*force=*/true);
            VEC_EACH(&plan.rows, row) {
                if (row->what != RESTORE_UNCHANGED && !restore_does(row->what))
                    fail_msg("%s: %s: %s", fault, row->path.ptr, restore_what_name(row->what));
            }
            {
                CLEANUP(buf_release) struct buf more = BUF_INIT(1 << 20);
                struct file_history *h = file_history_new(scratch("session"), keep_line, &more);

                begin_turn(h, 10);
                restore_plan_apply(&plan, h, /*force=*/true);
                file_history_free(h);
            }
            assert_files(fault, "a=one new=");
            restore_plan_release(&plan);
            file_changes_release(&all);
            scratch_remove();
            if (WIFEXITED(status)) {
                assert_int_equal(WEXITSTATUS(status), 0);
                break;
            }
            writes++;
        }
    }
    assert_true(writes > 30);
}

UNIT_TEST(file_restore)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stories),       cmocka_unit_test(modes),
        cmocka_unit_test(lost_backups),  cmocka_unit_test(changed_meanwhile),
        cmocka_unit_test(led_elsewhere), cmocka_unit_test(killed_at_every_write),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
