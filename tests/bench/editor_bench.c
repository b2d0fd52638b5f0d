/*
 * editor_bench: what the person in front of the editor waits for.
 *
 *     editor_bench [FILES]
 *
 * A key and its frame in texts of up to a megabyte, a paste of a megabyte from bytes to label, and
 * completion in a tree of so many files (100,000): the first answer, each letter's answer, and the
 * time all that takes on the UI thread. Nothing here passes or fails.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "bench/bench.h"
#include "sync/mailbox.h"
#include "tui/complete/complete.h"
#include "tui/editor/editor.h"
#include "tui/screen/keypress.h"

#define KEYS 2000
#define FILES_A_FOLDER 100

static void press(struct editor *e, const char *name)
{
    struct keypress k;

    keypress_parse(str_of(name), &k);
    editor_key(e, &k, 0);
}

static void draw(struct editor *e)
{
    static struct lines lines = LINES_INIT;
    struct screen_cursor cursor;
    struct view v = {.cols = 120, .rows = 20};

    lines_clear(&lines);
    editor_draw(e, &v, STR(""), &lines, &cursor);
}

static void report(const char *what, double *us, size_t count)
{
    bench_sort(us, count);
    printf("%-46s median %8.1f us   p99 %8.1f us   worst %8.1f us\n", what, us[count / 2],
           us[count * 99 / 100], us[count - 1]);
}

/* --- keys in long texts
 * ---------------------------------------------------------------------------- */

static void keys_in(const char *what, size_t bytes, const char *piece, const char *key)
{
    struct editor *e = editor_new(&(struct editor_spec){0});
    struct buf text = BUF_INIT(BUF_NO_LIMIT);
    double us[KEYS];

    while (text.len < bytes)
        buf_adds(&text, piece);
    editor_set(e, buf_str(&text));
    for (size_t i = 0; i < KEYS / 4; i++)
        press(e, "alt+b"); /* not at its end, where it is easiest */
    for (size_t i = 0; i < KEYS; i++) {
        int64_t start = clock_mono_us();

        press(e, key);
        draw(e);
        us[i] = (double)(clock_mono_us() - start);
    }
    report(what, us, KEYS);
    buf_release(&text);
    editor_free(e);
}

static void paste(void)
{
    struct editor *e = editor_new(&(struct editor_spec){0});
    struct keyboard *k = keyboard_new();
    struct buf text = BUF_INIT(BUF_NO_LIMIT);
    struct keypress key;
    int64_t start;

    buf_adds(&text, "\033[200~");
    while (text.len < 1 << 20)
        buf_adds(&text, "a line of a paste, as long as lines of code are\r");
    buf_adds(&text, "\033[201~");
    start = clock_mono_us();
    for (size_t at = 0; at < text.len; at += 65536) {
        keyboard_feed(k, str_first(str_from(buf_str(&text), at), 65536), 0);
        while (keyboard_next(k, &key))
            editor_key(e, &key, 0);
    }
    draw(e);
    printf("%-46s %8.1f us\n", "paste of 1 MB, bytes to frame", (double)(clock_mono_us() - start));
    buf_release(&text);
    keyboard_free(k);
    editor_free(e);
}

/* --- completion
 * ------------------------------------------------------------------------------------ */

static void make_tree(const char *dir, size_t files)
{
    static const char *const words[] = {"parser", "editor", "main",  "helper", "Widget", "test",
                                        "server", "client", "model", "router", "config", "utils"};
    char path[256];

    for (size_t i = 0; i < files; i++) {
        size_t folder = i / FILES_A_FOLDER;
        int fd;

        if (i % FILES_A_FOLDER == 0) {
            snprintf(path, sizeof(path), "%s/%s%zu", dir, words[folder % 12], folder);
            mkdir(path, 0700);
        }
        snprintf(path, sizeof(path), "%s/%s%zu/%s_%s_%zu.c", dir, words[folder % 12], folder,
                 words[i % 12], words[i / 12 % 12], i);
        fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
        if (fd < 0)
            bench_die("cannot make a file", path);
        close(fd);
    }
}

/* Until there is something to show, or all there is. */
static void wait_for(struct mailbox *mb, struct completer *c, bool all)
{
    struct err err = {0};
    struct mail *m;

    for (;;) {
        if (completer_news(c) && !all)
            return;
        if (!completer_is_looking(c))
            return;
        if (mailbox_take(mb, NULL, -1, &m, &err) < 0)
            bench_die("no mail", err.text);
        mail_free(m);
    }
}

static void completion(size_t files)
{
    static const char *const typed[] = {"",       "e",       "ed",     "edi",     "edit",  "edito",
                                        "editor", "editor_", "edit_p", "edit_pa", "mains", "zq"};
    char dir[] = "/tmp/tenax-bench-XXXXXX";
    struct mailbox *mb = mailbox_new();
    double ask_us[sizeof(typed) / sizeof(*typed)], answer_us[sizeof(typed) / sizeof(*typed)];
    struct completer *c;
    int64_t start;

    if (!mkdtemp(dir))
        bench_die("no folder", dir);
    make_tree(dir, files);
    c = completer_new(&(struct completer_spec){.dir = dir, .to = mb});
    start = clock_mono_us();
    completer_ask(c, '@', STR("edi"));
    printf("%-46s %8.1f us\n", "first @: on the UI thread", (double)(clock_mono_us() - start));
    wait_for(mb, c, /*all=*/false);
    printf("%-46s %8.1f ms\n", "first @: first answer", (double)(clock_mono_us() - start) / 1000);
    wait_for(mb, c, /*all=*/true);
    printf("%-46s %8.1f ms\n", "first @: all files listed",
           (double)(clock_mono_us() - start) / 1000);
    for (size_t i = 0; i < sizeof(typed) / sizeof(*typed); i++) {
        start = clock_mono_us();
        completer_ask(c, '@', str_of(typed[i]));
        ask_us[i] = (double)(clock_mono_us() - start);
        wait_for(mb, c, /*all=*/true);
        answer_us[i] = (double)(clock_mono_us() - start);
        printf("  @%-44s %8.1f us asked, %8.1f us answered, %zu shown\n", typed[i], ask_us[i],
               answer_us[i], completer_count(c));
    }
    printf("%-46s %8ld KB\n", "memory (PSS)", bench_memory_kb(getpid(), "Pss"));
    completer_free(c);
    mailbox_close(mb);
    mailbox_unref(mb);
    bench_remove(dir);
}

int main(int argc, char **argv)
{
    size_t files = argc > 1 ? strtoul(argv[1], NULL, 10) : 100000;

    keys_in("key and frame, empty", 0, "", "x");
    keys_in("key and frame, 1 KB", 1 << 10, "some words of a prompt ", "x");
    keys_in("key and frame, 1 MB of lines", 1 << 20, "some words of a prompt\n", "x");
    keys_in("key and frame, 1 MB in one line", 1 << 20, "some words of a prompt ", "x");
    keys_in("key and frame, 1 MB of wide characters", 1 << 20, "\xe4\xbd\xa0\xe5\xa5\xbd", "x");
    keys_in("up and frame, 1 MB of lines", 1 << 20, "some words of a prompt\n", "up");
    keys_in("up and frame, 1 MB in one line", 1 << 20, "some words of a prompt ", "up");
    paste();
    completion(files);
    return 0;
}
