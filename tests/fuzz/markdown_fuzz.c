/*
 * Any bytes as markdown: the output is the same however the bytes arrive and whenever it is taken,
 * also when a table outgrows the window; no row is wider than the window, nor the tail longer. The
 * first two bytes choose the window and how the text is cut.
 */
#include "tui/markdown/markdown.h"

#include <limits.h>

#include "base/mem.h"
#include "fuzz.h"
#include "tui/screen/line.h"

#define ROWS 9

static void check_rows(const struct lines *out, int cols)
{
    for (size_t i = 0; i < lines_count(out); i++)
        FUZZ_CHECK(line_width(lines_at(out, i)) <= cols);
}

static void stream(struct str text, const struct markdown_spec *spec, int cols, int rows,
                   unsigned step, struct lines *ret)
{
    struct markdown *m = markdown_new(spec);
    struct lines tail = LINES_INIT;
    unsigned n = step;

    while (text.len) {
        n = n * 5 + 1;
        markdown_add(m, str_first(text, 1 + n % step));
        text = str_from(text, 1 + n % step);
        if (n % 3)
            markdown_take(m, cols, rows, ret);
        if (n % 5 && text.len > 100)
            continue;
        lines_clear(&tail);
        markdown_tail(m, cols, ROWS, &tail);
        check_rows(&tail, cols);
        FUZZ_CHECK(lines_count(&tail) <= ROWS);
    }
    markdown_end(m);
    markdown_take(m, cols, rows, ret);
    lines_clear(&tail);
    markdown_tail(m, cols, ROWS, &tail);
    FUZZ_CHECK(lines_count(&tail) == 0); /* all of it is finished */
    markdown_free(m);
    lines_release(&tail);
}

static void must_be_same(const struct lines *a, const struct lines *b)
{
    FUZZ_CHECK(lines_count(a) == lines_count(b));
    for (size_t i = 0; i < lines_count(a); i++)
        FUZZ_CHECK(line_eq(lines_at(a, i), lines_at(b, i)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct lines whole = LINES_INIT;
    struct lines parts = LINES_INIT;
    struct lines others = LINES_INIT;
    struct markdown_spec spec = {0};
    struct str text;
    unsigned step;
    int cols;

    if (size < 2)
        return 0;
    cols = 2 + data[0] % 120; /* a wide character takes two */
    spec.ascii = data[0] & 0x80;
    step = 1 + data[1] % 64;
    text = str_make((const char *)data + 2, size - 2);

    markdown_draw(text, &spec, cols, &whole);
    check_rows(&whole, cols);
    stream(text, &spec, cols, INT_MAX, step, &parts);
    must_be_same(&whole, &parts);

    lines_clear(&parts);
    stream(text, &spec, cols, ROWS, step, &parts);
    check_rows(&parts, cols);
    stream(text, &spec, cols, ROWS, 1000, &others);
    must_be_same(&others, &parts);

    lines_release(&whole);
    lines_release(&parts);
    lines_release(&others);
    return 0;
}
