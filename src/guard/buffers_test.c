/*
 * Which text of a file counts, the editor's or the disk's, after each course of changes; and what
 * becomes of an editor that does not answer, or leaves while it is asked.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/mem.h"
#include "guard/buffers.h"
#include "guard/workspace.h"
#include "unit.h"

#define PATH "/w/a.txt"

struct editor {
    const char *text; /* NULL: it fails */
    char disk[64];
    size_t reads, complaints, refs;
};

static int editor_read(void *arg, const char *path, struct cancel *cancel, struct buf *ret_text,
                       struct err *err)
{
    struct editor *e = arg;

    (void)path;
    (void)cancel;
    e->reads++;
    if (!e->text)
        return err_set(err, ERR_TIMEOUT, "no answer");
    buf_adds(ret_text, e->text);
    return 0;
}

static int editor_write(void *arg, const char *path, struct str text, struct cancel *cancel,
                        struct err *err)
{
    struct editor *e = arg;

    (void)path;
    (void)cancel;
    (void)err;
    (void)snprintf(e->disk, sizeof(e->disk), "%.*s", STR_ARG(text));
    return 0;
}

static void editor_complain(void *arg, const char *path, const char *why)
{
    struct editor *e = arg;

    (void)path;
    assert_string_equal(why, "no answer");
    e->complaints++;
}

static void editor_ref(void *arg)
{
    ((struct editor *)arg)->refs++;
}

static void editor_unref(void *arg)
{
    ((struct editor *)arg)->refs--;
}

static void lend(struct workspace *w, struct editor *e)
{
    buffers_lend(workspace_buffers(w),
                 &(struct buffer_lender){editor_read, editor_write, editor_complain, editor_ref,
                                         editor_unref, e});
}

/* A course: B=text and D=text set a side; "look:N", ":D" and ":C" look and expect the newer text,
 * the disk's and a conflict; "ran" says that a command of ours has written the file since the last
 * look; W=text is written through the editor, whose formatter may make something else of it on
 * disk, given behind a "/". */
static const struct {
    const char *what;
    const char *course;
} courses[] = {
    {"nothing is unsaved", "B=a D=a look:N D=a look:N"},
    {"an unsaved line", "B=ab D=a look:N look:N"},
    {"typed after the first look", "B=a D=a look:N B=ab look:N"},
    {"changed on disk, not loaded again", "B=a D=a look:N D=x look:D look:D"},
    {"changed on disk, then loaded", "B=a D=a look:N D=x look:D B=x look:N D=y look:D"},
    {"both", "B=a D=a look:N B=ab D=x look:C look:C"},
    {"both, then saved", "B=a D=a look:N B=ab D=x look:C D=ab look:N B=abc look:N"},
    {"both, then loaded again", "B=a D=a look:N B=ab D=x look:C B=x look:N"},
    {"typed into a stale buffer", "B=a D=a look:N D=x look:D B=ab look:C"},
    {"a command behind unsaved text", "B=ab D=a look:N D=x look:C"},
    {"a command before the first look", "B=a D=x ran look:D B=ab look:C"},
    {"a command, then loaded, then typed", "B=a D=x ran look:D B=x look:N B=xy look:N"},
    {"both sides become the same by themselves", "B=a D=a look:N B=x D=x look:N D=y look:D"},
    {"lines that end in another way", "B=a\nb\n D=a\r\nb\r\n look:N D=x\r\n look:D"},
    {"a lone carriage return is text", "B=a\rb D=ab look:N"},
    {"written, and saved as it is", "B=a D=a look:N W=z/z look:N D=x look:D"},
    {"written, and formatted", "B=a D=a look:N W=z/Z B=Z look:N"},
    {"written, and not saved", "B=a D=a look:N W=z/a look:N D=x look:C"},
};

static void step(struct workspace *w, struct editor *e, const char *what, struct str word)
{
    static const char letters[] = "DNC"; /* enum buffer_truth */
    CLEANUP(buf_release) struct buf text = BUF_INIT(1000);
    struct stat st = {0};
    int64_t ms = clock_file_ms();
    struct str rest = str_from(word, 2);
    static char room[2][64];

    st.st_mtim = (struct timespec){.tv_sec = 1};
    if (str_is(word, "ran")) {
        buffers_command_began(workspace_buffers(w));
        buffers_command_ended(workspace_buffers(w));
    } else if (str_starts(word, STR("B="))) {
        (void)snprintf(room[0], sizeof(room[0]), "%.*s", STR_ARG(rest));
        e->text = room[0];
    } else if (str_starts(word, STR("D="))) {
        (void)snprintf(e->disk, sizeof(e->disk), "%.*s", STR_ARG(rest));
    } else if (str_starts(word, STR("W="))) {
        struct str new = str_first(rest, str_chr(rest, '/'));
        struct str now = str_from(rest, new.len + 1);

        assert_int_equal(buffers_write(w, PATH, new, /*cancel=*/NULL, /*err=*/NULL), 0);
        (void)snprintf(room[0], sizeof(room[0]), "%.*s", STR_ARG(new));
        e->text = room[0];
        (void)snprintf(e->disk, sizeof(e->disk), "%.*s", STR_ARG(now));
        assert_int_equal(buffers_wrote(w, PATH, new, now), str_eq(new, now));
    } else {
        enum buffer_truth truth;

        /* Only a file that "ran" has named is as new as the commands. */
        if (strstr(what, "before the first") || strstr(what, "a command, then"))
            st.st_mtim = (struct timespec){ms / 1000, ms % 1000 * 1000000};
        truth = buffers_read(w, PATH, &st, str_of(e->disk), /*cancel=*/NULL, &text);
        if (letters[truth] != word.ptr[word.len - 1])
            fail_msg("%s: %.*s: got %c", what, STR_ARG(word), letters[truth]);
    }
}

static void which_text_counts(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(courses) / sizeof(courses[0]); i++) {
        struct workspace *w = workspace_new("/w", "/nowhere", NULL);
        struct editor e = {0};
        struct str rest = str_of(courses[i].course);
        struct str word;

        lend(w, &e);
        while (str_cut(&rest, ' ', &word))
            step(w, &e, courses[i].what, word);
        workspace_unref(w);
        assert_int_equal(e.refs, 0);
    }
}

static void only_files_of_the_workspace(void **state)
{
    struct workspace *w = workspace_new("/w", "/nowhere", NULL);
    struct workspace *branch = workspace_branch(w, "/w/tree");
    CLEANUP(buf_release) struct buf text = BUF_INIT(1000);
    struct editor e = {.text = "unsaved"};
    struct stat st = {0};

    (void)state;
    assert_false(buffers_serve(w, PATH));
    lend(w, &e);
    assert_true(buffers_serve(w, PATH));
    assert_true(buffers_serve_writes(w, PATH));
    assert_true(buffers_serve(branch, "/w/tree/b"));
    assert_false(buffers_serve(w, "/elsewhere/a.txt"));
    assert_int_equal(buffers_read(w, "/elsewhere/a.txt", &st, STR("x"), NULL, &text), BUFFER_NONE);
    assert_int_equal(e.reads, 0);
    /* A new file: nothing is in the editor, or the user has begun to write it. */
    assert_int_equal(buffers_read(w, PATH, /*st=*/NULL, STR(""), NULL, &text), BUFFER_CONFLICT);
    e.text = "";
    buf_clear(&text);
    assert_int_equal(buffers_read(w, PATH, /*st=*/NULL, STR(""), NULL, &text), BUFFER_NONE);
    buffers_withdraw(workspace_buffers(w), &text); /* of another one */
    assert_true(buffers_serve(w, PATH));
    buffers_withdraw(workspace_buffers(w), &e);
    assert_false(buffers_serve(branch, "/w/tree/b"));
    assert_int_equal(e.refs, 0);
    workspace_unref(branch);
    workspace_unref(w);
}

static void an_editor_that_fails(void **state)
{
    struct workspace *w = workspace_new("/w", "/nowhere", NULL);
    CLEANUP(buf_release) struct buf text = BUF_INIT(1000);
    struct editor e = {0};
    struct stat st = {0};
    struct err err = {0};

    (void)state;
    lend(w, &e);
    assert_int_equal(buffers_read(w, "/w/new", /*st=*/NULL, STR(""), NULL, &text), BUFFER_NONE);
    assert_int_equal(e.complaints, 0); /* no editor knows a file that is not there */
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(buffers_read(w, PATH, &st, STR("x"), NULL, &text), BUFFER_NONE);
    assert_int_equal(e.complaints, 1);
    buffers_withdraw(workspace_buffers(w), &e);
    assert_int_equal(buffers_write(w, PATH, STR("x"), NULL, &err), -1);
    assert_string_equal(err.text, "the editor has closed the session");
    workspace_unref(w);
}

UNIT_TEST(buffers)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(which_text_counts),
        cmocka_unit_test(only_files_of_the_workspace),
        cmocka_unit_test(an_editor_that_fails),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
