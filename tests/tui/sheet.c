/*
 * sheet: one text and one change, drawn on a terminal as tenax draws them, without tenax around.
 *
 *     sheet TEXT.md PATCH.json [--plain]
 *
 * It says "ready", waits for a key, by when the terminal has reported its background, prints both
 * and waits for one more. For golden screens of markdown and diffs (tests/data/sheet.screen).
 */
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "json/json.h"
#include "tui/diff/diff_view.h"
#include "tui/markdown/markdown.h"
#include "tui/screen/keypress.h"
#include "tui/screen/line.h"
#include "tui/screen/screen.h"
#include "tui/screen/style.h"
#include "tui/screen/term.h"

#define MAX_FILE ((size_t)1 << 20)

struct sheet {
    struct term *term;
    struct screen *screen;
    struct keyboard *keyboard;
};

/* True when a key was pressed; answers of the terminal are only learnt from. */
static bool sheet_key(struct sheet *s)
{
    struct keypress key;
    bool is_pressed = false;

    while (keyboard_next(s->keyboard, &key)) {
        if (key.code == KEY_TEXT)
            is_pressed = true;
        else
            term_learn(s->term, &key);
    }
    return is_pressed;
}

static void sheet_wait(struct sheet *s)
{
    struct err err;
    char bytes[4096];

    do {
        struct pollfd p = {.fd = term_fd(s->term), .events = POLLIN};
        long n;

        if (term_wants_write(s->term))
            p.events |= POLLOUT;
        if (poll(&p, 1, -1) < 0)
            return;
        term_flush(s->term);
        n = term_read(s->term, bytes, sizeof(bytes), &err);
        if (n < 0)
            return;
        keyboard_feed(s->keyboard, str_make(bytes, (size_t)n), clock_mono_ms());
    } while (!sheet_key(s));
}

static void sheet_say(struct sheet *s, const char *text)
{
    struct lines region = LINES_INIT;

    lines_puts(&region, ROLE_FAINT, text);
    lines_end(&region);
    screen_draw(s->screen, &region, (struct screen_cursor){0});
    lines_release(&region);
}

static int sheet_print(struct sheet *s, const char *text_path, const char *patch_path,
                       struct err *err)
{
    const struct term_able *able = term_able(s->term);
    CLEANUP(buf_release) struct buf text = BUF_INIT(0);
    CLEANUP(buf_release) struct buf patch = BUF_INIT(0);
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    CLEANUP(lines_release) struct lines out = LINES_INIT;
    struct markdown_spec spec = {.ascii = !able->unicode, .spells_links = !able->links};
    struct diff_view view = {
        .path = STR("sum.c"), .cols = screen_cols(s->screen), .ascii = !able->unicode};

    if (file_slurp(text_path, MAX_FILE, &text, err) < 0 ||
        file_slurp(patch_path, MAX_FILE, &patch, err) < 0 ||
        json_parse(&arena, buf_str(&patch), &view.patch, NULL, err) < 0)
        return -1;
    screen_theme(s->screen, theme_find(able->is_light ? STR("light") : STR("dark")));
    markdown_draw(buf_str(&text), &spec, screen_cols(s->screen), &out);
    lines_end(&out);
    diff_view_draw(&view, &out);
    screen_commit(s->screen, &out);
    return 0;
}

int main(int argc, char **argv)
{
    struct term_spec spec = {
        .in = STDIN_FILENO,
        .out = STDOUT_FILENO,
        .environ = environ,
        .plain = argc > 3 && strcmp(argv[3], "--plain") == 0,
    };
    struct sheet s = {0};
    struct err err;
    int rc;

    if (argc < 3) {
        fprintf(stderr, "usage: sheet TEXT.md PATCH.json [--plain]\n");
        return 2;
    }
    if (term_open(&spec, &s.term, &err) < 0) {
        fprintf(stderr, "sheet: %s\n", err.text);
        return 1;
    }
    s.screen = screen_new(s.term, theme_find(STR("dark")));
    s.keyboard = keyboard_new();
    screen_look(s.screen);
    sheet_say(&s, "ready");
    sheet_wait(&s);
    rc = sheet_print(&s, argv[1], argv[2], &err);
    if (rc == 0) {
        sheet_say(&s, "done");
        sheet_wait(&s);
    }
    screen_free(s.screen);
    term_close(s.term);
    keyboard_free(s.keyboard);
    if (rc < 0)
        fprintf(stderr, "sheet: %s\n", err.text);
    return rc < 0;
}
