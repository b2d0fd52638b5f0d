/*
 * What a model, a tool and a file can say, on its way to the screen: a line of a transcript; a call
 * that runs, with an input that stops anywhere, and one that is done, its result any JSON. No row
 * is wider than the window. The first two bytes choose the window and the tool.
 */
#include "base/mem.h"
#include "fuzz.h"
#include "tui/chat/tool_view.h"
#include "tui/chat/transcript_entry.h"
#include "tui/dialog/panel.h"
#include "tui/screen/line.h"

#define ROWS 7

static void check_rows(const struct lines *out, int cols)
{
    for (size_t i = 0; i < lines_count(out); i++)
        FUZZ_CHECK(line_width(lines_at(out, i)) <= cols);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const tools[] = {
        "Bash",         "Read",      "Grep",      "Edit",
        "Write",        "TodoWrite", "WebSearch", "AskUserQuestion",
        "ExitPlanMode", "WebFetch",  "mcp__x__y",
    };
    struct lines out = LINES_INIT;
    struct str text = STR("");
    struct tool_view t = {.dir = "/p"};
    struct view v = {.rows = ROWS};

    if (size < 2)
        return 0;
    text = str_make((const char *)data + 2, size - 2);
    v.cols = 2 + data[0] % 100; /* a character may be two wide */
    v.ascii = data[0] & 128;
    v.plain = data[1] & 128;
    t.name = str_of(tools[data[1] % ARRAY_LEN(tools)]);
    t.is_error = data[1] & 64;
    t.input = t.text = t.result = t.data = t.progress = text;
    t.elapsed_ms = data[0] * 1000;

    transcript_entry_draw(text, /*calls=*/NULL, &v, &out);
    check_rows(&out, v.cols);
    lines_clear(&out);
    (void)tool_view_done(&t, &v, &out);
    check_rows(&out, v.cols);
    for (int partial = 0; partial < 2; partial++) {
        t.is_partial = partial;
        t.input_bytes = size * 100;
        lines_clear(&out);
        tool_view_running(&t, &v, ROWS, &out);
        check_rows(&out, v.cols);
        FUZZ_CHECK(lines_count(&out) <= ROWS);
    }
    lines_release(&out);
    return 0;
}
