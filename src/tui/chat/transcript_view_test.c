/*
 * The transcript view: lines of a file drawn, keys, searching, files that grow and shrink; and the
 * last turns of a conversation that goes on.
 */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"
#include "tui/chat/chat_check.h"
#include "tui/chat/transcript_file.h"
#include "tui/chat/transcript_view.h"
#include "tui/screen/keypress.h"
#include "unit.h"

#define ENTRY(type, uuid, parent, rest)                                                            \
    "{\"parentUuid\":" parent ",\"isSidechain\":false,\"type\":\"" type "\",\"uuid\":\"" uuid      \
    "\",\"timestamp\":\"2026-11-14T10:00:00.000Z\",\"sessionId\":\"s\"," rest "}\n"
#define SAYS(content) "\"message\":{\"role\":\"user\",\"content\":" content "}"
#define ANSWERS(content)                                                                           \
    "\"message\":{\"id\":\"msg_1\",\"type\":\"message\",\"role\":\"assistant\",\"model\":\"m\","   \
    "\"content\":[" content "]}"

static const char small[] =
    "{\"type\":\"file-history-snapshot\",\"snapshot\":{}}\n" /* clang-format would split these */
    ENTRY("user", "u1", "null", SAYS("\"fix the *test*\\nplease\"")) ENTRY(
        "assistant", "a1", "\"u1\"",
        ANSWERS("{\"type\":\"thinking\",\"thinking\":\"Where is it?\",\"signature\":\"x\"}"))
        ENTRY("assistant", "a2", "\"a1\"",
              ANSWERS(
                  "{\"type\":\"text\",\"text\":\"I **look**.\"}")) ENTRY("assistant", "a3",
                                                                         "\"a2\"",
                                                                         ANSWERS(
                                                                             "{\"type\":\"tool_"
                                                                             "use\",\"id\":\"toolu_"
                                                                             "1\",\"name\":"
                                                                             "\"Bash\",\"input\":"
                                                                             "{\"command\":"
                                                                             "\"make\\ntest\","
                                                                             "\"timeout\":5}}"))
            ENTRY("user", "u2", "\"a3\"",
                  SAYS("[{\"type\":\"tool_result\",\"tool_use_id\":\"toolu_1\",\"is_error\":true,"
                       "\"content\":\"Exit code 2\\nit failed\"}]"))
                ENTRY(
                    "assistant", "a4", "\"u2\"",
                    ANSWERS("{\"type\":\"tool_use\",\"id\":\"toolu_2\",\"name\":\"Edit\",\"input\":"
                            "{\"file_path\":\"a.c\",\"old_string\":\"x\",\"new_string\":\"y\"}}"))
                    ENTRY(
                        "user", "u3", "\"a4\"",
                        "\"toolUseResult\":{\"filePath\":\"a.c\",\"structuredPatch\":[{"
                        "\"oldStart\":1,"
                        "\"oldLines\":1,\"newStart\":1,\"newLines\":1,\"lines\":[\"-x\",\"+y\"]}]}"
                        "," SAYS(
                            "[{\"type\":\"tool_result\",\"tool_use_id\":\"toolu_2\",\"content\":"
                            "\"done\"}]")) "this is no JSON\n" ENTRY("user", "u4", "\"u3\"",
                                                                     SAYS(
                                                                         "[{\"type\":\"image\","
                                                                         "\"source\":{\"type\":"
                                                                         "\"base64\",\"media_"
                                                                         "type\":\"image/png\","
                                                                         "\"data\":"
                                                                         "\"iVBORw0KGgoAAAANSUhEUgA"
                                                                         "AAoAAAAHgCAYAAAA10dzk\"}}"
                                                                         ","
                                                                         "{\"type\":\"text\","
                                                                         "\"text\":\"and now?\"}]"))
                        ENTRY("assistant", "a5", "\"u4\"",
                              ANSWERS("{\"type\":\"text\",\"text\":\"All done.\"}"));

struct fixture {
    char dir[64];
    char *path;
    struct panel *panel;
    struct view view;
};

static void fixture_init(struct fixture *f, const char *text)
{
    *f = (struct fixture){.dir = "/tmp/tenax-transcript-XXXXXX", .view = {.cols = 60, .rows = 40}};
    assert_non_null(mkdtemp(f->dir));
    f->path = path_join(f->dir, "s.jsonl");
    assert_int_equal(file_replace(f->path, str_of(text), 0600, NULL), 0);
}

static void fixture_release(struct fixture *f)
{
    panel_free(f->panel);
    unlink(f->path);
    rmdir(f->dir);
    mem_freep(&f->path);
}

static void open_at(struct fixture *f, const char *at)
{
    struct err err = {0};

    panel_free(f->panel);
    f->panel = transcript_view_new(f->path, str_of(at), &err);
    if (!f->panel)
        fail_msg("%s", err.text);
}

static void draw(struct fixture *f, struct buf *ret)
{
    CLEANUP(lines_release) struct lines lines = LINES_INIT;
    struct screen_cursor cursor;

    buf_clear(ret);
    do { /* as the app does while something is due at once */
        lines_clear(&lines);
        f->panel->kind->draw(f->panel, &f->view, &lines, &cursor);
    } while (f->panel->kind->due && f->panel->kind->due(f->panel) == 0);
    assert_int_equal(lines_count(&lines), f->view.rows);
    for (size_t i = 0; i < lines_count(&lines); i++)
        assert_true(line_width(lines_at(&lines, i)) <= f->view.cols);
    lines_text(&lines, ret);
}

static enum panel_state press(struct fixture *f, const char *names)
{
    enum panel_state state = PANEL_OPEN;
    struct str rest = str_of(names);
    struct str name;

    while (rest.len && str_cut(&rest, ' ', &name)) {
        struct keypress k;

        if (name.len == 1)
            k = (struct keypress){.code = KEY_TEXT, .text = name};
        else if (!keypress_parse(name, &k))
            fail_msg("no key: %.*s", STR_ARG(name));
        state = f->panel->kind->key(f->panel, &k);
    }
    return state;
}

static void whole(void **state)
{
    CLEANUP(buf_release) struct buf got = BUF_INIT(1 << 16);
    struct fixture f;

    (void)state;
    fixture_init(&f, small);
    open_at(&f, "");
    draw(&f, &got);
    assert_string_equal(buf_cstr(&got),
                        "\n"
                        "> fix the *test*\n"
                        "  please\n"
                        "\n"
                        "∴ Thinking\n"
                        "  Where is it?\n"
                        "\n"
                        "● I look.\n"
                        "\n"
                        "● Bash\n"
                        "    command:\n"
                        "    make\n"
                        "    test\n"
                        "    timeout: 5\n"
                        "  ⎿  Exit code 2\n"
                        "     it failed\n"
                        "\n"
                        "● Edit\n"
                        "    file_path: a.c\n"
                        "    old_string: x\n"
                        "    new_string: y\n"
                        "1 - x\n"
                        "1 + y\n"
                        "[a line that cannot be read]\n"
                        "  [image 640×480 png 33 bytes]\n"
                        "\n"
                        "> and now?\n"
                        "\n"
                        "● All done.\n"
                        "\n\n\n\n\n\n\n\n\n\n"
                        "Transcript  end · / search · n N next, previous · q close\n");
    fixture_release(&f);
}

#define CALLS(id, name, input)                                                                     \
    "{\"type\":\"tool_use\",\"id\":\"" id "\",\"name\":\"" name "\",\"input\":" input "}"
#define RESULT(id, text)                                                                           \
    "{\"type\":\"tool_result\",\"tool_use_id\":\"" id "\",\"content\":\"" text "\"}"

/* Several calls, then their results: each says whose it is. */
static void beside_each_other(void **state)
{
    static const char *const lines[] = {
        ENTRY("assistant", "a1", "null", ANSWERS(CALLS("t1", "Bash", "{\"command\":\"make\"}"))),
        ENTRY("assistant", "a2", "\"a1\"", ANSWERS(CALLS("t2", "Read", "{\"file_path\":\"a.c\"}"))),
        ENTRY("user", "u1", "\"a1\"", SAYS("[" RESULT("t1", "built") "]")),
        "{\"type\":\"file-history-snapshot\",\"snapshot\":{}}\n",
        ENTRY("user", "u2", "\"a2\"", SAYS("[" RESULT("t2", "text") "]")),
        ENTRY("assistant", "a3", "\"u2\"",
              ANSWERS(CALLS("t3", "Glob", "{}") "," CALLS("t4", "Grep", "{\"pattern\":\"x\"}"))),
        ENTRY("user", "u3", "\"a3\"", SAYS("[" RESULT("t3", "one") "," RESULT("t4", "two") "]")),
        ENTRY("assistant", "a4", "\"u3\"", ANSWERS(CALLS("t5", "Bash", "{\"command\":\"true\"}"))),
        ENTRY("user", "u4", "\"a4\"", SAYS("[" RESULT("t5", "alone") "]")),
        ENTRY("user", "u5", "\"u4\"", SAYS("[" RESULT("t0", "nobody's") "]")),
    };
    CLEANUP(buf_release) struct buf text = BUF_INIT(1 << 16);
    CLEANUP(buf_release) struct buf got = BUF_INIT(1 << 16);
    struct fixture f;

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(lines); i++)
        buf_adds(&text, lines[i]);
    fixture_init(&f, buf_cstr(&text));
    open_at(&f, "");
    draw(&f, &got);
    assert_true(str_starts(buf_str(&got), STR("\n"
                                              "● Bash\n"
                                              "    command: make\n"
                                              "\n"
                                              "● Read\n"
                                              "    file_path: a.c\n"
                                              "\n"
                                              "● Bash(make)\n"
                                              "  ⎿  built\n"
                                              "\n"
                                              "● Read(a.c)\n"
                                              "  ⎿  text\n"
                                              "\n"
                                              "● Glob\n"
                                              "\n"
                                              "● Grep\n"
                                              "    pattern: x\n"
                                              "\n"
                                              "● Glob\n"
                                              "  ⎿  one\n"
                                              "\n"
                                              "● Grep(x)\n"
                                              "  ⎿  two\n"
                                              "\n"
                                              "● Bash\n"
                                              "    command: true\n"
                                              "  ⎿  alone\n"
                                              "  ⎿  nobody's\n")));
    fixture_release(&f);
}

static const struct key_case {
    const char *at;
    const char *keys;
    const char *first; /* what the first row with text in the window says */
    const char *last;  /* and the last row of all */
} key_cases[] = {
    {"", "", "> and now?", "Transcript  end"},
    {"", "g", "> fix the *test*", "Transcript  start"},
    {"", "home", "> fix the *test*", "Transcript  start"},
    {"", "g down", "> fix the *test*", "Transcript  1 %"},
    {"", "g down down", "  please", "Transcript  1 %"},
    {"", "g down down up", "> fix the *test*", "Transcript  1 %"},
    {"", "g pagedown", "∴ Thinking", "Transcript"},
    {"", "g pagedown pageup", "> fix the *test*", "Transcript  start"},
    {"", "g end", "> and now?", "Transcript  end"},
    {"", "g G", "> and now?", "Transcript  end"},
    {"", "up", "  [image 640×480 png 33 bytes]", "Transcript"},
    {"", "down down", "> and now?", "Transcript  end"},
    {"toolu_1", "", "● Bash", "Transcript"},
    {"u4", "", "  [image 640×480 png 33 bytes]", "Transcript  78 %"},
    {"nobody", "", "> and now?", "Transcript  end"},
    {"", "g / f a i l e d enter", "  ⎿  Exit code 2", "Transcript"},
    {"", "g / F a i l e d enter", "> fix the *test*", "Transcript  start · not found"},
    {"", "g ? d o n e enter", "> and now?", "Transcript  end · from the other end"},
    {"", "g / l o o k enter n", "● I look.", "Transcript"},
    {"", "g / x", "> fix the *test*", "/x"},
    {"", "g / x y backspace", "> fix the *test*", "/x"},
    {"", "g / x esc", "> fix the *test*", "Transcript  start"},
};

static struct str row_with_text(struct str text)
{
    struct str line = STR("");

    while (text.len && str_cut(&text, '\n', &line) && !line.len)
        ;
    return line;
}

static void keys(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(key_cases); i++) {
        CLEANUP(buf_release) struct buf got = BUF_INIT(1 << 16);
        const struct key_case *row = &key_cases[i];
        struct fixture f;
        struct str first, last;

        fixture_init(&f, small);
        f.view.rows = 5;
        open_at(&f, row->at);
        draw(&f, &got);
        assert_int_equal(press(&f, row->keys), PANEL_OPEN);
        draw(&f, &got);
        first = row_with_text(buf_str(&got));
        last = str_from(buf_str(&got), 0);
        while (str_chr(last, '\n') + 1 < last.len)
            last = str_from(last, str_chr(last, '\n') + 1);
        if (!str_is(first, row->first) || !str_starts(last, str_of(row->last)))
            fail_msg("row %zu (%s):\n%s", i, row->keys, buf_cstr(&got));
        fixture_release(&f);
    }
}

static void closes(void **state)
{
    static const char *const names[] = {"q", "esc", "ctrl+o", "ctrl+c"};
    CLEANUP(buf_release) struct buf got = BUF_INIT(1 << 16);
    struct err err = {0};
    struct fixture f;

    (void)state;
    fixture_init(&f, small);
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        open_at(&f, "");
        draw(&f, &got);
        assert_int_equal(press(&f, names[i]), PANEL_LEFT);
    }
    assert_null(transcript_view_new("/nowhere/s.jsonl", STR(""), &err));
    assert_int_equal(err.code, ERR_NOT_FOUND);
    fixture_release(&f);
}

static void append(const struct fixture *f, const char *text)
{
    CLEANUP(fd_closep) int fd = open(f->path, O_WRONLY | O_APPEND | O_CLOEXEC);

    assert_true(fd >= 0);
    assert_int_equal(fd_write_all(fd, str_of(text), NULL), 0);
}

static void changes(void **state)
{
    CLEANUP(buf_release) struct buf got = BUF_INIT(1 << 16);
    struct fixture f;

    (void)state;
    fixture_init(&f, "");
    open_at(&f, "");
    f.view.rows = 8;
    draw(&f, &got);
    append(&f, "{\"type\":\"assistant\",\"message\":{\"content\":\"half a li");
    draw(&f, &got);
    assert_false(str_has(buf_str(&got), STR("half")));
    append(&f, "ne\"}}\n");
    draw(&f, &got);
    assert_true(str_has(buf_str(&got), STR("● half a line\n")));
    append(&f, "{\"type\":\"assistant\",\"message\":{\"content\":\"another\"}}\n");
    draw(&f, &got); /* it was at the end, and stays there */
    assert_true(str_has(buf_str(&got), STR("● another\n")));
    press(&f, "/ a n o t h e r enter");
    draw(&f, &got);
    assert_true(str_has(buf_str(&got), STR("● another\n")));
    press(&f, "g / ü b e r enter");
    draw(&f, &got);
    assert_true(str_has(buf_str(&got), STR("not found")));
    append(&f, "{\"type\":\"assistant\",\"message\":{\"content\":\"Das Über\"}}\n");
    draw(&f, &got); /* the message about the search is out of date */
    assert_false(str_has(buf_str(&got), STR("not found")));
    press(&f, "n");
    draw(&f, &got);
    assert_false(str_has(buf_str(&got), STR("not found")));
    assert_true(str_has(buf_str(&got), STR("● Das Über\n")));
    assert_int_equal(truncate(f.path, 10), 0);
    draw(&f, &got);
    press(&f, "g down up G / x enter n N");
    draw(&f, &got);
    assert_int_equal(truncate(f.path, 0), 0);
    draw(&f, &got);
    fixture_release(&f);
}

/* Every line is found again from both sides, whatever lies on the border of a block. */
static void lines_of_a_file(void **state)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(8 << 20);
    VEC(uint64_t) starts = VEC_INIT;
    struct transcript_file file;
    struct fixture f;
    uint64_t at = 0;
    struct str line;
    size_t i = 0;

    (void)state;
    for (unsigned n = 0; n < 400; n++) {
        vec_push(&starts, text.len);
        for (unsigned j = 0; j < n * n % 9973; j++)
            buf_addc(&text, (char)('a' + j % 26));
        buf_addf(&text, "\"id\":\"call_%u\"\n", n);
    }
    buf_adds(&text, "no end yet");
    fixture_init(&f, buf_cstr(&text));
    assert_int_equal(transcript_file_open(&file, f.path, NULL), 0);
    assert_int_equal(transcript_file_end(&file), text.len - strlen("no end yet"));
    for (;; i++) {
        assert_int_equal(at, starts.ptr[i]);
        assert_true(transcript_file_line(&file, at, &line));
        assert_int_equal(line.len + 1,
                         (i + 1 < starts.len ? starts.ptr[i + 1] : text.len - 10) - at);
        if (!transcript_file_next(&file, at, &at))
            break;
    }
    assert_int_equal(i + 1, starts.len);
    at = transcript_file_end(&file);
    for (; transcript_file_prev(&file, at, &at); i--)
        assert_int_equal(at, starts.ptr[i]);
    for (unsigned n = 0; n < 400; n += 7) {
        CLEANUP(buf_release) struct buf id = BUF_INIT(100);

        buf_addf(&id, "\"id\":\"call_%u\"", n);
        assert_true(transcript_file_find_last(&file, buf_str(&id), &at));
        assert_int_equal(at, starts.ptr[n]);
    }
    assert_false(transcript_file_find_last(&file, STR("\"id\":\"call_400\""), &at));
    transcript_file_release(&file);
    vec_release(&starts);
    fixture_release(&f);
}

static void text(void **state)
{
    CLEANUP(buf_release) struct buf got = BUF_INIT(1 << 16);
    struct fixture f;

    (void)state;
    fixture_init(&f, "");
    f.panel = text_view_new(STR("Help"), STR("# Title\n\none\n\ntwo\n\nthree\n\nfour\n"));
    f.view.rows = 5;
    draw(&f, &got);
    assert_true(str_starts(buf_str(&got), STR("Title\n\none\n\nHelp  start")));
    press(&f, "/ t h r e e enter");
    draw(&f, &got);
    assert_true(str_has(buf_str(&got), STR("three\n")));
    assert_int_equal(press(&f, "q"), PANEL_LEFT);
    fixture_release(&f);
}

static void history(void **state)
{
    static const struct {
        size_t turns;
        const char *text;
    } rows[] = {
        {1, "\n7 earlier messages (Ctrl-O)\n\n> and now?\n  [image 640×480 png 33 bytes]\n\n"
            "● All done.\n"},
        {9, "\n> fix the *test*\n  please\n\n● I look.\n\n● Bash(make …)\n  ⎿  Exit code 2\n"
            "     it failed\n\n● Edit(a.c) +1 -1\n     1 - x\n     1 + y\n\n"
            "> and now?\n  [image 640×480 png 33 bytes]\n\n● All done.\n"},
    };
    struct fixture f;

    (void)state;
    fixture_init(&f, small);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        CLEANUP(buf_release) struct buf got = BUF_INIT(1 << 16);
        struct chat_check k;
        struct err err = {0};

        chat_check_init(&k, 80, 20);
        if (chat_history(k.chat, f.path, rows[i].turns, /*runs=*/false, /*cancel=*/NULL, &err) < 0)
            fail_msg("%s", err.text);
        chat_check_take(&k);
        chat_check_text(&k, /*with_live=*/false, &got);
        assert_string_equal(buf_cstr(&got), rows[i].text);
        assert_false(chat_is_busy(k.chat));
        chat_check_release(&k);
    }
    fixture_release(&f);
}

/* Text of tenax for the model at the beginning of a session is not a missed message. */
static void history_reminders(void **state)
{
    static const char first[] = ENTRY("user", "u0", "null",
                                      "\"isMeta\":true," SAYS("\"<system-reminder>x\""))
        ENTRY("user", "u1", "\"u0\"", SAYS("\"go\""))
            ENTRY("assistant", "a1", "\"u1\"", ANSWERS("{\"type\":\"text\",\"text\":\"Yes.\"}"));
    static const char second[] = ENTRY("user", "u2", "\"a1\"", SAYS("\"again\""));
    static const struct {
        const char *more, *text;
    } rows[] = {
        {"", "\n> go\n\n● Yes.\n"},
        {second, "\n2 earlier messages (Ctrl-O)\n\n> again\n"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        CLEANUP(buf_release) struct buf lines = BUF_INIT(1 << 16);
        CLEANUP(buf_release) struct buf got = BUF_INIT(1 << 16);
        struct chat_check k;
        struct fixture f;
        struct err err = {0};

        buf_addf(&lines, "%s%s", first, rows[i].more);
        fixture_init(&f, buf_cstr(&lines));
        chat_check_init(&k, 80, 20);
        if (chat_history(k.chat, f.path, /*turns=*/1, /*runs=*/false, /*cancel=*/NULL, &err) < 0)
            fail_msg("%s", err.text);
        chat_check_take(&k);
        chat_check_text(&k, /*with_live=*/false, &got);
        assert_string_equal(buf_cstr(&got), rows[i].text);
        chat_check_release(&k);
        fixture_release(&f);
    }
}

#define BASH(id, command)                                                                          \
    ANSWERS("{\"type\":\"tool_use\",\"id\":\"" id                                                  \
            "\",\"name\":\"Bash\",\"input\":{\"command\":\"" command "\"}}")
#define ENDS(reason) "\"subtype\":\"turn_duration\",\"durationMs\":1,\"reason\":\"" reason "\""
#define CUT "\n  ⎿  Interrupted: tenax ended before it was done\n"

#define JUDGED(what) "\"attachment\":{\"type\":\"goal_status\"," what "\"condition\":\"x\"}"

/* Verdicts about a goal explain the answers between them. */
static void history_verdicts(void **state)
{
    static const char *const lines[] = {
        ENTRY("attachment", "g1", "null", JUDGED("\"met\":false,\"sentinel\":true,")),
        ENTRY("user", "u1", "\"g1\"", SAYS("\"go\"")),
        ENTRY("assistant", "a1", "\"u1\"", ANSWERS("{\"type\":\"text\",\"text\":\"Done.\"}")),
        ENTRY("attachment", "g2", "\"a1\"", JUDGED("\"met\":false,\"reason\":\"no flag\",")),
        ENTRY("user", "u2", "\"g2\"", "\"isMeta\":true," SAYS("\"Stop hook feedback\"")),
        ENTRY("assistant", "a2", "\"u2\"", ANSWERS("{\"type\":\"text\",\"text\":\"Now.\"}")),
        ENTRY("attachment", "g3", "\"a2\"", JUDGED("\"met\":true,\"reason\":\"a flag\",")),
    };
    CLEANUP(buf_release) struct buf text = BUF_INIT(1 << 16);
    CLEANUP(buf_release) struct buf got = BUF_INIT(1 << 16);
    struct chat_check k;
    struct fixture f;
    struct err err = {0};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(lines); i++)
        buf_adds(&text, lines[i]);
    fixture_init(&f, buf_cstr(&text));
    chat_check_init(&k, 80, 20);
    if (chat_history(k.chat, f.path, /*turns=*/9, /*runs=*/false, /*cancel=*/NULL, &err) < 0)
        fail_msg("%s", err.text);
    chat_check_take(&k);
    chat_check_text(&k, /*with_live=*/false, &got);
    assert_string_equal(buf_cstr(&got), "\n> go\n\n● Done.\n\n✗ not met: no flag\n\n● Now.\n\n"
                                        "✓ met: a flag\n");
    chat_check_release(&k);
    fixture_release(&f);
}

/* A call without a result was cut off, in the last turn or in an abandoned one; one that a hook has
 * deferred was not. */
static void history_cut_off(void **state)
{
    static const struct {
        const char *lines, *text;
    } rows[] = {
        {ENTRY("user", "u1", "null", SAYS("\"go\""))
             ENTRY("assistant", "a1", "\"u1\"", BASH("c1", "make")),
         "\n> go\n\n● Bash(make)" CUT},
        {ENTRY("user", "u1", "null", SAYS("\"go\""))
             ENTRY("assistant", "a1", "\"u1\"", BASH("c1", "make"))
                 ENTRY("user", "u2", "\"a1\"", SAYS("\"again\"")),
         "\n> go\n\n● Bash(make)" CUT "\n> again\n"},
        {ENTRY("user", "u1", "null", SAYS("\"go\""))
             ENTRY("assistant", "a1", "\"u1\"", BASH("c1", "make"))
                 ENTRY("system", "s1", "\"a1\"", ENDS("tool_deferred")),
         "\n> go\n"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        CLEANUP(buf_release) struct buf got = BUF_INIT(1 << 16);
        struct chat_check k;
        struct fixture f;
        struct err err = {0};

        fixture_init(&f, rows[i].lines);
        chat_check_init(&k, 80, 20);
        if (chat_history(k.chat, f.path, /*turns=*/9, /*runs=*/false, /*cancel=*/NULL, &err) < 0)
            fail_msg("%s", err.text);
        chat_check_take(&k);
        chat_check_text(&k, /*with_live=*/false, &got);
        assert_string_equal(buf_cstr(&got), rows[i].text);
        chat_check_release(&k);
        fixture_release(&f);
    }
}

UNIT_TEST(transcript_view)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whole),
        cmocka_unit_test(beside_each_other),
        cmocka_unit_test(keys),
        cmocka_unit_test(closes),
        cmocka_unit_test(changes),
        cmocka_unit_test(lines_of_a_file),
        cmocka_unit_test(text),
        cmocka_unit_test(history),
        cmocka_unit_test(history_cut_off),
        cmocka_unit_test(history_reminders),
        cmocka_unit_test(history_verdicts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
