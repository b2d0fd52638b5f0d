/*
 * Going back: which messages are places, how many files were changed since each, where the
 * conversation goes on, undoing it; also in a copy, over a compaction and on a branch that was
 * left.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"
#include "host/record/rewind.h"
#include "json/jw.h"
#include "store/files/file_history.h"
#include "store/scratch_check.h"
#include "store/transcript/entry.h"
#include "store/transcript/load.h"
#include "store/transcript/transcript.h"
#include "unit.h"

#define SESSION "99999999-0000-4000-8000-000000000000"

/* A session in the making. */
struct stage {
    struct transcript *transcript;
    struct file_history *history;
    char leaf[ID_UUID_LEN + 1];
    int64_t time_ms; /* of lines; those of files have the real one */
};

static char *session_path(void)
{
    return path_join(scratch_dir(), SESSION ".jsonl");
}

static char *session_folder(void)
{
    return path_join(scratch_dir(), SESSION);
}

static int write_fact(void *arg, struct str lines, struct err *err)
{
    return transcript_fact(arg, lines, err);
}

static void stage_open(struct stage *s)
{
    CLEANUP(mem_freep) char *path = session_path();
    CLEANUP(mem_freep) char *folder = session_folder();

    s->transcript = transcript_new(path, SYNC_NEVER);
    s->history = file_history_new(folder, write_fact, s->transcript);
}

static void stage_make(struct stage *s)
{
    *s = (struct stage){.time_ms = clock_wall_ms() - 3600000};
    scratch_make();
    stage_open(s);
}

static void stage_close(struct stage *s)
{
    file_history_free(s->history);
    transcript_free(s->transcript);
}

static void stage_end(struct stage *s)
{
    stage_close(s);
    scratch_remove();
}

/* "user …", "meta …", "assistant …", "boundary": the next line of the chain; number makes its uuid.
 */
static void say_line(struct stage *s, const char *kind, int number, const char *text)
{
    CLEANUP(buf_release) struct buf line = BUF_INIT(1 << 16);
    struct entry_head head = {
        .session = STR(SESSION), .cwd = str_of(scratch_dir()), .version = STR("0.1.0")};
    bool is_user = strcmp(kind, "assistant") != 0;
    bool is_boundary = strcmp(kind, "boundary") == 0;
    char uuid[ID_UUID_LEN + 1];
    struct jw w;

    snprintf(uuid, sizeof(uuid), "%08u-0000-4000-8000-000000000000", (unsigned)number % 100000000);
    jw_init(&w, &line, 0);
    entry_begin(&w, &head,
                is_boundary ? ENTRY_SYSTEM
                : is_user   ? ENTRY_USER
                            : ENTRY_ASSISTANT,
                str_of(uuid), is_boundary ? STR("") : str_of(s->leaf), s->time_ms);
    if (strcmp(kind, "meta") == 0)
        jw_kbool(&w, "isMeta", true);
    if (strcmp(kind, "summary") == 0)
        jw_kbool(&w, "isCompactSummary", true);
    if (is_boundary) {
        jw_kcstr(&w, "subtype", "compact_boundary");
        jw_kcstr(&w, "content", "Conversation compacted");
        jw_kstr(&w, "logicalParentUuid", str_of(s->leaf));
    } else {
        jw_key(&w, "message");
        jw_object(&w);
        jw_kcstr(&w, "role", is_user ? "user" : "assistant");
        jw_kcstr(&w, "content", text);
        jw_object_end(&w);
    }
    jw_object_end(&w);
    buf_addc(&line, '\n');
    assert_int_equal(transcript_message(s->transcript, buf_str(&line), false, NULL), 0);
    memcpy(s->leaf, uuid, sizeof(uuid));
    s->time_ms += 1000;
    if (strcmp(kind, "user") == 0)
        file_history_begin(s->history, str_of(uuid));
}

static void edit(struct stage *s, const char *name, const char *text)
{
    assert_int_equal(file_history_before(s->history, scratch(name), STR("t"), NULL, NULL), 0);
    scratch_write(name, text);
    assert_int_equal(file_history_after(s->history, scratch(name), NULL), 0);
}

static struct rewind *open_rewind(void)
{
    CLEANUP(mem_freep) char *path = session_path();
    CLEANUP(mem_freep) char *folder = session_folder();
    struct rewind *r = NULL;
    struct err err = {0};

    if (rewind_open(path, folder, /*cancel=*/NULL, &r, &err) < 0)
        fail_msg("%s", err.text);
    return r;
}

/* "text:files" of all places. */
static void assert_places(const char *want)
{
    CLEANUP(buf_release) struct buf got = BUF_INIT(1 << 16);
    struct rewind *r = open_rewind();

    for (size_t i = 0; i < rewind_count(r); i++) {
        const struct rewind_point *p = rewind_at(r, i);

        buf_addf(&got, "%s%.*s:%zu", i ? ", " : "", STR_ARG(p->text), p->files);
    }
    assert_string_equal(buf_cstr(&got), want);
    rewind_free(r);
}

static void go(const char *to, bool files, bool conversation, char undo[static ID_UUID_LEN + 1])
{
    struct stage s = {0};
    struct rewind *r = open_rewind();
    const struct rewind_point *point = NULL;
    struct file_changes changes;
    struct entry_head head;
    struct rewind_order order = {.files = files, .conversation = conversation, .head = &head};
    struct err err = {0};

    stage_open(&s);
    order.transcript = s.transcript;
    order.history = s.history;
    assert_int_equal(rewind_changes(r, &changes, NULL), 0);
    file_history_recall(s.history, &changes);
    rewind_head(r, &head);
    if (rewind_find(r, str_of(to), &point, &err) < 0 || rewind_do(r, point, &order, undo, &err) < 0)
        fail_msg("%s: %s", to, err.text);
    VEC_EACH(&rewind_planned(r)->rows, row) {
        if (row->what != RESTORE_UNCHANGED && !restore_does(row->what))
            fail_msg("%s: %s: %.*s", to, row->path.ptr, STR_ARG(row->why));
    }
    rewind_free(r);
    stage_close(&s);
}

/* What a resumed session would have: the messages' first words. */
static void assert_conversation(const char *want)
{
    CLEANUP(mem_freep) char *path = session_path();
    CLEANUP(buf_release) struct buf got = BUF_INIT(1 << 16);
    struct load *load = NULL;

    assert_int_equal(load_open(path, &(struct load_spec){0}, NULL, &load, NULL), 0);
    for (size_t i = 0; i < load_count(load); i++) {
        const struct load_entry *e = load_at(load, i);
        struct str line;
        size_t at;

        if (e->kind == ENTRY_SYSTEM)
            continue;
        assert_int_equal(load_read(load, e->offset, e->len, &line, NULL), 0);
        at = str_find(line, STR("\"content\":\""));
        line = str_from(line, at + 11);
        buf_addf(&got, "%s%.*s", got.len ? ", " : "", STR_ARG(str_first(line, str_chr(line, '"'))));
    }
    assert_string_equal(buf_cstr(&got), want);
    load_free(load);
}

static void assert_file(const char *name, const char *want)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(1 << 16);

    if (!want) {
        assert_false(file_exists(scratch(name)));
        return;
    }
    assert_int_equal(file_slurp(scratch(name), 1 << 16, &text, NULL), 0);
    assert_string_equal(buf_cstr(&text), want);
}

/* Three messages; the second does nothing to files. */
static void tell(struct stage *s)
{
    say_line(s, "meta", 1, "<system-reminder>context</system-reminder>");
    say_line(s, "user", 2, "one");
    edit(s, "a", "1");
    say_line(s, "assistant", 3, "did one");
    say_line(s, "user", 4, "two");
    say_line(s, "assistant", 5, "did nothing");
    say_line(s, "user", 6, "[Request interrupted by user]");
    say_line(s, "user", 7, "three\\nand more");
    edit(s, "a", "3");
    edit(s, "b", "3");
    say_line(s, "assistant", 8, "did three");
}

static void places(void **state)
{
    struct stage s;
    struct rewind *r;
    const struct rewind_point *p = NULL;
    CLEANUP(buf_release) struct buf said = BUF_INIT(1 << 16);
    struct err err = {0};

    (void)state;
    stage_make(&s);
    tell(&s);
    assert_places("one:2, two:2, three\\nand more:2");
    r = open_rewind();
    assert_int_equal(rewind_find(r, STR("2"), &p, &err), 0);
    assert_true(str_is(p->text, "two"));
    assert_int_equal(rewind_find(r, STR("00000007-0000-4000-8000-000000000000"), &p, &err), 0);
    assert_int_equal(p->first, 1);
    rewind_said(r, p, &said);
    assert_string_equal(buf_cstr(&said), "three\\nand more");
    assert_int_equal(rewind_find(r, STR("00000002-"), &p, &err), 0);
    assert_int_equal(p->first, 0);
    assert_int_equal(rewind_find(r, STR("0000"), &p, &err), -1);
    assert_int_equal(err.code, ERR_BAD_INPUT);
    assert_int_equal(rewind_find(r, STR("4"), &p, &err), -1);
    assert_int_equal(err.code, ERR_NOT_FOUND);
    assert_int_equal(rewind_find(r, STR("00000003-0000-4000-8000-000000000000"), &p, &err), -1);
    rewind_free(r);
    stage_end(&s);
}

static void files_only(void **state)
{
    struct stage s;
    char undo[ID_UUID_LEN + 1];
    const char *all = "<system-reminder>context</system-reminder>, one, did one, two, did nothing, "
                      "[Request interrupted by user], three\\\\nand more, did three";

    (void)state;
    stage_make(&s);
    tell(&s);
    go("3", true, false, undo);
    assert_file("a", "1");
    assert_file("b", NULL);
    assert_conversation(all);
    go(undo, true, false, undo);
    assert_file("a", "3");
    assert_file("b", "3");
    go("1", true, false, undo);
    assert_file("a", NULL);
    go(undo, true, false, undo);
    assert_file("a", "3");
    assert_conversation(all);
    stage_end(&s);
}

static void conversation_and_files(void **state)
{
    struct stage s;
    char undo[ID_UUID_LEN + 1];

    (void)state;
    stage_make(&s);
    tell(&s);
    go("2", false, true, undo);
    assert_conversation("<system-reminder>context</system-reminder>, one, did one");
    assert_file("a", "3");
    go(undo, false, true, undo);
    assert_conversation("<system-reminder>context</system-reminder>, one, did one, two, did "
                        "nothing, [Request interrupted by user], three\\\\nand more, did three");
    go("2", true, true, undo);
    assert_conversation("<system-reminder>context</system-reminder>, one, did one");
    assert_file("a", "1");
    assert_file("b", NULL);
    stage_end(&s);
}

/* Continuing from there makes a branch; the changes of the other one are not on it. */
static void another_branch(void **state)
{
    struct stage s;
    char undo[ID_UUID_LEN + 1];

    (void)state;
    stage_make(&s);
    tell(&s);
    go("3", true, true, undo);
    stage_close(&s);
    stage_open(&s);
    memcpy(s.leaf, undo, sizeof(undo));
    s.time_ms = clock_wall_ms() + 1; /* later lines are newer than the changes above */
    say_line(&s, "user", 20, "three, again");
    edit(&s, "c", "x");
    say_line(&s, "assistant", 21, "did it again");
    assert_conversation("<system-reminder>context</system-reminder>, one, did one, two, did "
                        "nothing, [Request interrupted by user], three, again, did it again");
    {
        struct rewind *r = open_rewind();

        assert_int_equal(rewind_count(r), 4);
        assert_true(rewind_at(r, 2)->is_undo);
        assert_true(str_is(rewind_at(r, 3)->text, "three, again"));
        assert_int_equal(rewind_at(r, 3)->files, 1);
        rewind_free(r);
    }
    go("1", true, true, undo);
    assert_file("a", NULL);
    assert_file("b", NULL);
    assert_file("c", NULL);
    assert_conversation("<system-reminder>context</system-reminder>");
    stage_end(&s);
}

/* A fork has the lines about files before all messages. */
static void copied_session(void **state)
{
    CLEANUP(mem_freep) char *path = NULL;
    CLEANUP(buf_release) struct buf text = BUF_INIT(1 << 20);
    CLEANUP(buf_release) struct buf facts = BUF_INIT(1 << 20);
    CLEANUP(buf_release) struct buf messages = BUF_INIT(1 << 20);
    char undo[ID_UUID_LEN + 1];
    struct str rest;
    struct str line;
    struct stage s;

    (void)state;
    stage_make(&s);
    tell(&s);
    path = session_path();
    assert_int_equal(file_slurp(path, 1 << 20, &text, NULL), 0);
    rest = buf_str(&text);
    while (rest.len && str_cut(&rest, '\n', &line)) {
        struct buf *to = str_has(line, STR("\"file-history-snapshot\"")) ? &facts : &messages;

        buf_add(to, line);
        buf_addc(to, '\n');
    }
    buf_add(&facts, buf_str(&messages));
    assert_int_equal(file_replace(path, buf_str(&facts), 0600, NULL), 0);
    stage_close(&s);
    stage_open(&s);
    assert_places("one:2, two:2, three\\nand more:2");
    go("3", true, false, undo);
    assert_file("a", "1");
    assert_file("b", NULL);
    stage_end(&s);
}

static void over_a_compaction(void **state)
{
    struct stage s;
    char undo[ID_UUID_LEN + 1];

    (void)state;
    stage_make(&s);
    tell(&s);
    say_line(&s, "boundary", 9, "");
    say_line(&s, "summary", 10, "so far");
    say_line(&s, "user", 11, "four");
    edit(&s, "a", "4");
    say_line(&s, "assistant", 12, "did four");
    assert_conversation("so far, four, did four");
    assert_places("one:2, two:2, three\\nand more:2, four:1");
    go("4", true, true, undo);
    assert_file("a", "3");
    assert_conversation("so far");
    go("2", true, true, undo);
    assert_file("a", "1");
    assert_conversation("<system-reminder>context</system-reminder>, one, did one");
    go(undo, true, true, undo);
    assert_file("a", "3");
    assert_conversation("so far");
    stage_end(&s);
}

static void lines_are_counted(void **state)
{
    struct stage s;
    struct rewind *r;
    const struct restore_plan *plan;

    (void)state;
    stage_make(&s);
    scratch_write("a", "1\n2\n3\n");
    say_line(&s, "user", 1, "go");
    edit(&s, "a", "1\nzwei\ndrei\n3\n");
    edit(&s, "b", "x\ny\n");
    r = open_rewind();
    plan = rewind_plan(r, rewind_at(r, 0), false);
    assert_int_equal(plan->rows.len, 2);
    assert_int_equal(plan->rows.ptr[0].added, 1);
    assert_int_equal(plan->rows.ptr[0].removed, 2);
    assert_int_equal(plan->rows.ptr[1].added, 0);
    assert_int_equal(plan->rows.ptr[1].removed, 2);
    rewind_free(r);
    stage_end(&s);
}

UNIT_TEST(rewind)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(places),
        cmocka_unit_test(files_only),
        cmocka_unit_test(conversation_and_files),
        cmocka_unit_test(another_branch),
        cmocka_unit_test(copied_session),
        cmocka_unit_test(over_a_compaction),
        cmocka_unit_test(lines_are_counted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
