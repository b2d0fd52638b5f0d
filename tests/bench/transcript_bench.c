/*
 * transcript_bench: what it costs to look at a long transcript.
 *
 *     transcript_bench [MEGABYTES]
 *
 * Makes a transcript in a temporary folder (default: 100 MB) and opens it in the transcript view:
 * at its end, at a call in its first lines, from the start page by page; and searches it for a word
 * that is not in it. Prints times, and the most memory. The file comes from the page cache. Nothing
 * here passes or fails.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "bench/bench.h"
#include "tui/chat/transcript_view.h"
#include "tui/screen/keypress.h"

#define PAGES 200

static void write_transcript(const char *path, size_t bytes)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(bytes + (1 << 20));

    for (unsigned n = 0; text.len < bytes; n++) {
        buf_addf(&text,
                 "{\"parentUuid\":null,\"type\":\"assistant\",\"uuid\":\"a%u\",\"message\":"
                 "{\"role\":\"assistant\",\"content\":[{\"type\":\"text\",\"text\":\"Step %u: "
                 "**look** at `list.c`.\"},{\"type\":\"tool_use\",\"id\":\"toolu_%u\",\"name\":"
                 "\"Read\",\"input\":{\"file_path\":\"/p/list.c\"}}]}}\n",
                 n, n, n);
        buf_addf(&text,
                 "{\"parentUuid\":null,\"type\":\"user\",\"uuid\":\"u%u\",\"message\":{\"role\":"
                 "\"user\",\"content\":[{\"type\":\"tool_result\",\"tool_use_id\":\"toolu_%u\","
                 "\"content\":\"",
                 n, n);
        for (unsigned i = 0; i < n % 60; i++)
            buf_addf(&text, "%u  for (size_t i = 0; i < list->len; i++) {\\n", i);
        buf_adds(&text, "\"}]}}\n");
    }
    if (file_replace(path, buf_str(&text), 0600, NULL) < 0)
        bench_die("cannot write", path);
}

static void draw(struct panel *p)
{
    struct view v = {.cols = 120, .rows = 50};
    struct lines lines = LINES_INIT;
    struct screen_cursor cursor;

    do {
        lines_clear(&lines);
        p->kind->draw(p, &v, &lines, &cursor);
    } while (p->kind->due(p) == 0);
    lines_release(&lines);
}

static void press(struct panel *p, const char *name)
{
    struct keypress k;

    if (!keypress_parse(str_of(name), &k))
        bench_die("no such key", name);
    (void)p->kind->key(p, &k);
}

static void say(const char *what, int64_t since_us)
{
    printf("%-40s %9.2f ms\n", what, (double)(clock_mono_us() - since_us) / 1000);
}

static struct panel *open_view(const char *path, const char *at)
{
    struct err err = {0};
    struct panel *p = transcript_view_new(path, str_of(at), &err);

    if (!p)
        bench_die("cannot open it", err.text);
    draw(p);
    return p;
}

int main(int argc, char **argv)
{
    size_t megabytes = argc > 1 ? strtoul(argv[1], NULL, 10) : 100;
    char dir[] = "/tmp/tenax-bench-XXXXXX";
    char path[64];
    struct panel *p;
    int64_t start;
    long before;

    if (!mkdtemp(dir))
        bench_die("mkdtemp", dir);
    snprintf(path, sizeof(path), "%s/s.jsonl", dir);
    write_transcript(path, megabytes << 20);
    printf("transcript of %zu MB\n", megabytes);
    before = bench_memory_kb(getpid(), "Rss");

    start = clock_mono_us();
    p = open_view(path, "");
    say("opened at its end, drawn", start);
    panel_free(p);

    start = clock_mono_us();
    p = open_view(path, "toolu_3");
    say("opened at a call of its first lines", start);
    start = clock_mono_us();
    for (int i = 0; i < PAGES; i++) {
        press(p, "pagedown");
        draw(p);
    }
    say("200 pages down, drawn", start);
    start = clock_mono_us();
    for (const char *c = "/nowhere"; *c; c++)
        press(p, (char[]){*c, 0});
    press(p, "enter");
    draw(p);
    say("searched for what is not in it", start);
    start = clock_mono_us();
    press(p, "end");
    draw(p);
    say("to the end", start);
    panel_free(p);

    printf("%-40s %9ld KB\n", "memory beside", bench_memory_kb(getpid(), "Rss") - before);
    bench_remove(dir);
    return 0;
}
