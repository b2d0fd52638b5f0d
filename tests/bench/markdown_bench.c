/*
 * markdown_bench: what an answer costs on its way to the screen, and a change of a file.
 *
 *     markdown_bench [MEGABYTES]
 *
 * Answers of several shapes are streamed in tokens of four bytes, with a frame (finished lines
 * taken, the tail drawn) as often as a stream of 5 MB/s has them at 60 a second; then a usual
 * answer with a frame for every fifth token. Times are of the processor.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "bench/bench.h"
#include "json/json.h"
#include "json/jw.h"
#include "tui/diff/diff_view.h"
#include "tui/markdown/markdown.h"
#include "tui/screen/line.h"

#define COLS 100
#define ROWS 40
#define TOKEN 4                      /* bytes */
#define FRAME (5 * 1000 * 1000 / 60) /* bytes of a stream of 5 MB/s in one frame */
#define MAX_FRAMES 100000

static const char usual[] =
    "## What I changed\n\nThe parser now reads **all** of the input before it decides; see "
    "`parse_entry()` in [entry.c](src/entry.c:42). Three things follow from that:\n\n"
    "1. The *first* line may be empty.\n2. Errors name the line: `line 3: \"name\" is empty`.\n"
    "   - and the column, where there is one\n3. Nothing is kept twice.\n\n"
    "```c\nstatic int parse_entry(struct reader *r, struct entry *ret)\n{\n    /* What comes next "
    "depends on the kind. */\n    if (!r->at || *r->at == '\\0')\n        return err_set(err, "
    "ERR_BAD_INPUT, \"line %zu\", r->line);\n    return 0;\n}\n```\n\n"
    "| test | before | after |\n|------|-------:|------:|\n| parse | 12.5 ms | 3.1 ms |\n"
    "| write | 8.0 ms | 7.9 ms |\n\n> All 214 tests pass. 日本語のテキストも正しく読まれます。\n\n"
    "Next I would look at https://example.org/issues/12, which has the same cause.\n\n";

static double seconds(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void stream(const char *name, struct str text, size_t frame_bytes)
{
    static double frames[MAX_FRAMES];
    struct markdown_spec spec = {0};
    struct markdown *m = markdown_new(&spec);
    CLEANUP(lines_release) struct lines out = LINES_INIT;
    size_t count = 0;
    size_t rows = 0;
    size_t since = 0;
    double from = seconds();
    double all;

    for (struct str rest = text; rest.len; rest = str_from(rest, TOKEN)) {
        markdown_add(m, str_first(rest, TOKEN));
        since += TOKEN;
        if (since >= frame_bytes && count < MAX_FRAMES) {
            double start = seconds();

            since = 0;
            lines_clear(&out);
            markdown_take(m, COLS, ROWS, &out);
            rows += lines_count(&out);
            lines_clear(&out);
            markdown_tail(m, COLS, ROWS, &out);
            frames[count++] = (seconds() - start) * 1e3;
        }
    }
    markdown_end(m);
    lines_clear(&out);
    markdown_take(m, COLS, ROWS, &out);
    rows += lines_count(&out);
    all = seconds() - from;
    markdown_free(m);
    bench_sort(frames, count);
    printf("%-28s %7.1f MB/s  %6.2f ms per 1,000 tokens  frame p50 %.3f p99 %.3f ms  %zu rows\n",
           name, (double)text.len / 1e6 / all, all * 1e6 / ((double)text.len / TOKEN),
           frames[count / 2], frames[count * 99 / 100], rows);
}

static void repeat(struct buf *to, const char *unit, size_t bytes)
{
    buf_clear(to);
    while (to->len < bytes)
        buf_adds(to, unit);
}

static void diffs(size_t lines)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(BUF_NO_LIMIT);
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    CLEANUP(lines_release) struct lines out = LINES_INIT;
    struct diff_view v = {.path = STR("entry.c"), .cols = COLS};
    struct err err;
    struct jw w;

    jw_init(&w, &text, 0);
    jw_array(&w);
    jw_object(&w);
    jw_ki64(&w, "oldStart", 1);
    jw_ki64(&w, "newStart", 1);
    jw_key(&w, "lines");
    jw_array(&w);
    for (size_t i = 0; i < lines; i++) {
        static const char signs[] = "  ---+++";
        char line[120];

        snprintf(line, sizeof(line), "%c    if (value[%zu] == %zu) return \"name %zu\"; /* %s */",
                 signs[i % 8], i % 8 / 5 + i, i % 3, i / 8, i % 8 < 5 ? "old" : "new");
        jw_cstr(&w, line);
    }
    jw_array_end(&w);
    jw_object_end(&w);
    jw_array_end(&w);
    if (json_parse(&arena, buf_str(&text), &v.patch, NULL, &err) < 0)
        bench_die("json_parse", err.text);
    for (size_t rows = 20; rows <= 20000; rows *= 1000) {
        double from = seconds();

        v.max_rows = rows == 20 ? rows : 0;
        lines_clear(&out);
        diff_view_draw(&v, &out);
        printf("diff of %zu lines, %s: %.2f ms\n", lines, v.max_rows ? "20 rows" : "all of it",
               (seconds() - from) * 1e3);
    }
}

int main(int argc, char **argv)
{
    size_t bytes = (argc > 1 ? strtoul(argv[1], NULL, 10) : 8) * 1000000;
    CLEANUP(buf_release) struct buf text = BUF_INIT(BUF_NO_LIMIT);

    if (bytes < 1000000 || bytes > 60000000) {
        fprintf(stderr, "usage: markdown_bench [MEGABYTES]\n");
        return 2;
    }
    repeat(&text, usual, bytes);
    stream("usual answer", buf_str(&text), FRAME);
    buf_clear(&text);
    repeat(&text, "some words of a paragraph that has no end, ", bytes);
    stream("one paragraph, one line", buf_str(&text), FRAME);
    repeat(&text, "a line of a **paragraph** that has no end\n", bytes);
    stream("one paragraph, many lines", buf_str(&text), FRAME);
    repeat(&text, "    if (x[i] == 0) return \"name\"; /* old */\n", bytes);
    buf_insert(&text, 0, STR("```c\n"));
    stream("one fence", buf_str(&text), FRAME);
    repeat(&text, "| cell | another `cell` | 12 |\n", bytes);
    buf_insert(&text, 0, STR("|a|b|c|\n|-|-|-|\n"));
    stream("one table", buf_str(&text), FRAME);
    repeat(&text, "* _`[<&", bytes);
    stream("nothing but marks", buf_str(&text), FRAME);
    repeat(&text, usual, 400000);
    stream("usual, frame per 5 tokens", buf_str(&text), 5 * TOKEN);
    diffs(10000);
    return 0;
}
